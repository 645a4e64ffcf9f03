"""`daybook explain`: the rows behind a number, and the meaning of error codes."""

import shlex
from collections.abc import Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Annotated

import typer

from daybook.cli import completion
from daybook.cli.arguments import AsJson
from daybook.cli.open_workspace import open_workspace_with_spark
from daybook.cli.root_options import root_options
from daybook.cli.terminal import console, echo, echo_json, echo_note, show_table, table_width
from daybook.model.types import value_text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from daybook.runs.explain.levels import (
        ExplainedSum,
        ExplanationLevel,
        NumberExplanation,
        OperationExplanation,
        ShownRows,
    )


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
            autocompletion=completion.runs_and_codes,
        ),
    ],
    operation: Annotated[
        str | None,
        typer.Argument(
            metavar="OPERATION",
            help="For a run: the id or seq of an operation.",
            autocompletion=completion.operation_ids,
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
    from daybook.workspace.explain import explain_number

    keys = parse_keys(words)
    with (
        open_workspace_with_spark(context) as workspace,
        spinner("computing it again", is_quiet=root_options(context).is_quiet or as_json),
    ):
        return explain_number(workspace, run_id, operation, keys, limit=limit, depth=depth, columns=columns)
