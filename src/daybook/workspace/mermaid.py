"""Graphs and lineage as Mermaid flow charts."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from daybook.workspace.close import CloseGraphResult
    from daybook.workspace.lineage import LineagePicture, PictureNode

_MOST_CHARACTERS = 60


def graph_as_mermaid(graph: "CloseGraphResult") -> str:
    """A flow chart, makers on the left."""
    numbers = {node.name: f"n{number}" for number, node in enumerate(graph.nodes)}
    lines = ["flowchart LR"]
    lines += [f'    {numbers[node.name]}["{node.name}"]' for node in graph.nodes]
    lines += [
        f'    {numbers[edge.maker]} -->|"{edge.dataset}"| {numbers[edge.reader]}'
        for edge in graph.edges
        if edge.maker in numbers and edge.reader in numbers
    ]
    return "\n".join(lines)


def picture_as_mermaid(picture: "LineagePicture") -> str:
    """A flow chart, inputs on the left; what is only read to decide has dotted lines."""
    lines = ["flowchart LR"]
    lines += [f'    n{node.number}["{_escaped(node_label(node))}"]' for node in picture.nodes]
    for edge in picture.edges:
        if edge.kind == "direct":
            lines.append(f"    n{edge.source} --> n{edge.target}")
        else:
            lines.append(f'    n{edge.source} -.->|"{edge.how.replace("_", " ")}"| n{edge.target}')
    return "\n".join(lines)


def node_label(node: "PictureNode") -> str:
    """What a node is called: a column where it is read or written, an operation with its expression in between."""
    match node.role:
        case "input":
            return f"{node.dataset_id}.{node.column}"
        case "output":
            return f"{node.project_id} {node.seq}: {node.column}"
        case "value":
            return _shortened(f"{node.seq}: {node.column}" + (f" = {node.text}" if node.text else ""))
        case "selector":
            return _shortened(f"{node.seq}: where {node.text}")
        case "join":
            return _shortened(f"{node.seq}: join {node.dataset_id} on {node.text}")
        case "group":
            parts = [f"append {node.dataset_id}"] if node.dataset_id else []
            parts += [f"group by {', '.join(node.names)}"] if node.names else []
            parts += [f"where {node.text}"] if node.text else []
            return _shortened(f"{node.seq}: {' '.join(parts)}")
        case "order":
            return _shortened(f"{node.seq}: order by {', '.join(node.names)}")


def _shortened(text: str) -> str:
    plain = " ".join(text.split())
    return plain if len(plain) <= _MOST_CHARACTERS else f"{plain[: _MOST_CHARACTERS - 1]}…"


def _escaped(text: str) -> str:
    """Mermaid reads quotes and a few signs even inside of a quoted label."""
    for sign, code in (("#", "#35;"), ('"', "#quot;"), ("<", "#lt;"), (">", "#gt;"), ("`", "#96;")):
        text = text.replace(sign, code)
    return text
