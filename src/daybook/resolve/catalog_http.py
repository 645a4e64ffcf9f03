"""HTTP requests to catalogs, with limits for addresses, redirects, time and size."""

import http.client
import re
import socket
import ssl
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urljoin, urlsplit

from daybook.errors import DaybookError, Span

_PORTS = {"http": 80, "https": 443}
_LOOPBACK_HOSTS = ("localhost", "127.0.0.1", "::1")
_PRINTABLE = re.compile(r"[!-~]+")


@dataclass(frozen=True, slots=True)
class Endpoint:
    """An http or https address; `target` is its path with the query."""

    scheme: str
    host: str
    port: int
    target: str

    @property
    def authority(self) -> str:
        """`host:port`, as a host is written in `catalogs.allowed_hosts`; the scheme's own port is left out."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def is_private(self) -> bool:
        """Whether the connection is encrypted or stays on this machine."""
        return self.scheme == "https" or self.host in _LOOPBACK_HOSTS

    def __str__(self) -> str:
        # The query may contain secrets.
        return f"{self.scheme}://{self.authority}{self.target.partition('?')[0]}"


def parse_endpoint(url: str, *, span: Span | None = None) -> Endpoint:
    """The parts of an address, if it is one that Daybook calls at all."""
    if not _PRINTABLE.fullmatch(url) or "{" in url or "\\" in url:
        raise DaybookError("RESOLVE_060", span=span, problem="it is not a plain http or https address")
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise DaybookError("RESOLVE_060", span=span, problem="its host or port is malformed") from None
    if parts.scheme not in _PORTS:
        raise DaybookError("RESOLVE_060", span=span, problem="only http and https are called")
    if parts.username is not None or parts.password is not None:
        raise DaybookError("RESOLVE_060", span=span, problem="it has a user or password; use auth")
    if not parts.hostname:
        raise DaybookError("RESOLVE_060", span=span, problem="it has no host")
    if parts.fragment:
        raise DaybookError("RESOLVE_060", span=span, problem="it has a fragment")
    target = parts.path or "/"
    if parts.query:
        target += f"?{parts.query}"
    host = parts.hostname.removesuffix(".")
    return Endpoint(parts.scheme, host, _PORTS[parts.scheme] if port is None else port, target)


def check_host_allowed(endpoint: Endpoint, allowed_hosts: tuple[str, ...], *, span: Span | None = None) -> None:
    """Hosts are allowed by name in `daybook.yaml`, each with its port unless that is the scheme's own."""
    if endpoint.authority not in {host.lower() for host in allowed_hosts}:
        raise DaybookError("RESOLVE_061", span=span, host=endpoint.authority)


_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_METHOD_KEPT = frozenset({307, 308})


@dataclass(frozen=True, slots=True)
class HttpLimits:
    """`read_seconds` limits one read, `total_seconds` everything after the connection is open."""

    connect_seconds: float = 5.0
    read_seconds: float = 10.0
    total_seconds: float = 30.0
    max_bytes: int = 1024 * 1024
    max_redirects: int = 3


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """What is sent; headers may hold secrets and are not shown."""

    endpoint: Endpoint
    method: str
    headers: Mapping[str, str] = field(repr=False)
    body: bytes | None
    # The statuses of success.
    accepted: frozenset[int] = frozenset({200})


def fetch(request: HttpRequest, allowed_hosts: tuple[str, ...], limits: HttpLimits) -> bytes:
    """The body of a 200 answer; redirects are followed within the same host only."""
    endpoint = request.endpoint
    for _ in range(limits.max_redirects + 1):
        check_host_allowed(endpoint, allowed_hosts)
        answer = _send(endpoint, request, limits)
        if isinstance(answer, bytes):
            return answer
        endpoint = _redirect_endpoint(endpoint, answer, request.method)
    raise DaybookError("RESOLVE_065", endpoint=request.endpoint, problem=f"more than {limits.max_redirects} in a row")


@dataclass(frozen=True, slots=True)
class _Redirect:
    status: int
    target: str


def _redirect_endpoint(endpoint: Endpoint, redirect: _Redirect, method: str) -> Endpoint:
    if method != "GET" and redirect.status not in _METHOD_KEPT:
        raise DaybookError("RESOLVE_065", endpoint=endpoint, problem=f"a {method} was answered with {redirect.status}")
    base = f"{endpoint.scheme}://{endpoint.authority}{endpoint.target}"
    try:
        target = parse_endpoint(urljoin(base, redirect.target))
    except (DaybookError, ValueError):
        raise DaybookError("RESOLVE_065", endpoint=endpoint, problem="to no http or https address") from None
    is_upgrade = (endpoint.scheme, target.scheme) == ("http", "https")
    is_same_port = (endpoint.scheme, endpoint.port) == (target.scheme, target.port)
    if target.host != endpoint.host or not (is_upgrade or is_same_port):
        raise DaybookError("RESOLVE_065", endpoint=endpoint, problem="to another host or port")
    return target


def _send(endpoint: Endpoint, request: HttpRequest, limits: HttpLimits) -> bytes | _Redirect:
    """One request and its answer, on a connection of its own."""
    connection = _connection(endpoint, limits)
    hung_up = threading.Event()
    try:
        connection.connect()
        connection.sock.settimeout(limits.read_seconds)
        timer = threading.Timer(limits.total_seconds, _shut_down_socket, (connection.sock, hung_up))
        timer.daemon = True
        timer.start()
        try:
            connection.request(request.method, endpoint.target, request.body, dict(request.headers))
            with connection.getresponse() as response:
                answer = _read_response(endpoint, response, request.accepted, limits)
        finally:
            timer.cancel()
    except TimeoutError:
        raise DaybookError("RESOLVE_063", endpoint=endpoint) from None
    except (OSError, http.client.HTTPException) as error:
        if hung_up.is_set():
            raise DaybookError("RESOLVE_063", endpoint=endpoint) from None
        raise DaybookError("RESOLVE_062", endpoint=endpoint, problem=_describe_failure(error)) from error
    finally:
        connection.close()
    if hung_up.is_set():
        raise DaybookError("RESOLVE_063", endpoint=endpoint)
    return answer


def _connection(endpoint: Endpoint, limits: HttpLimits) -> http.client.HTTPConnection:
    if endpoint.scheme == "https":
        context = ssl.create_default_context()
        return http.client.HTTPSConnection(
            endpoint.host, endpoint.port, timeout=limits.connect_seconds, context=context
        )
    return http.client.HTTPConnection(endpoint.host, endpoint.port, timeout=limits.connect_seconds)


def _shut_down_socket(connected: socket.socket, hung_up: threading.Event) -> None:
    """End a request that a timeout per read would never end, since every read returns a few bytes."""
    hung_up.set()
    try:
        # The plain socket's own method: that of an SSL socket would change the object another thread is reading.
        socket.socket.shutdown(connected, socket.SHUT_RDWR)
    except OSError:
        return


def _read_response(
    endpoint: Endpoint, response: http.client.HTTPResponse, accepted: frozenset[int], limits: HttpLimits
) -> bytes | _Redirect:
    target = response.getheader("Location")
    if response.status in _REDIRECTS and target is not None:
        return _Redirect(response.status, target)
    if response.status not in accepted:
        raise DaybookError("RESOLVE_064", endpoint=endpoint, status=response.status)
    if response.length is not None and response.length > limits.max_bytes:
        raise DaybookError("RESOLVE_066", endpoint=endpoint, limit=limits.max_bytes)
    body = response.read(limits.max_bytes + 1)
    if len(body) > limits.max_bytes:
        raise DaybookError("RESOLVE_066", endpoint=endpoint, limit=limits.max_bytes)
    if response.length:
        raise http.client.IncompleteRead(b"", response.length)
    return body


def _describe_failure(error: Exception) -> str:
    match error:
        case ssl.SSLCertVerificationError():
            return f"its certificate is not valid: {error.verify_message}"
        case socket.gaierror():
            return "its host name is not known"
        case http.client.IncompleteRead():
            return "the answer ended early"
        case http.client.HTTPException():
            return "the answer is not HTTP"
        case OSError() if error.strerror:
            return error.strerror
        case _:
            return type(error).__name__
