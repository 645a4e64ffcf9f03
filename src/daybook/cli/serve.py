"""`daybook serve`: the page of a workspace."""

from pathlib import Path
from typing import Annotated

import typer

from daybook.cli.open_workspace import open_workspace
from daybook.cli.root_options import root_options
from daybook.cli.terminal import echo, echo_note


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
