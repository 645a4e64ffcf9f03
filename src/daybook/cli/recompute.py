"""`daybook preview` and `daybook recompute`: what the second engine computes, without Spark."""

from typing import TYPE_CHECKING, Annotated

import typer

from daybook.cli.arguments import AsJson, CompletedRunArgument, ProjectArgument, Settings, period_option
from daybook.cli.open_workspace import open_workspace, open_workspace_with_spark
from daybook.cli.root_options import root_options
from daybook.cli.terminal import echo, echo_json, echo_marked, echo_note, show_error, show_notice, show_table
from daybook.pictures.shown_values import plural

if TYPE_CHECKING:
    from daybook.runs.recomputation import Recomputation, RecomputedOutput
    from daybook.workspace.preview import Preview, PreviewedOutput

_DIFFERENT = 1
# Wider tables are shown by their first columns, business columns first.
_MOST_COLUMNS = 12


def preview(
    context: typer.Context,
    project: ProjectArgument,
    period: Annotated[str, period_option("The period to preview.")],
    as_of: Annotated[
        str | None, typer.Option("--as-of", metavar="DATE", help="Date for bitemporal data: 2026-01-15.")
    ] = None,
    rows: Annotated[int, typer.Option("--rows", metavar="N", help="How many rows of every output.", min=0)] = 10,
    settings: Settings = None,
    watch: Annotated[
        bool, typer.Option("--watch", help="Preview again whenever a file changes, until Ctrl-C.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Show what a run of the files as they are now would do.

    Computed without Spark: the rows that operations pick, the first rows and the totals of every output, the checks.
    Nothing is applied, recorded or written.
    """
    from daybook.errors import DaybookError
    from daybook.model.parameter import parse_settings
    from daybook.runs.attempt.run_request import RunRequest
    from daybook.workspace.execution import parse_as_of
    from daybook.workspace.preview import preview_project
    from daybook.workspace.watch import repeat_on_change

    request = RunRequest(project, period, parse_as_of(as_of), parameters=parse_settings(settings or ()))
    workspace = open_workspace(context)
    is_quiet = root_options(context).is_quiet

    def show() -> None:
        previewed = preview_project(workspace, request, rows=rows)
        echo_json(previewed) if as_json else _show_preview(previewed, is_quiet=is_quiet)

    def attempt() -> None:
        try:
            show()
        except DaybookError as error:
            show_error(error)
        if not (is_quiet or as_json):
            echo_note("waiting for a change; Ctrl-C ends")

    if watch:
        repeat_on_change(attempt, (workspace.root,))
    else:
        show()


def _show_preview(preview: "Preview", *, is_quiet: bool) -> None:
    echo(f"preview of {preview.project_id} for {preview.period}: nothing is applied, recorded or written")
    if not is_quiet:
        echo(f"as of {preview.as_of.isoformat()}, {preview.input_rows:,} rows of the input")
        if preview.parameters:
            echo(f"parameters {', '.join(f'{name} = {text}' for name, text in preview.parameters.items())}")
        for notice in preview.notices:
            show_notice(notice)
        echo("")
        show_table(
            ("seq", "operation", "type", "picked", "added"),
            [
                (
                    str(operation.seq),
                    operation.name,
                    operation.type,
                    f"{operation.picked:,}",
                    f"{operation.added:,}" if operation.added else "",
                )
                for operation in preview.operations
            ],
            right=(0, 3, 4),
        )
    for output in preview.outputs:
        echo("")
        _show_output(output)
    names = {operation.id: operation.name for operation in preview.operations}
    for operation_id, count in preview.checks.items():
        echo_marked("holds", typer.colors.GREEN, f"{names[operation_id]}: {plural(count, 'row')}")


def _show_output(output: "PreviewedOutput") -> None:
    from daybook.model.types import value_text

    business = [name for name in output.columns if not name.startswith("_")] or list(output.columns)
    names = business[:_MOST_COLUMNS]
    positions = [list(output.columns).index(name) for name in names]
    shown = f", the first {len(names)} are shown" if len(names) < len(business) else ""
    columns = f"{plural(len(output.columns), 'column')}{shown}"
    echo(f"{output.destination}: {plural(output.row_count, 'row')}, {columns}")
    rows = [tuple(value_text(row[position]) for position in positions) for row in output.rows]
    numbers = [place for place, name in enumerate(names) if output.columns[name].startswith(("integer", "decimal"))]
    show_table(names, rows, right=numbers)
    if output.row_count > len(rows):
        echo(f"and {output.row_count - len(rows):,} more")
    if output.totals:
        texts = (f"{name} = {value_text(total)}" for name, total in output.totals.items())
        echo(f"totals: {', '.join(texts)}")


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
        raise typer.Exit(_DIFFERENT)


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
