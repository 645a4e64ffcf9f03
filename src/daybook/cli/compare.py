"""`daybook diff`: what changed between two runs."""

from typing import TYPE_CHECKING, Annotated

import typer

from daybook.cli.arguments import AsJson, open_workspace_with_spark, root_options
from daybook.cli.terminal import Cell, echo, echo_json, echo_note, show_notice, show_table, spinner
from daybook.model.types import Value, value_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from daybook.compare.result import ComparedRun, DiffResult, Number, RowChange

_KEY_WORDS = {
    "given": "as given",
    "group_by": "the columns they are grouped by",
    "natural_key": "the natural key",
    "row_id": "the row id, since there is no key",
}
_RUN_HELP = "A run's id, or PROJECT@PERIOD for its last completed run."
RunA = Annotated[str, typer.Argument(metavar="A", help=f"{_RUN_HELP} The one before.")]
RunB = Annotated[str, typer.Argument(metavar="B", help=f"{_RUN_HELP} The one after.")]
Rows = Annotated[
    int | None,
    typer.Option(
        "--rows",
        metavar="SEQ",
        help="Rows of this operation, 0 for loaded rows; by default of the last aggregate.",
        min=0,
    ),
]


def diff(
    context: typer.Context,
    a: RunA,
    b: RunB,
    output: Annotated[
        str | None, typer.Argument(metavar="OUTPUT", help="An output by destination, id or seq; by default the last.")
    ] = None,
    rows: Rows = None,
    key: Annotated[
        str | None, typer.Option("--key", metavar="COLUMNS", help="Columns that rows are matched by.")
    ] = None,
    tolerance: Annotated[
        str | None, typer.Option("--tolerance", metavar="NUMBER", help="Numbers that differ by no more are the same.")
    ] = None,
    limit: Annotated[
        int, typer.Option("--limit", metavar="N", help="The most changes to show.", min=1, max=10_000)
    ] = 10,
    as_json: AsJson = False,
) -> None:
    """Show what changed between two runs.

    Compares what they wrote for their periods, whatever became of the tables since: rows added, removed and changed,
    the totals of numeric columns, and the largest changes.
    """
    from daybook.compare.diff import DiffRequest
    from daybook.workspace.compare import diff_runs, parse_tolerance
    from daybook.workspace.compare_json import diff_as_json

    request = DiffRequest(a, b, output, rows, split_columns(key), parse_tolerance(tolerance), limit)
    is_quiet = root_options(context).is_quiet or as_json
    with open_workspace_with_spark(context) as workspace, spinner("comparing rows", is_quiet=is_quiet):
        found = diff_runs(workspace, request)
    if as_json:
        echo_json(diff_as_json(found))
    else:
        show_diff(found)


def split_columns(text: str | None) -> tuple[str, ...]:
    """Columns as `--key` and `--by` take them: `region, product`."""
    return tuple(name for part in (text or "").split(",") if (name := part.strip()))


def show_diff(found: "DiffResult") -> None:
    show_runs(found.a, found.b)
    _say_how(found)
    rows = found.rows
    if found.is_same and not found.only_in_a and not found.only_in_b:
        echo(f"\nthe {rows.a:,} rows are the same")
        return
    echo(f"\n{rows.added:,} added, {rows.removed:,} removed, {rows.changed:,} changed, {rows.same:,} the same\n")
    totals: list[tuple[Cell, ...]] = [
        (
            total.column,
            number(total.before),
            number(total.after),
            (signed(total.difference), colour_of(total.difference)),
        )
        for total in found.totals
    ]
    if totals:
        show_table(("column", "before", "after", "difference"), totals, right=(1, 2, 3))
    if found.changes:
        count = rows.added + rows.removed + rows.changed
        echo("\nthe largest changes\n" if len(found.changes) < count else "\nthe changes\n")
        show_table(("", *found.key, "what", "before", "after"), [_change_cells(found, each) for each in found.changes])


def show_runs(a: "ComparedRun", b: "ComparedRun") -> None:
    for letter, run in (("A", a), ("B", b)):
        draft = ", draft" if run.is_draft else ""
        echo(f"{letter}  {run.run_id}  {run.project_id} version {run.project_version} for {run.period}{draft}")


def _say_how(found: "DiffResult") -> None:
    echo_note(
        f"{found.output}: rows of {found.operation.name}, matched by {', '.join(found.key)}"
        f" ({_KEY_WORDS[found.key_origin]})"
    )
    for letter, run in (("A", found.a), ("B", found.b)):
        if run.is_computed:
            echo_note(f"{letter} was computed again from its snapshot")
    if found.repeated.a or found.repeated.b:
        echo_note(
            f"keys that stand more than once: {found.repeated.a:,} in A, {found.repeated.b:,} in B; "
            "their rows are compared as a whole"
        )
    for letter, names in (("A", found.only_in_a), ("B", found.only_in_b)):
        if names:
            echo_note(f"only in {letter}: {', '.join(names)}")
    for each in found.retyped:
        echo_note(f"{each.column} is {each.type_a} in A and {each.type_b} in B")
    for notice in found.notices:
        show_notice(notice)


def _change_cells(found: "DiffResult", change: "RowChange") -> "tuple[Cell, ...]":
    mark: Cell = ("~", "yellow")
    if change.before is None:
        mark = ("+", "green")
    elif change.after is None:
        mark = ("-", "red")
    names = [name for name in change.columns if _is_worth_showing(change, name)]
    return (
        mark,
        *(value_text(change.key[name]) for name in found.key),
        ", ".join(names),
        _values(change.before, names),
        _values(change.after, names),
    )


def _is_worth_showing(change: "RowChange", name: str) -> bool:
    """Of a row that stands on one side only, what it has; of a changed one, what changed."""
    if change.before is not None and change.after is not None:
        return True
    return (change.before or change.after or {}).get(name) is not None


def _values(values: "Mapping[str, Value] | None", names: list[str]) -> str:
    return "" if values is None else ", ".join(value_text(values[name]) for name in names)


def number(value: "Number") -> str:
    """With separators of thousands, and every digit."""
    return f"{value:,}" if isinstance(value, int | float) else f"{value:,f}"


def signed(value: "Number") -> str:
    return number(value) if value < 0 else f"+{number(value)}" if value else number(value)


def colour_of(value: "Number") -> str:
    return "green" if value > 0 else "red" if value < 0 else ""
