"""Access control: tokens, logins, delays after wrong tokens, and the guard of every request."""

import asyncio
import hashlib
import platform
import re
import secrets
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from urllib.parse import quote, urlencode

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from daybook.errors import DaybookError
from daybook.web.personal_tokens import PersonalTokens, looks_like_token
from daybook.web.problems import answer_problem, is_api
from daybook.web.request_limits import RequestLimits

SESSION_SECONDS = 12 * 3600
_MOST_SESSIONS = 10_000
_MOST_ADDRESSES = 10_000
_MOST_WRONG = 10
_WINDOW_SECONDS = 60.0
_SECONDS_PER_CHECK = 0.1
_MOST_WAITING_TOKENS = 100
_LEAST_TOKEN_LENGTH = 16

MOST_BODY_BYTES = 64 * 1024
MOST_ADDRESS_CHARACTERS = 8 * 1024

PUBLIC_PATHS = ("/health", "/login")
STATIC_FOLDER = "/static/"
_HOST = re.compile(r"(?:\[(?P<ipv6>[0-9a-f:.]+)\]|(?P<name>[a-z0-9._-]+))(?::[0-9]{1,5})?")
_SAFE_METHODS = ("GET", "HEAD")

_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
_HEADERS = {
    "Content-Security-Policy": _POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}


@dataclass(frozen=True, slots=True)
class Site:
    """How a server is reached and what it allows; `tokens` are secrets by name."""

    tokens: Mapping[str, str]
    port: int = 8484
    hosts: frozenset[str] = frozenset({"127.0.0.1", "localhost", "::1"})
    is_open: bool = False
    allows_actions: bool = False
    is_encrypted: bool = False
    is_behind_proxy: bool = False

    @property
    def is_secure(self) -> bool:
        """Whether browsers reach it over TLS."""
        return self.is_encrypted or self.is_behind_proxy

    @property
    def cookie(self) -> str:
        """Cookies know no ports, so that two servers of one machine need two names."""
        return f"daybook_{self.port}"


@dataclass(frozen=True, slots=True)
class Visitor:
    """A user who may read; without a name it is any user, with `--open`. `csrf` is set for logins by the form."""

    name: str | None
    csrf: str | None = None
    # The id of the personal token of the visitor; tokens of groups prove no identity.
    login: str | None = None


@dataclass(frozen=True, slots=True)
class Reader:
    """One who shares the server with others: users of one token are told apart by login or address."""

    visitor: Visitor
    address: str


def check_tokens(tokens: Mapping[str, str]) -> None:
    for name, token in tokens.items():
        if len(token.strip()) < _LEAST_TOKEN_LENGTH:
            raise DaybookError("WEB_004", name=name, least=_LEAST_TOKEN_LENGTH)


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


@dataclass(slots=True)
class _WrongTokens:
    """When an address sent wrong tokens, when its next unknown token is checked, and how many of them wait."""

    times: deque[float] = field(default_factory=deque)
    next_check: float = 0.0
    waiting: int = 0


class TokenPace:
    """Slows down guessing: after many wrong tokens, unknown ones of the same address are checked one after the other.

    A right token is checked like any other, so it is never refused because somebody else guesses.
    """

    def __init__(
        self, clock: Callable[[], float] = time.monotonic, sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    ) -> None:
        self._clock = clock
        self._sleep = sleep
        self._addresses: OrderedDict[str, _WrongTokens] = OrderedDict()

    async def wait(self, address: str) -> None:
        """Until an unknown token of this address may be checked; WEB_007 where too many wait already."""
        wrong = self._addresses.get(address)
        if wrong is None or not self._has_many(wrong):
            return
        if wrong.waiting >= _MOST_WAITING_TOKENS:
            raise DaybookError("WEB_007", seconds=int(_MOST_WAITING_TOKENS * _SECONDS_PER_CHECK) + 1)
        now = self._clock()
        wrong.next_check = max(wrong.next_check, now) + _SECONDS_PER_CHECK
        wrong.waiting += 1
        try:
            await self._sleep(wrong.next_check - now)
        finally:
            wrong.waiting -= 1

    def count_wrong(self, address: str) -> None:
        wrong = self._addresses.setdefault(address, _WrongTokens())
        self._addresses.move_to_end(address)
        wrong.times.append(self._clock())
        while len(wrong.times) > _MOST_WRONG:
            wrong.times.popleft()
        while len(self._addresses) > _MOST_ADDRESSES:
            self._addresses.popitem(last=False)

    def _has_many(self, wrong: _WrongTokens) -> bool:
        return len(wrong.times) >= _MOST_WRONG and wrong.times[0] > self._clock() - _WINDOW_SECONDS


@dataclass(slots=True)
class _Session:
    visitor: Visitor
    ends_at: float


@dataclass(slots=True)
class Access:
    """The tokens of a server and who has logged in; sessions end with the server."""

    site: Site
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    people: PersonalTokens = field(default_factory=PersonalTokens)
    pace: TokenPace = field(init=False)
    # Right tokens and the addresses they came from: these never wait.
    _used: "OrderedDict[tuple[str, bytes], None]" = field(default_factory=OrderedDict)
    _sessions: "OrderedDict[bytes, _Session]" = field(default_factory=OrderedDict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self.pace = TokenPace(self.clock, self.sleep)

    async def holder_of(self, token: str, address: str) -> Visitor:
        """Who has a token: a person, or one of the names of `daybook.yaml`, compared in constant time."""
        if looks_like_token(token):
            return await self._person_of(token, address)
        return Visitor(await self._name_of(token, address))

    async def _person_of(self, token: str, address: str) -> Visitor:
        use = (address, _digest(token))
        if use not in self._used:
            await self.pace.wait(address)
        person = await asyncio.to_thread(self.people.check, token)
        if person is None:
            self.pace.count_wrong(address)
            raise DaybookError("WEB_006")
        self._remember(use)
        return Visitor(person.name, login=person.token_id)

    async def _name_of(self, token: str, address: str) -> str:
        digest = _digest(token)
        names = [name for name, text in self.site.tokens.items() if secrets.compare_digest(digest, _digest(text))]
        use = (address, digest)
        if not names or use not in self._used:
            await self.pace.wait(address)
        if not names:
            self.pace.count_wrong(address)
            raise DaybookError("WEB_006")
        self._remember(use)
        return names[0]

    def _remember(self, use: tuple[str, bytes]) -> None:
        self._used[use] = None
        self._used.move_to_end(use)
        while len(self._used) > _MOST_ADDRESSES:
            self._used.popitem(last=False)

    def log_in(self, holder: Visitor) -> str:
        """A new session, by its secret id."""
        session_id = secrets.token_urlsafe(32)
        visitor = replace(holder, csrf=secrets.token_urlsafe(24))
        session = _Session(visitor, self.clock() + SESSION_SECONDS)
        with self._lock:
            self._sessions[_digest(session_id)] = session
            while len(self._sessions) > _MOST_SESSIONS:
                self._sessions.popitem(last=False)
        return session_id

    def log_out(self, session_id: str) -> None:
        with self._lock:
            self._sessions.pop(_digest(session_id), None)

    def session(self, session_id: str | None) -> Visitor | None:
        if session_id is None:
            return None
        with self._lock:
            entry = self._sessions.get(_digest(session_id))
            if entry is not None and entry.ends_at <= self.clock():
                del self._sessions[_digest(session_id)]
                return None
            return entry.visitor if entry is not None else None

    async def visitor(self, request: Request) -> Visitor | None:
        """Who asks; WEB_006 for a wrong token, None without any."""
        kind, _, token = request.headers.get("authorization", "").partition(" ")
        if kind.lower() == "bearer" and token:
            return await self.holder_of(token.strip(), self.address(request))
        visitor = self.session(request.cookies.get(self.site.cookie))
        if visitor is not None and visitor.login is not None:
            is_valid = await asyncio.to_thread(self.people.is_valid, visitor.login)
            visitor = visitor if is_valid else None
        return visitor or (Visitor(None) if self.site.is_open else None)

    def address(self, request: Request) -> str:
        """The address of the client; a proxy adds it at the end of a header."""
        forwarded = request.headers.get("x-forwarded-for", "") if self.site.is_behind_proxy else ""
        peer = request.client.host if request.client else "unknown"
        return forwarded.rpartition(",")[2].strip() or peer


def check_csrf(visitor: Visitor, sent: str | None) -> None:
    """Forms of a login carry its value; a bearer token is never sent by a browser of itself."""
    if visitor.csrf is not None and not secrets.compare_digest(_digest(visitor.csrf), _digest(sent or "")):
        raise DaybookError("WEB_010")


# As the files have ids; a name of a file, which use cases take too, is none.
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
_FILE_ENDINGS = (".yaml", ".yml", ".json")


def checked_project_id(text: str) -> str:
    """The id of a project; the address names no files."""
    if _ID.fullmatch(text) is None or text.endswith(_FILE_ENDINGS):
        raise DaybookError("WEB_015", argument="project", reason="it is not the id of a project")
    return text


def local_path(text: str | None) -> str:
    """Where to go after the login: a path of this server, whatever is written there."""
    if text and text.startswith("/") and not text.startswith(("//", "/\\")) and text.isprintable() and "\\" not in text:
        return text
    return "/"


def address_with(path: str, values: Iterable[tuple[str, str]] | Mapping[str, str]) -> str:
    query = urlencode(list(values.items()) if isinstance(values, Mapping) else list(values))
    return f"{path}?{query}" if query else path


class Guard:
    """Every request passes here first: its name, size, origin and visitor are checked, and its answer gets headers."""

    def __init__(self, app: ASGIApp, access: Access) -> None:
        self._app = app
        self._access = access
        self._limits = RequestLimits()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return
        request = Request(scope, receive)

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                self._add_headers(scope["path"], MutableHeaders(scope=message))
            await send(message)

        async with AsyncExitStack() as turns:
            send_answer: Send = send_with_headers
            try:
                visitor = await self._admit(request)
                reader = Reader(visitor, self._access.address(request))
                if not _is_public(request.url.path):
                    end_turn = await turns.enter_async_context(self._limits.turn(reader))
                    send_answer = self._send_to_login(request, visitor, send_with_headers, end_turn)
            except DaybookError as refusal:
                await self._refusal(request, refusal)(scope, receive, send_with_headers)
                return
            state = scope.setdefault("state", {})
            state["visitor"], state["reader"] = visitor, reader
            await self._app(scope, _limited(receive, request.headers), send_answer)

    def _send_to_login(self, request: Request, visitor: Visitor, send: Send, end_turn: Callable[[], None]) -> Send:
        """End the turn with the first message, and a stream of events with the login that it belongs to."""
        session_id = request.cookies.get(self._access.site.cookie) if visitor.csrf is not None else None
        is_stream = has_ended = False

        async def send_to_login(message: Message) -> None:
            nonlocal is_stream, has_ended
            end_turn()
            if message["type"] == "http.response.start":
                content = Headers(raw=message["headers"]).get("content-type", "")
                is_stream = session_id is not None and content.startswith("text/event-stream")
            elif is_stream and not has_ended and self._access.session(session_id) is None:
                has_ended = True
                await send({"type": "http.response.body", "body": b"", "more_body": False})
            if not has_ended:
                await send(message)

        return send_to_login

    async def _admit(self, request: Request) -> Visitor:
        site, scope = self._access.site, request.scope
        if "transfer-encoding" in request.headers and "content-length" in request.headers:
            # A proxy may read another end of the request than this server does.
            raise DaybookError("WEB_019")
        host = _host_name(request.headers.get("host", ""))
        if host not in site.hosts:
            raise DaybookError("WEB_008", host=host[:100] or "nothing")
        if len(scope["raw_path"]) + len(scope["query_string"]) > MOST_ADDRESS_CHARACTERS:
            raise DaybookError("WEB_011", limit=MOST_ADDRESS_CHARACTERS, unit="characters")
        if "\0" in scope["path"]:
            raise DaybookError("WEB_013", path="an address with a NUL character")
        length = request.headers.get("content-length", "0")
        if not length.isdigit() or int(length) > MOST_BODY_BYTES:
            raise DaybookError("WEB_011", limit=MOST_BODY_BYTES, unit="bytes")
        if request.method not in _SAFE_METHODS:
            _check_origin(request, is_secure=site.is_secure)
        if _is_public(request.url.path):
            return Visitor(None)
        visitor = await self._access.visitor(request)
        if visitor is None:
            raise DaybookError("WEB_005")
        return visitor

    def _refusal(self, request: Request, refusal: DaybookError) -> Response:
        is_page = request.method in _SAFE_METHODS and not is_api(request.url.path)
        if refusal.code == "WEB_005" and is_page:
            address = request.url.path + (f"?{request.url.query}" if request.url.query else "")
            return RedirectResponse(f"/login?next={quote(address, safe='')}" if address != "/" else "/login", 303)
        return answer_problem(request, refusal)

    def _add_headers(self, path: str, headers: MutableHeaders) -> None:
        for name, value in _HEADERS.items():
            headers[name] = value
        if self._access.site.is_secure:
            headers["Strict-Transport-Security"] = "max-age=31536000"
        # Figures stay in no cache; what never changes may be asked for again by its tag.
        if "cache-control" not in headers and not path.startswith(STATIC_FOLDER):
            headers["Cache-Control"] = "private, no-cache" if "etag" in headers else "no-store"


def _is_public(path: str) -> bool:
    return path in PUBLIC_PATHS or path.startswith(STATIC_FOLDER)


def _host_name(header: str) -> str:
    """Without the port; an IPv6 address is in brackets."""
    parts = _HOST.fullmatch(header.strip().lower())
    return parts["ipv6"] or parts["name"] if parts else ""


def _check_origin(request: Request, *, is_secure: bool) -> None:
    """What changes something must come from a page of this server, or from no page at all."""
    origin = request.headers.get("origin")
    site = request.headers.get("sec-fetch-site")
    expected = f"{'https' if is_secure else 'http'}://{request.headers.get('host', '').lower()}"
    if origin is not None:
        if origin.lower() != expected:
            raise DaybookError("WEB_009", origin=origin[:100])
    elif site is not None and site != "same-origin":
        raise DaybookError("WEB_009", origin=site[:100])
    elif "cookie" in request.headers and site is None:
        raise DaybookError("WEB_009", origin="unknown")


def _limited(receive: Receive, headers: Headers) -> Receive:
    """Bodies without a length are cut off where they become too large."""
    seen = 0

    async def limited() -> Message:
        nonlocal seen
        message = await receive()
        if message["type"] == "http.request":
            seen += len(message.get("body", b""))
            if seen > MOST_BODY_BYTES:
                raise DaybookError("WEB_011", limit=MOST_BODY_BYTES, unit="bytes")
        return message

    return limited


def server_names(host: str, configured: Iterable[str]) -> frozenset[str]:
    """The names under which requests may reach a server."""
    names = {host.lower().strip("[]"), platform.node().lower(), *(name.lower() for name in configured)}
    return frozenset((names | {"127.0.0.1", "localhost", "::1"}) - {"", "0.0.0.0", "::"})


def new_token() -> str:
    return secrets.token_urlsafe(24)
