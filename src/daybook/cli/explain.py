"""`daybook explain` and `daybook lineage`: the rows and the columns behind a number."""

import shlex
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Annotated

import typer

from daybook.cli import arguments
from daybook.cli.arguments import AsJson, open_workspace, open_workspace_with_spark, root_options
from daybook.cli.terminal import console, echo, echo_json, echo_note, show_notice, show_table, table_width
from daybook.model.types import value_text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from daybook.plan.lineage import ColumnInput, ColumnStep
    from daybook.runs.explain.levels import (
        ExplainedSum,
        ExplanationLevel,
        NumberExplanation,
        OperationExplanation,
        ShownRows,
    )
    from daybook.workspace.lineage import LineageColumn, LineageOutput, LineageResult


_MOST_HINTS = 3


def show_explanation(explanation: "OperationExplanation", *, with_leads: bool = True) -> None:
    from daybook.runs.explain.levels import ROWS_TITLES
    from daybook.runs.explain.row_origins import format_keys

    operation = explanation.operation
    echo(f"operation {operation.seq} of run {explanation.run_id}: {operation.name} ({operation.type})")
    named = " and ".join(
        f"{column} is NULL" if value is None else f"{column} = {value_text(value)}"
        for column, value in explanation.keys.items()
    )
    named = named or (f"the {len(explanation.groups):,} rows above come from" if explanation.groups else "")
    echo(f"{explanation.project_id} for {explanation.period}" + (f", where {named}" if named else ""))
    if explanation.parameters:
        echo(f"parameters {', '.join(f'{name} = {text}' for name, text in explanation.parameters.items())}")
    for total in explanation.sums:
        if total.above is not None or not total.is_equal:
            echo(_sum_sentence(total))
    if explanation.summary_rows is not None:
        _show_rows("what it computed", explanation.summary_rows)
    _show_rows(ROWS_TITLES[operation.type], explanation.rows)
    for gap in explanation.gaps:
        echo_note(f"\n{gap.error.message}")
    for number, (seq, keys) in enumerate(list(explanation.leads.items())[:_MOST_HINTS] if with_leads else ()):
        command = shlex.join(("daybook", "explain", explanation.run_id, str(seq), *format_keys(keys)))
        line = f"operation {seq} made some of them; `{command}` shows how"
        echo_note(line if number else f"\n{line}")


def show_number(explanation: "NumberExplanation") -> None:
    """All levels, from the number down."""
    show_explanation(explanation.first, with_leads=not explanation.levels)
    for level in explanation.levels:
        _show_level(level)
    if explanation.levels and not explanation.is_complete:
        echo_note("\nthese rows come from other rows; `--depth` shows more levels")


def _show_level(level: "ExplanationLevel") -> None:
    for explanation in level.explanations:
        echo(f"\n--- level {level.depth}" + (", the first of these groups" if level.depth == 1 else ""))
        show_explanation(explanation, with_leads=False)
    for gap in level.gaps:
        echo_note(f"\noperation {gap.seq} of run {gap.run_id} cannot be shown: {gap.error.message}")


def _sum_sentence(total: "ExplainedSum") -> str:
    """A total, and whether it is the same on both levels."""
    parts = {"above": total.above, "computed again": total.value, "sum of the rows": total.rows}
    if total.is_equal:
        return f"{total.column}: {value_text(total.above)}, the same as above"
    differing = ", ".join(f"{name} {value_text(value)}" for name, value in parts.items() if value is not None)
    return f"{total.column} differs: {differing}"


def _show_rows(title: str, shown: "ShownRows") -> None:
    count = "no rows" if not shown.count else "1 row" if shown.count == 1 else f"{shown.count:,} rows"
    if len(shown.rows) < shown.count:
        count = f"{len(shown.rows):,} of {count}"
    echo(f"\n{title}: {count}\n")
    if not shown.rows:
        return
    rows = [tuple(value_text(row[name]) for name in shown.columns) for row in shown.rows]
    if table_width(shown.columns, rows) <= console().width:
        numbers = [number for number, name in enumerate(shown.columns) if _has_numbers(shown, name)]
        show_table(shown.columns, rows, right=numbers)
    else:
        _show_records(shown.columns, rows)


def _has_numbers(shown: "ShownRows", name: str) -> bool:
    values = (row[name] for row in shown.rows)
    return any(isinstance(value, int | float | Decimal) and not isinstance(value, bool) for value in values)


def _show_records(columns: "Sequence[str]", rows: "Iterable[Sequence[str]]") -> None:
    """One line a value where a row does not fit on a line."""
    from daybook.errors.render import one_line

    width = max(len(one_line(name)) for name in columns)
    for number, row in enumerate(rows):
        if number:
            echo("")
        for name, text in zip(columns, row, strict=True):
            echo(f"{one_line(name):<{width}}  {one_line(text)}")


def explain(
    context: typer.Context,
    what: Annotated[
        str,
        typer.Argument(
            metavar="CODE|RUN",
            help="An error's code, a run's id, or PROJECT@PERIOD for its last completed run.",
            autocompletion=arguments.runs_and_codes,
        ),
    ],
    operation: Annotated[
        str | None,
        typer.Argument(
            metavar="OPERATION",
            help="For a run: the id or seq of an operation.",
            autocompletion=arguments.operation_ids,
        ),
    ] = None,
    keys: Annotated[
        list[str] | None,
        typer.Argument(metavar="COLUMN=VALUE", help="Only rows with these values; COLUMN= is NULL."),
    ] = None,
    limit: Annotated[
        int,
        typer.Option("--limit", metavar="N", help="The maximum number of rows to show per level.", min=1, max=10_000),
    ] = 20,
    depth: Annotated[
        int | None,
        typer.Option(
            "--depth",
            metavar="N",
            help="How many levels to show; 1 is the operation alone. By default down to the rows of the sources.",
            min=1,
            max=100,
        ),
    ] = None,
    columns: Annotated[str | None, typer.Option("--columns", metavar="A,B", help="Additional columns to show.")] = None,
    as_json: AsJson = False,
) -> None:
    """Say what an error code means, or where a number comes from.

    For a run it shows the rows that an operation picked, as they were when it came to them, computed again from the
    run's snapshot. Summary rows are named by the columns they are grouped by. Then it shows the rows behind these
    rows, and so on, in the runs of other projects too, down to the lines of the sources.
    """

    # Ids of runs begin with a date.
    if operation is None and not what[:1].isdigit() and "@" not in what:
        _explain_code(what, as_json=as_json)
        return
    names = tuple(name.strip() for name in columns.split(",") if name.strip()) if columns else ()
    explanation = _compute_explanation(context, what, operation, keys or [], limit, depth, names, as_json=as_json)
    if as_json:
        echo_json(explanation)
    else:
        show_number(explanation)


def _explain_code(written: str, *, as_json: bool) -> None:
    from daybook.workspace.reference import describe_code

    code = describe_code(written)
    if as_json:
        echo_json(code)
        return
    echo(f"[{code.code}] {code.message}")
    echo(f"  {code.explanation}")
    if code.hint:
        echo(f"  hint: {code.hint}")


def _compute_explanation(
    context: typer.Context,
    run_id: str,
    operation: str | None,
    words: list[str],
    limit: int,
    depth: int | None,
    columns: tuple[str, ...],
    *,
    as_json: bool,
) -> "NumberExplanation":
    from daybook.cli.terminal import spinner
    from daybook.runs.explain.row_origins import parse_keys
    from daybook.workspace.execution import explain_number

    keys = parse_keys(words)
    with (
        open_workspace_with_spark(context) as workspace,
        spinner("computing it again", is_quiet=root_options(context).is_quiet or as_json),
    ):
        return explain_number(workspace, run_id, operation, keys, limit=limit, depth=depth, columns=columns)


_WIDTH = 80
# A tree that is deeper in names than this leaves no space for what it says of them.
_LEAST_TEXT = 30

OptionalProject = Annotated[
    str | None,
    typer.Argument(
        metavar="PROJECT",
        help="A project's id, or the file that defines it; by default all projects.",
        autocompletion=arguments.project_ids,
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
