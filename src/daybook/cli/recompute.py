"""`daybook recompute`: a run computed again by the second engine, compared with what it wrote."""

from typing import TYPE_CHECKING, Annotated

import typer

from daybook.cli.arguments import AsJson, CompletedRunArgument
from daybook.cli.exit_codes import FAILED
from daybook.cli.open_workspace import open_workspace_with_spark
from daybook.cli.terminal import echo, echo_json, echo_marked

if TYPE_CHECKING:
    from daybook.runs.recomputation import Recomputation, RecomputedOutput


def recompute(
    context: typer.Context,
    run_id: CompletedRunArgument,
    rows: Annotated[
        list[str] | None,
        typer.Option("--rows", metavar="COLUMN=VALUE", help="Compare only rows with this value; may be repeated."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Compute a run again in plain Python, and compare every cell with what it wrote.

    From its snapshot and its pinned sources, by code that shares nothing with the engine of the run. Ends with 1 if
    anything differs.
    """
    from daybook.runs.explain.row_origins import parse_keys
    from daybook.workspace.recomputation import recompute

    keys = parse_keys(rows or ())
    # What a run wrote to tables by name is read through a session, which starts if it did.
    with open_workspace_with_spark(context) as workspace:
        recomputation = recompute(workspace, run_id, keys)
    if as_json:
        echo_json(recomputation)
    else:
        _show_recomputation(recomputation)
    if not recomputation.is_same:
        raise typer.Exit(FAILED)


def _show_recomputation(recomputation: "Recomputation") -> None:
    of = f"{recomputation.project_id} for {recomputation.period}"
    echo(f"{of}, run {recomputation.run_id}, computed again in plain Python")
    for output in recomputation.outputs:
        _show_recomputed(output)


def _show_recomputed(output: "RecomputedOutput") -> None:
    if output.problem is not None:
        echo_marked("not compared", typer.colors.YELLOW, f"{output.destination}: {output.problem}")
        return
    compared = f"{output.rows_written or 0:,} rows, {output.cells:,} cells"
    if output.is_same:
        echo_marked("same", typer.colors.GREEN, f"{output.destination}: {compared}")
    else:
        echo_marked("DIFFERS", typer.colors.RED, f"{output.destination}: {compared}, {output.count:,} differ")
    for difference in output.differences:
        cell = difference.cell
        where = f"{cell.row}: {cell.column}" if cell.column else cell.row
        echo(f"    {where}: written {cell.written}, computed {cell.computed}")
        if difference.expression is not None:
            echo(f"        by operation {difference.operation}: {difference.expression}")
    if output.count > len(output.differences):
        echo(f"    and {output.count - len(output.differences):,} more")
    if output.not_compared:
        echo(f"    not compared: {', '.join(output.not_compared)}")
