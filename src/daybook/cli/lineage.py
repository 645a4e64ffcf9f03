"""`daybook lineage`: the columns behind a column."""

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from daybook.cli import completion
from daybook.cli.arguments import AsJson
from daybook.cli.open_workspace import open_workspace
from daybook.cli.terminal import echo, echo_json, echo_note, show_notice

if TYPE_CHECKING:
    from daybook.plan.lineage import ColumnInput, ColumnStep
    from daybook.workspace.lineage import LineageColumn, LineageOutput, LineageResult


_WIDTH = 80
# A tree that is deeper in names than this leaves no space for what it says of them.
_LEAST_TEXT = 30
OptionalProject = Annotated[
    str | None,
    typer.Argument(
        metavar="PROJECT",
        help="A project's id, or the file that defines it; by default all projects.",
        autocompletion=completion.project_ids,
    ),
]


def lineage(
    context: typer.Context,
    project: OptionalProject = None,
    columns: Annotated[
        list[str] | None, typer.Argument(metavar="COLUMN", help="Written columns; by default all.")
    ] = None,
    downstream: Annotated[
        str | None,
        typer.Option(
            "--downstream",
            metavar="DATASET.COLUMN",
            help="Show instead the written columns that come from this column.",
        ),
    ] = None,
    to_start: Annotated[
        bool, typer.Option("--all", help="Continue through other projects, to data that no project writes.")
    ] = False,
    mermaid: Annotated[bool, typer.Option("--mermaid", help="As a Mermaid flow chart.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show which input columns every written column comes from, and how.

    Nothing is run: it follows from the operations.
    """
    from daybook.workspace.lineage import trace_columns

    traced = trace_columns(
        open_workspace(context), project, tuple(columns or ()), downstream=downstream, to_start=to_start
    )
    for notice in traced.notices:
        show_notice(notice)
    if as_json:
        echo_json(traced)
    elif mermaid:
        from daybook.workspace.mermaid import picture_as_mermaid

        echo(picture_as_mermaid(traced.picture))
    elif not traced.outputs:
        echo_note(f"nothing comes from {downstream}" if downstream else "no output is defined")
    else:
        for line in tree_lines(traced, only_columns=bool(columns) or downstream is not None):
            echo(line)


@dataclass(frozen=True, slots=True)
class _Branch:
    text: str
    branches: "tuple[_Branch, ...]" = ()


def tree_lines(result: "LineageResult", *, only_columns: bool = False) -> Iterator[str]:
    """The outputs as a tree that fits 80 columns."""
    for number, output in enumerate(result.outputs):
        if number:
            yield ""
        registered = f" (dataset {output.dataset_id})" if output.dataset_id else ""
        yield from textwrap.wrap(f"{output.project_id}, output {output.seq} to {output.target}{registered}", _WIDTH)
        yield from _lines(tuple(_output_branches(output)), "")
    if not only_columns and any(output.rows.inputs or output.rows.steps for output in result.outputs):
        yield ""
        yield "What is under `every column` selects or groups rows, so it affects every column."


def _output_branches(output: "LineageOutput") -> Iterator[_Branch]:
    if shared := (*_input_branches(output.rows.inputs), *_step_branches(output.rows.steps)):
        yield _Branch("every column", shared)
    shared_steps = set(output.rows.steps)
    for column in output.columns:
        inputs = output.own_inputs(column)
        steps = [step for step in column.steps if step not in shared_steps]
        yield _Branch(column.column, _column_branches(column, inputs, steps))


def _column_branches(
    column: "LineageColumn", inputs: "Sequence[ColumnInput]", steps: "Sequence[ColumnStep]"
) -> tuple[_Branch, ...]:
    branches = (*_input_branches(inputs), *_step_branches(steps))
    if any(origin.kind == "direct" for origin in column.inputs) or not column.steps:
        return branches
    return (_Branch("from no input column"), *branches)


def _input_branches(inputs: "Sequence[ColumnInput]") -> tuple[_Branch, ...]:
    names = [f"{origin.dataset_id}.{origin.column}" for origin in inputs]
    width = min(max(map(len, names), default=0), 38)
    return tuple(_Branch(_input_text(origin, name, width)) for origin, name in zip(inputs, names, strict=True))


def _input_text(origin: "ColumnInput", name: str, width: int) -> str:
    word = "from" if origin.kind == "direct" else "by"
    operations = ", ".join(map(str, origin.operations))
    return f"{word:<4} {name:<{width}}  {origin.how.replace('_', ' '):<14}  {operations}".rstrip()


def _step_branches(steps: "Sequence[ColumnStep]") -> tuple[_Branch, ...]:
    return tuple(_Branch(f"{step.seq}: {text}") for step in steps if (text := _step_text(step)))


def _step_text(step: "ColumnStep") -> str:
    match step.role:
        case "value":
            return f"{step.column} = {step.text}" if step.text else ""
        case "selector":
            return f"where {step.text}"
        case "join":
            return f"join on {step.text}"
        case "group":
            grouped = f"group by {', '.join(step.names)}" if step.names else ""
            return " ".join(filter(None, (grouped, f"where {step.text}" if step.text else "")))
        case "order":
            return f"order by {', '.join(step.names)}"


def _lines(branches: tuple[_Branch, ...], indent: str) -> Iterator[str]:
    for branch in branches:
        is_last = branch is branches[-1]
        below = indent + ("   " if is_last else "│  ")
        width = max(_LEAST_TEXT, _WIDTH - len(below))
        texts = (
            textwrap.wrap(
                branch.text,
                width,
                subsequent_indent="     ",
                break_on_hyphens=False,
                replace_whitespace=True,
                drop_whitespace=True,
            )
            if len(branch.text) > width or "\n" in branch.text
            else [branch.text]
        )
        yield indent + ("└─ " if is_last else "├─ ") + texts[0]
        yield from (below + text for text in texts[1:])
        yield from _lines(branch.branches, below)
