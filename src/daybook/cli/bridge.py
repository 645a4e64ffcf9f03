"""`daybook bridge`: why a total moved between two runs."""

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
    run_listener,
    show_notice,
    show_table,
)
from daybook.cli.waterfall import number_text, show_waterfall, sign_colour, signed_text
from daybook.model.types import value_text

if TYPE_CHECKING:
    from daybook.compare.bridge_result import BridgeResult, Cause, RowEffect


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
    show_repeated_keys(cause.repeated)
    if cause.largest:
        names = tuple(cause.largest[0].key)
        cells = [_effect_cells(names, effect) for effect in cause.largest]
        show_rows((*names, "what", "before", "after", "effect"), cells, labels=len(names), right=(len(names) + 3,))


def _effect_cells(names: tuple[str, ...], effect: "RowEffect") -> "tuple[Cell, ...]":
    before, after = effect.before, effect.after
    changed = [
        name for name in before or after or {} if before is None or after is None or before.get(name) != after.get(name)
    ]
    shown = "" if effect.effect is None else signed_text(effect.effect)
    return (
        *(value_text(effect.key[name]) for name in names),
        ", ".join(changed),
        values_text(before, changed),
        values_text(after, changed),
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
    show_figures(titles, cells, labels=len(names))


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
