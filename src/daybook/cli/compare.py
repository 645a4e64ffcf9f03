"""`daybook diff` and `daybook bridge`: what changed between two runs, and why."""

from typing import TYPE_CHECKING, Annotated

import typer

from daybook.cli.arguments import AsJson
from daybook.cli.open_workspace import open_workspace_with_spark
from daybook.cli.root_options import root_options
from daybook.cli.terminal import (
    Cell,
    console,
    echo,
    echo_json,
    echo_note,
    run_listener,
    show_notice,
    show_table,
    spinner,
    table_width,
)
from daybook.cli.waterfall import number_text, show_waterfall, sign_colour, signed_text
from daybook.errors.render import one_line
from daybook.model.types import Value, value_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from daybook.compare.bridge_result import BridgeResult, Cause, RowEffect
    from daybook.compare.compared_run import ComparedRun, RepeatedRowKeys
    from daybook.compare.diff_result import DiffResult, RowChange


_KEY_WORDS = {
    "given": "as given",
    "group_by": "the columns they are grouped by",
    "natural_key": "the natural key",
    "row_id": "the row id, since there is no key",
}
_RUN_HELP = "A run's id, or PROJECT@PERIOD for its last completed run."
RunA = Annotated[str, typer.Argument(metavar="A", help=f"{_RUN_HELP} The earlier run.")]
RunB = Annotated[str, typer.Argument(metavar="B", help=f"{_RUN_HELP} The later run.")]
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


def split_columns(text: str | None) -> tuple[str, ...]:
    """Columns as `--key` and `--by` take them: `region, product`."""
    return tuple(name for part in (text or "").split(",") if (name := part.strip()))


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
        _show_figures(("column", "before", "after", "difference"), totals, labels=1)
    if diff.changes:
        count = rows.added + rows.removed + rows.changed
        echo("\nthe largest changes\n" if len(diff.changes) < count else "\nthe changes\n")
        titles = ("", *diff.key, "what", "before", "after")
        _show_rows(titles, [_change_cells(diff, change) for change in diff.changes], labels=1 + len(diff.key))


def show_runs(a: "ComparedRun", b: "ComparedRun") -> None:
    for letter, run in (("A", a), ("B", b)):
        draft = ", draft" if run.is_draft else ""
        echo(f"{letter}  {run.run_id}  {run.project_id} version {run.project_version} for {run.period}{draft}")


def _describe_choice(result: "DiffResult") -> None:
    echo_note(
        f"{result.output}: rows of {result.operation.name}, matched by {', '.join(result.key)}"
        f" ({_KEY_WORDS[result.key_origin]})"
    )
    for letter, run in (("A", result.a), ("B", result.b)):
        if run.is_computed:
            echo_note(f"{letter} was computed again from its snapshot")
    _say_repeated(result.repeated)
    for letter, names in (("A", result.only_in.a), ("B", result.only_in.b)):
        if names:
            echo_note(f"only in {letter}: {', '.join(names)}")
    for column in result.retyped:
        echo_note(f"{column.column} is {column.type_a} in A and {column.type_b} in B")
    for notice in result.notices:
        show_notice(notice)


def _say_repeated(repeated: "RepeatedRowKeys") -> None:
    if repeated.a or repeated.b:
        echo_note(
            f"keys that occur more than once: {repeated.a:,} in A, {repeated.b:,} in B; "
            "the rows of such a key are compared together"
        )


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
        _values(change.before, names),
        _values(change.after, names),
    )


def _is_worth_showing(change: "RowChange", name: str) -> bool:
    """The values of an added or removed row; the changed values of a changed row."""
    if change.before is not None and change.after is not None:
        return True
    return (change.before or change.after or {}).get(name) is not None


def _values(values: "Mapping[str, Value] | None", names: list[str]) -> str:
    return "" if values is None else ", ".join(value_text(values[name]) for name in names)


def bridge(
    context: typer.Context,
    a: RunA,
    b: RunB,
    measure: Annotated[str, typer.Option("--measure", "-m", metavar="COLUMN", help="The column whose total changed.")],
    output: Annotated[
        str | None,
        typer.Option("--output", metavar="OUTPUT", help="An output by seq, id or destination; by default the last."),
    ] = None,
    rows: Rows = None,
    by: Annotated[
        str | None, typer.Option("--by", metavar="COLUMNS", help="Also a bridge for each group: region.")
    ] = None,
    order: Annotated[
        str | None,
        typer.Option(
            "--order", metavar="KINDS", help="What is replaced first: definition,data, or single causes: data:rates."
        ),
    ] = None,
    is_through: Annotated[
        bool | None,
        typer.Option(
            "--through/--here",
            help="Look for causes in the projects behind the runs, or in their project alone; by default through, "
            "where a run reads what other projects wrote.",
            show_default=False,
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show why a total moved from one run to another.

    Starting from A, one difference after the other is swapped to B's, and the project is computed again; each step is
    that cause's share. The shares add up to the whole difference. Where the runs read what other projects wrote, causes
    are those of all these projects: data that nothing computes, and changed operations.
    """
    from daybook.compare.bridge import BridgeRequest
    from daybook.workspace.numbers import bridge_runs

    request = BridgeRequest(a, b, measure, output, rows, split_columns(by), split_columns(order), is_through)
    is_quiet = root_options(context).is_quiet or as_json
    with open_workspace_with_spark(context) as workspace, run_listener(is_quiet=is_quiet) as listener:
        result = bridge_runs(workspace, request, listener=listener)
    if as_json:
        echo_json(result)
    else:
        show_bridge(result)


def show_bridge(bridge: "BridgeResult") -> None:
    show_runs(bridge.a, bridge.b)
    for notice in bridge.notices:
        show_notice(notice)
    total = f"{bridge.measure} of {bridge.output}, rows of {bridge.operation.name}"
    if bridge.is_same:
        echo(f"\nnothing differs between the two runs: {total} is {number_text(bridge.before)} in both")
        return
    if not bridge.causes:
        swapped = ", ".join(name.label for name in bridge.order)
        echo(f"\n{total} is {number_text(bridge.before)} in both; these differences change nothing: {swapped}")
        return
    echo(f"\n{total}: {signed_text(bridge.difference)}\n")
    show_waterfall(bridge)
    if bridge.small_causes:
        echo("\nthe smaller causes\n")
        cells = [(cause.label, (signed_text(cause.share), sign_colour(cause.share))) for cause in bridge.small_causes]
        show_table(("cause", "share"), cells, right=(1,))
    for cause in bridge.causes:
        _show_cause(cause)
    if bridge.by is not None:
        _show_groups(bridge)
    echo_note(f"\nreplaced in this order, which decides the amounts: {', '.join(name.text for name in bridge.order)}")
    _show_way_on(bridge)


def _show_cause(cause: "Cause") -> None:
    if cause.is_together:
        echo(f"\n{cause.label}: replaced together, because: {cause.reason}")
    if cause.rows is None:
        return
    rows = cause.rows
    echo(f"\n{cause.label}, rows: {rows.added:,} added, {rows.removed:,} removed, {rows.changed:,} changed\n")
    _say_repeated(cause.repeated)
    if cause.largest:
        names = tuple(cause.largest[0].key)
        cells = [_effect_cells(names, effect) for effect in cause.largest]
        _show_rows((*names, "what", "before", "after", "effect"), cells, labels=len(names), right=(len(names) + 3,))


def _effect_cells(names: tuple[str, ...], effect: "RowEffect") -> "tuple[Cell, ...]":
    before, after = effect.before, effect.after
    changed = [
        name for name in before or after or {} if before is None or after is None or before.get(name) != after.get(name)
    ]
    shown = "" if effect.effect is None else signed_text(effect.effect)
    return (
        *(value_text(effect.key[name]) for name in names),
        ", ".join(changed),
        _values(before, changed),
        _values(after, changed),
        (shown, "" if effect.effect is None else sign_colour(effect.effect)),
    )


def _show_groups(result: "BridgeResult") -> None:
    names = tuple(result.by[0].key) if result.by else ()
    titles = (*names, "before", *(cause.name for cause in result.causes), "after")
    cells: list[tuple[Cell, ...]] = [
        (
            *(value_text(value) for value in group.key.values()),
            number_text(group.before),
            *((signed_text(share), sign_colour(share)) for share in group.shares),
            number_text(group.after),
        )
        for group in result.by or ()
    ]
    echo("")
    _show_figures(titles, cells, labels=len(names))


def _show_figures(titles: tuple[str, ...], rows: "list[tuple[Cell, ...]]", *, labels: int) -> None:
    """Numbers below titles; where that is too wide, the numbers of each row below each other, since none is cut."""
    texts = [[_cell_text(cell) for cell in row] for row in rows]
    if table_width(titles, texts) <= console().width:
        show_table(titles, rows, right=range(labels, len(titles)))
        return
    for row in rows:
        echo(one_line(", ".join(_named_labels(titles, row, labels))))
        cells = [(title, cell) for title, cell in zip(titles[labels:], row[labels:], strict=True)]
        show_table(("", ""), cells, right=(1,), is_uncut=True)


def _show_rows(
    titles: tuple[str, ...], rows: "list[tuple[Cell, ...]]", *, labels: int, right: tuple[int, ...] = ()
) -> None:
    """Rows with what changed in them; where that is too wide, each in lines of its own."""
    texts = [[_cell_text(cell) for cell in row] for row in rows]
    if table_width(titles, texts) <= console().width:
        show_table(titles, rows, right=right)
        return
    for row in rows:
        echo(one_line(" ".join(_named_labels(titles, row, labels))))
        for title, cell in zip(titles[labels:], row[labels:], strict=True):
            if text := _cell_text(cell):
                echo(f"  {title} {one_line(text)}")


def _named_labels(titles: tuple[str, ...], row: "tuple[Cell, ...]", labels: int) -> list[str]:
    return [f"{title} {_cell_text(cell)}".strip() for title, cell in zip(titles[:labels], row[:labels], strict=True)]


def _cell_text(cell: "Cell") -> str:
    return cell if isinstance(cell, str) else cell[0]


def _show_way_on(result: "BridgeResult") -> None:
    """Where `explain` continues: with the row that did most, else with the rows behind the total."""
    import shlex

    from daybook.runs.explain.row_origins import format_keys

    for cause in result.causes:
        row = next((candidate for candidate in cause.largest or () if candidate.after is not None), None)
        if row is not None and cause.explained_by is not None:
            keys = {name: None if value is None else value_text(value) for name, value in row.key.items()}
            words = ("daybook", "explain", result.b.run_id, str(cause.explained_by), *format_keys(keys))
            echo_note(f"`{shlex.join(words)}` explains the row with the largest effect")
            return
    if result.operation.seq_b:
        echo_note(f"`daybook explain {result.b.run_id} {result.operation.seq_b}` shows the rows behind the total of B")
