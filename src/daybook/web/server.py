"""Serves a workspace: address, TLS, tokens, uvicorn, the login, and the application that loads the workspace."""

import asyncio
import socket
import ssl
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from ipaddress import ip_address
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

import uvicorn
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import Receive, Scope, Send

from daybook.errors import DaybookError
from daybook.model.secrets import read_credential
from daybook.pictures.shown_values import NEGATIVES
from daybook.web.access import (
    SESSION_SECONDS,
    Access,
    Guard,
    Site,
    check_csrf,
    check_tokens,
    local_path,
    new_token,
    server_names,
)
from daybook.web.connections import MOST_CONNECTIONS, PageProtocol, raise_file_limit
from daybook.web.page_templates import NEGATIVES_COOKIE, WEB_FOLDER, Templates
from daybook.web.personal_tokens import PersonalTokens
from daybook.web.problems import API, Failures, problem_handlers, status_of
from daybook.workspace.open_workspace import OpenedWorkspace
from daybook.workspace.spark_session import ProgramSession

if TYPE_CHECKING:
    from fastapi import FastAPI

    from daybook.engine.java.warm_engines import WarmEngines
    from daybook.web.served import Served


_YEAR_SECONDS = 365 * 24 * 3600
_MOST_FIELDS = 10


def login_routes(access: Access, templates: Templates) -> list[Route]:
    """Plain routes, which are there before the rest of the server is loaded."""

    async def show_form(request: Request) -> Response:
        target = local_path(request.query_params.get("next"))
        return templates.page(request, "login.html", title="Log in", next=target, problem=None)

    async def log_in(request: Request) -> Response:
        target = local_path(await _field(request, "next"))
        token = await _field(request, "token") or ""
        try:
            holder = await access.holder_of(token.strip(), access.address(request))
        except DaybookError as refusal:
            status = status_of(refusal)
            return templates.page(
                request, "login.html", http_status=status, title="Log in", next=target, problem=refusal
            )
        if (session_id := request.cookies.get(access.site.cookie)) is not None:
            access.log_out(session_id)
        answer = RedirectResponse(target, 303)
        answer.set_cookie(
            access.site.cookie,
            access.log_in(holder),
            max_age=SESSION_SECONDS,
            httponly=True,
            samesite="strict",
            secure=access.site.is_secure,
        )
        return answer

    async def log_out(request: Request) -> Response:
        check_csrf(request.state.visitor, await _field(request, "csrf"))
        if (session_id := request.cookies.get(access.site.cookie)) is not None:
            access.log_out(session_id)
        answer = RedirectResponse("/login", 303)
        answer.delete_cookie(access.site.cookie)
        return answer

    async def prefer(request: Request) -> Response:
        answer = RedirectResponse(local_path(await _field(request, "next")), 303)
        negatives = await _field(request, "negatives") or ""
        if negatives in NEGATIVES:
            answer.set_cookie(
                NEGATIVES_COOKIE,
                negatives,
                max_age=_YEAR_SECONDS,
                samesite="strict",
                secure=access.site.is_secure,
            )
        return answer

    return [
        Route("/login", show_form, methods=["GET"]),
        Route("/login", log_in, methods=["POST"]),
        Route("/logout", log_out, methods=["POST"]),
        Route("/preferences", prefer, methods=["POST"]),
    ]


async def _field(request: Request, name: str) -> str | None:
    """A field of a form; files are none."""
    form = await request.form(max_fields=_MOST_FIELDS, max_files=0)
    value = form.get(name)
    return value if isinstance(value, str) else None


class WorkspaceLoader:
    """Loads the pages of a workspace once, and its API after the first page; requests to them wait."""

    def __init__(self, workspace: OpenedWorkspace, access: Access, templates: Templates) -> None:
        self._workspace = workspace
        self._access = access
        self._templates = templates
        self._lock = threading.RLock()
        self._loaded: FastAPI | None = None
        self._api: FastAPI | None = None

    def load(self) -> "FastAPI":
        """The pages."""
        from daybook.web.workspace_app import create_pages

        with self._lock:
            if self._loaded is None:
                self._loaded = create_pages(self._workspace, self._access, self._templates)
            return self._loaded

    def load_api(self) -> "FastAPI":
        from daybook.web.workspace_app import create_api

        with self._lock:
            if self._api is None:
                self._api = create_api(self.load().state.served)
            return self._api

    def begin(self) -> None:
        """Loads in the background; a failure is the answer to the next request."""

        def load() -> None:
            served: Served = self.load().state.served
            # A large close takes a while to read, and who opens its page waits for the rest of it alone.
            served.prepare()

        threading.Thread(target=load, name="daybook-load", daemon=True).start()

    @property
    def served(self) -> "Served | None":
        """What the requests share, once it is loaded."""
        return self._loaded.state.served if self._loaded is not None else None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["path"].startswith(f"{API}/"):
            api = self._api if self._api is not None else await asyncio.to_thread(self.load_api)
            await api(scope, receive, send)
            return
        pages = self._loaded if self._loaded is not None else await asyncio.to_thread(self.load)
        await pages(scope, receive, send)
        if self._api is None:
            # A page asks the API for what happens next; the first answer did not have to wait for it.
            threading.Thread(target=self.load_api, name="daybook-load-api", daemon=True).start()


def create_app(workspace: OpenedWorkspace, site: Site) -> Starlette:
    """The pages and the API of a workspace; Spark is not started before rows must be computed."""
    access = Access(site, people=PersonalTokens(workspace))
    templates = Templates(workspace, access)
    loader = WorkspaceLoader(workspace, access, templates)
    app = Starlette(
        routes=[
            Route("/health", _health),
            *login_routes(access, templates),
            Mount("/static", StaticFiles(directory=WEB_FOLDER / "static", packages=[("daybook.pictures", "static")])),
        ],
        middleware=[Middleware(Guard, access=access), Middleware(Failures)],
        exception_handlers=problem_handlers(),
    )
    app.router.redirect_slashes = False
    app.router.default = loader
    app.state.templates = templates
    app.state.loader = loader
    return app


async def _health(request: Request) -> Response:
    return JSONResponse({"status": "ok"})


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
    tokens = {name: read_credential(reference, workspace.root).strip() for name, reference in settings.tokens.items()}
    check_tokens(tokens)
    token = None if tokens else new_token()
    site = Site(
        tokens or {workspace.user: token or ""},
        request.port,
        server_names(request.host, settings.hosts),
        request.is_open,
        request.allow_actions,
        is_encrypted,
        request.behind_proxy,
    )
    return site, token


def server_config(app: Starlette, request: ServeRequest) -> uvicorn.Config:
    """How uvicorn answers; `connections` adds the limits that it does not have."""
    return uvicorn.Config(
        app,
        http=PageProtocol,
        loop="daybook.web.connections:PageLoop",
        ws="none",
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        limit_concurrency=MOST_CONNECTIONS,
        timeout_graceful_shutdown=3,
        ssl_certfile=request.tls_cert,
        ssl_keyfile=request.tls_key,
    )


def serve(workspace: OpenedWorkspace, request: ServeRequest, site: Site, *, on_ready: Callable[[str], None]) -> None:
    """Serves until the process gets a signal to end; `on_ready` gets the address when it is open."""

    def warm_engines() -> "WarmEngines":
        # Java and Spark take a while to import, and most readers need neither.
        from daybook.workspace.spark_session import engines_of

        return engines_of(workspace)

    session = ProgramSession(workspace.settings.engine, engines=warm_engines)
    workspace = replace(workspace, session=session)
    listening = _listen(request)
    port = listening.getsockname()[1]
    app = create_app(workspace, replace(site, port=port))
    loader: WorkspaceLoader = app.state.loader
    raise_file_limit()
    config = server_config(app, request)
    shown = f"[{request.host}]" if ":" in request.host else request.host
    on_ready(f"{'https' if site.is_encrypted else 'http'}://{shown}:{port}/")
    try:
        _Server(config, loader).run(sockets=[listening])
    finally:
        if loader.served is not None:
            loader.served.questions.close()
        session.close()


class _Server(uvicorn.Server):
    """Loads the workspace once it listens, and lets streams of events end by themselves when it is stopped."""

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

    def refuse_password() -> str:
        # Without this function OpenSSL would wait for somebody to type it.
        raise DaybookError("WEB_003", reason="its private key is protected by a password")

    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(request.tls_cert, request.tls_key, refuse_password)
    except (OSError, ssl.SSLError) as failure:
        raise DaybookError("WEB_003", reason=failure.strerror or str(failure)) from failure
    return True
