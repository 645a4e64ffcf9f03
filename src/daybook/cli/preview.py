"""`daybook preview`: what a run would do, computed by the second engine."""

from typing import TYPE_CHECKING, Annotated

import typer

from daybook.cli.arguments import AsJson, ProjectArgument, Settings, period_option
from daybook.cli.open_workspace import open_workspace
from daybook.cli.root_options import root_options
from daybook.cli.terminal import echo, echo_json, echo_marked, echo_note, show_error, show_notice, show_table
from daybook.pictures.shown_values import plural

if TYPE_CHECKING:
    from daybook.workspace.preview import Preview, PreviewedOutput


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
