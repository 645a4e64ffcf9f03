"""`daybook diff`: what changed between two runs."""

from typing import TYPE_CHECKING, Annotated

import typer

from daybook.cli.arguments import AsJson
from daybook.cli.compared_rows import (
    Rows,
    RunA,
    RunB,
    show_figures,
    show_repeated_keys,
    show_rows,
    show_runs,
    split_columns,
    values_text,
)
from daybook.cli.open_workspace import open_workspace_with_spark
from daybook.cli.root_options import root_options
from daybook.cli.terminal import (
    Cell,
    echo,
    echo_json,
    echo_note,
    show_notice,
    spinner,
)
from daybook.cli.waterfall import number_text, sign_colour, signed_text
from daybook.model.types import value_text

if TYPE_CHECKING:
    from daybook.compare.diff_result import DiffResult, RowChange


_KEY_WORDS = {
    "given": "as given",
    "group_by": "the columns they are grouped by",
    "natural_key": "the natural key",
    "row_id": "the row id, since there is no key",
}


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
        str | None, typer.Option("--tolerance", metavar="NUMBER", help="Numbers that differ by at most this are equal.")
    ] = None,
    limit: Annotated[
        int, typer.Option("--limit", metavar="N", help="The maximum number of changes to show.", min=1, max=10_000)
    ] = 10,
    as_json: AsJson = False,
) -> None:
    """Show what changed between two runs.

    Compares what they wrote for their periods, even if the tables have changed since: rows added, removed and changed,
    the totals of numeric columns, and the largest changes.
    """
    from daybook.compare.diff import DiffRequest
    from daybook.workspace.numbers import diff_runs, parse_tolerance

    request = DiffRequest(a, b, output, rows, split_columns(key), parse_tolerance(tolerance), limit)
    is_quiet = root_options(context).is_quiet or as_json
    with open_workspace_with_spark(context) as workspace, spinner("comparing rows", is_quiet=is_quiet):
        result = diff_runs(workspace, request)
    if as_json:
        echo_json(result)
    else:
        show_diff(result)


def show_diff(diff: "DiffResult") -> None:
    show_runs(diff.a, diff.b)
    _describe_choice(diff)
    rows = diff.rows
    if diff.is_same and not diff.only_in:
        echo(f"\nthe {rows.a:,} rows are the same")
        return
    echo(f"\n{rows.added:,} added, {rows.removed:,} removed, {rows.changed:,} changed, {rows.same:,} the same\n")
    totals: list[tuple[Cell, ...]] = [
        (
            total.column,
            number_text(total.before),
            number_text(total.after),
            (signed_text(total.difference), sign_colour(total.difference)),
        )
        for total in diff.totals
    ]
    if totals:
        show_figures(("column", "before", "after", "difference"), totals, labels=1)
    if diff.changes:
        count = rows.added + rows.removed + rows.changed
        echo("\nthe largest changes\n" if len(diff.changes) < count else "\nthe changes\n")
        titles = ("", *diff.key, "what", "before", "after")
        show_rows(titles, [_change_cells(diff, change) for change in diff.changes], labels=1 + len(diff.key))


def _describe_choice(result: "DiffResult") -> None:
    echo_note(
        f"{result.output}: rows of {result.operation.name}, matched by {', '.join(result.key)}"
        f" ({_KEY_WORDS[result.key_origin]})"
    )
    for letter, run in (("A", result.a), ("B", result.b)):
        if run.is_computed:
            echo_note(f"{letter} was computed again from its snapshot")
    show_repeated_keys(result.repeated)
    for letter, names in (("A", result.only_in.a), ("B", result.only_in.b)):
        if names:
            echo_note(f"only in {letter}: {', '.join(names)}")
    for column in result.retyped:
        echo_note(f"{column.column} is {column.type_a} in A and {column.type_b} in B")
    for notice in result.notices:
        show_notice(notice)


def _change_cells(result: "DiffResult", change: "RowChange") -> "tuple[Cell, ...]":
    mark: Cell = ("~", "yellow")
    if change.before is None:
        mark = ("+", "green")
    elif change.after is None:
        mark = ("-", "red")
    names = [name for name in change.columns if _is_worth_showing(change, name)]
    return (
        mark,
        *(value_text(change.key[name]) for name in result.key),
        ", ".join(names),
        values_text(change.before, names),
        values_text(change.after, names),
    )


def _is_worth_showing(change: "RowChange", name: str) -> bool:
    """The values of an added or removed row; the changed values of a changed row."""
    if change.before is not None and change.after is not None:
        return True
    return (change.before or change.after or {}).get(name) is not None
