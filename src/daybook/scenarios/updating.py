"""Writing actual rows into the expectation of a scenario file."""

import json
from collections.abc import Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

from daybook.model.loading import compose, read_text
from daybook.model.node import ListNode, MappingNode, Node
from daybook.scenarios.running import ScenarioResult


def updated_text(result: ScenarioResult) -> str | None:
    """The file with the rows that were computed in place of those expected; None where there is nothing to put."""
    if result.actual is None or not result.differences:
        return None
    text = read_text(result.file)
    document = compose(text, result.file.as_posix()).documents[0]
    replacements = [
        (node, result.actual.get(difference.output, ()))
        for difference in result.differences
        if (node := _expected_rows(document, difference.output)) is not None
    ]
    for node, rows in sorted(replacements, key=lambda pair: pair[0].start, reverse=True):
        text = text[: node.start] + _rows(text, node, rows) + text[node.end :]
    return text


def write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")


def _expected_rows(document: Node, output: str) -> ListNode | None:
    expect = document.get("expect") if isinstance(document, MappingNode) else None
    if not isinstance(expect, MappingNode):
        return None
    outputs = expect.get("outputs")
    node = outputs.get(output) if isinstance(outputs, MappingNode) else expect.get("rows")
    return node if isinstance(node, ListNode) else None


def _rows(text: str, node: ListNode, rows: Sequence[Mapping[str, Any]]) -> str:
    """Rows in the columns that were named before, laid out like the list they replace."""
    named = dict.fromkeys(key for item in node.items if isinstance(item, MappingNode) for key in item.entries)
    columns = list(named) or [name for row in rows[:1] for name in row if not name.startswith("_")]
    written = ["{" + ", ".join(f"{name}: {_value(row.get(name))}" for name in columns) + "}" for row in rows]
    if not rows or text[node.start] == "[":
        return f"[{', '.join(written)}]"
    indent = node.start - (text.rfind("\n", 0, node.start) + 1)
    tail = text[node.start : node.end]
    ending = "\n" if tail.endswith("\n") else ""
    return ("\n" + " " * indent).join(f"- {row}" for row in written) + ending


def _value(value: Any) -> str:
    match value:
        case None | bool() | int():
            return json.dumps(value)
        case Decimal():
            return format(value, "f")
        case float():
            return repr(value)
        case _:
            return json.dumps(str(value), ensure_ascii=False)
