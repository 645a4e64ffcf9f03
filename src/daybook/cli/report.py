"""`daybook report`: a run as one HTML file."""

from pathlib import Path
from typing import Annotated

import typer

from daybook.cli import completion
from daybook.cli.arguments import AsJson
from daybook.cli.open_workspace import open_workspace_with_spark
from daybook.cli.root_options import root_options
from daybook.cli.terminal import echo, echo_json, spinner


def report(
    context: typer.Context,
    run: Annotated[
        str,
        typer.Argument(
            metavar="RUN",
            help="A run's id, or PROJECT@PERIOD for its last completed run.",
            autocompletion=completion.run_ids(),
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="FILE", help="The file to write; by default report-RUN.html."),
    ] = None,
    against: Annotated[
        str | None,
        typer.Option("--against", metavar="RUN", help="Compare with this run; by default with the previous one."),
    ] = None,
    differences: Annotated[
        bool, typer.Option("--diff/--no-diff", help="Compare with another run; this needs Spark.")
    ] = True,
    measure: Annotated[
        list[str] | None,
        typer.Option(
            "--measure", "-m", metavar="COLUMN", help="Explain why the total of this column changed; may be repeated."
        ),
    ] = None,
    rows: Annotated[
        int, typer.Option("--rows", metavar="N", help="The maximum number of rows to show per output.", min=1, max=1000)
    ] = 200,
    as_json: AsJson = False,
) -> None:
    """Write a run as one HTML file, for an auditor or an attachment.

    The file needs no network and no script: numbers with their totals, steps, checks, differences to the run before,
    lineage, what was read, and the definition. It replaces nothing but an earlier report.
    """
    from daybook.workspace.report import ReportRequest, write_report

    request = ReportRequest(run, against, differences, rows, tuple(measure or ()))
    path = out or Path(f"report-{run.replace('@', '-')}.html")
    with (
        open_workspace_with_spark(context) as workspace,
        spinner("reading the run", is_quiet=root_options(context).is_quiet or as_json),
    ):
        written = write_report(workspace, request, path)
    if as_json:
        echo_json(written)
        return
    echo(f"{written.path} ({written.size:,} bytes): {written.project_id} for {written.period}, run {written.run_id}")
    if written.compared_with is not None:
        echo(f"compared with run {written.compared_with}")
