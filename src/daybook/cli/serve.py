"""`daybook serve` and `daybook report`: a workspace as web pages, a run as one HTML file."""

from pathlib import Path
from typing import Annotated

import typer

from daybook.cli import arguments
from daybook.cli.arguments import AsJson, open_workspace, open_workspace_with_spark, root_options
from daybook.cli.terminal import echo, echo_json, echo_note, spinner


def serve(
    context: typer.Context,
    host: Annotated[str, typer.Option("--host", metavar="HOST", help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[
        int, typer.Option("--port", metavar="PORT", help="The port; 0 chooses a free one.", min=0, max=65535)
    ] = 8484,
    allow_actions: Annotated[
        bool, typer.Option("--allow-actions", help="Allow the page to run, build, cancel, activate, close and lock.")
    ] = False,
    is_open: Annotated[
        bool, typer.Option("--open", help="Require no token: every user who can connect can read.")
    ] = False,
    tls_cert: Annotated[
        Path | None,
        typer.Option("--tls-cert", metavar="FILE", help="A certificate; needed for access from other machines."),
    ] = None,
    tls_key: Annotated[Path | None, typer.Option("--tls-key", metavar="FILE", help="Its private key.")] = None,
    behind_proxy: Annotated[
        bool, typer.Option("--behind-proxy", help="A proxy in front of the server has the certificate.")
    ] = False,
) -> None:
    """Show the workspace in a browser, and answer programs at /api/v1.

    The token that is printed is entered once in the browser. Named tokens are set in daybook.yaml (serve: tokens).
    """
    from daybook.web.server import ServeRequest, open_site
    from daybook.web.server import serve as serve_workspace

    workspace = open_workspace(context)
    request = ServeRequest(host, port, allow_actions, is_open, tls_cert, tls_key, behind_proxy)
    site, token = open_site(workspace, request)

    def show(address: str) -> None:
        echo(address)
        if token is not None:
            echo(f"token: {token}")
        if root_options(context).is_quiet:
            return
        if token is None:
            echo_note(f"enter one of the tokens of daybook.yaml: {', '.join(site.tokens)}")
        echo_note("Ctrl-C stops the server")

    serve_workspace(workspace, request, site, on_ready=show)


def report(
    context: typer.Context,
    run: Annotated[
        str,
        typer.Argument(
            metavar="RUN",
            help="A run's id, or PROJECT@PERIOD for its last completed run.",
            autocompletion=arguments.run_ids(),
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
