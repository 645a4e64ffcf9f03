"""Serves a workspace: address, TLS, tokens, and uvicorn."""

import socket
import ssl
from collections.abc import Callable
from dataclasses import dataclass, replace
from ipaddress import ip_address
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

import uvicorn

from daybook.errors import DaybookError
from daybook.model.secrets import read_credential
from daybook.web.access import Site, check_tokens, new_token, server_names
from daybook.web.app import WorkspaceLoader, create_app
from daybook.workspace.open_workspace import OpenedWorkspace
from daybook.workspace.spark_session import ProgramSession

if TYPE_CHECKING:
    from daybook.engine.java.warm.engines import WarmEngines

_MOST_CONNECTIONS = 500


@dataclass(frozen=True, slots=True)
class ServeRequest:
    """What `daybook serve` was asked for."""

    host: str = "127.0.0.1"
    port: int = 8484
    allow_actions: bool = False
    is_open: bool = False
    tls_cert: Path | None = None
    tls_key: Path | None = None
    behind_proxy: bool = False


def open_site(workspace: OpenedWorkspace, request: ServeRequest) -> tuple[Site, str | None]:
    """How the server is reached, and the token that was made for it where `daybook.yaml` names none."""
    is_encrypted = _check_certificate(request)
    if not (_is_loopback(request.host) or is_encrypted or request.behind_proxy):
        raise DaybookError("WEB_001", host=request.host)
    settings = workspace.settings.serve
    tokens = {name: read_credential(reference, workspace.root) for name, reference in settings.tokens.items()}
    check_tokens(tokens)
    made = None if tokens else new_token()
    site = Site(
        tokens or {workspace.user: made or ""},
        request.port,
        server_names(request.host, settings.hosts),
        request.is_open,
        request.allow_actions,
        is_encrypted,
        request.behind_proxy,
    )
    return site, made


def serve(workspace: OpenedWorkspace, request: ServeRequest, site: Site, *, on_ready: Callable[[str], None]) -> None:
    """Serves until the process gets a signal to end; `on_ready` gets the address when it is open."""

    def warm_engines() -> "WarmEngines":
        # Java and Spark take a while to import, and most readers need neither.
        from daybook.workspace.warm_engine import engines_of

        return engines_of(workspace)

    session = ProgramSession(workspace.settings.engine, engines=warm_engines)
    workspace = replace(workspace, session=session)
    listening = _listen(request)
    port = listening.getsockname()[1]
    app = create_app(workspace, replace(site, port=port))
    loader: WorkspaceLoader = app.state.loader
    config = uvicorn.Config(
        app,
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        limit_concurrency=_MOST_CONNECTIONS,
        timeout_graceful_shutdown=3,
        ssl_certfile=request.tls_cert,
        ssl_keyfile=request.tls_key,
    )
    shown = f"[{request.host}]" if ":" in request.host else request.host
    on_ready(f"{'https' if site.is_encrypted else 'http'}://{shown}:{port}/")
    try:
        _Server(config, loader).run(sockets=[listening])
    finally:
        if loader.served is not None:
            loader.served.questions.close()
        session.close()


class _Server(uvicorn.Server):
    """Loads the workspace once it listens, and lets streams of events end by themselves when it is told to end."""

    def __init__(self, config: uvicorn.Config, loader: WorkspaceLoader) -> None:
        super().__init__(config)
        self._loader = loader

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._loader.begin()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        if self._loader.served is not None:
            self._loader.served.watch.is_ending = True
        super().handle_exit(sig, frame)


def _listen(request: ServeRequest) -> socket.socket:
    """The socket, opened here so that an address that cannot be used is an error with a code."""
    host = request.host.strip("[]")
    try:
        family = socket.getaddrinfo(host, request.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0][0]
        return socket.create_server((host, request.port), family=family, backlog=128)
    except (OSError, OverflowError) as failure:
        reason = (failure.strerror if isinstance(failure, OSError) else None) or str(failure)
        raise DaybookError("WEB_002", host=request.host, port=request.port, reason=reason) from failure


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def _check_certificate(request: ServeRequest) -> bool:
    if request.tls_cert is None and request.tls_key is None:
        return False
    if request.tls_cert is None or request.tls_key is None:
        raise DaybookError("WEB_003", reason="one of --tls-cert and --tls-key is missing")
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(request.tls_cert, request.tls_key)
    except (OSError, ssl.SSLError) as failure:
        raise DaybookError("WEB_003", reason=failure.strerror or str(failure)) from failure
    return True
