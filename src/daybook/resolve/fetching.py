"""One HTTP request with limits on everything: hosts, redirects, time, size."""

import http.client
import socket
import ssl
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urljoin

from daybook.errors import DaybookError
from daybook.resolve.endpoint import Endpoint, check_allowed, parse_endpoint

_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_METHOD_KEPT = frozenset({307, 308})


@dataclass(frozen=True, slots=True)
class HttpLimits:
    """`read_seconds` is for one silence, `total_seconds` for everything after the connection stands."""

    connect_seconds: float = 5.0
    read_seconds: float = 10.0
    total_seconds: float = 30.0
    max_bytes: int = 1024 * 1024
    max_redirects: int = 3


@dataclass(frozen=True, slots=True)
class Request:
    """What is sent; headers may hold secrets and are not shown."""

    endpoint: Endpoint
    method: str
    headers: Mapping[str, str] = field(repr=False)
    body: bytes | None


def fetch(request: Request, allowed_hosts: tuple[str, ...], limits: HttpLimits) -> bytes:
    """The body of a 200 answer; redirects are followed within the same host only."""
    endpoint = request.endpoint
    for _ in range(limits.max_redirects + 1):
        check_allowed(endpoint, allowed_hosts)
        answer = _exchange(endpoint, request, limits)
        if isinstance(answer, bytes):
            return answer
        endpoint = _redirected(endpoint, answer, request.method)
    raise DaybookError("RESOLVE_065", endpoint=request.endpoint, problem=f"more than {limits.max_redirects} in a row")


@dataclass(frozen=True, slots=True)
class _Redirect:
    status: int
    target: str


def _redirected(endpoint: Endpoint, redirect: _Redirect, method: str) -> Endpoint:
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


def _exchange(endpoint: Endpoint, request: Request, limits: HttpLimits) -> bytes | _Redirect:
    """One request and its answer, on a connection of its own."""
    connection = _connection(endpoint, limits)
    hung_up = threading.Event()
    try:
        connection.connect()
        connection.sock.settimeout(limits.read_seconds)
        timer = threading.Timer(limits.total_seconds, _hang_up, (connection.sock, hung_up))
        timer.daemon = True
        timer.start()
        try:
            connection.request(request.method, endpoint.target, request.body, dict(request.headers))
            with connection.getresponse() as response:
                answer = _read(endpoint, response, limits)
        finally:
            timer.cancel()
    except TimeoutError:
        raise DaybookError("RESOLVE_063", endpoint=endpoint) from None
    except (OSError, http.client.HTTPException) as error:
        if hung_up.is_set():
            raise DaybookError("RESOLVE_063", endpoint=endpoint) from None
        raise DaybookError("RESOLVE_062", endpoint=endpoint, problem=_in_words(error)) from error
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


def _hang_up(connected: socket.socket, hung_up: threading.Event) -> None:
    """End a conversation that a timeout per read would never end, since every read brings a little."""
    hung_up.set()
    try:
        # The plain socket's own method: that of an SSL socket would change the object another thread is reading.
        socket.socket.shutdown(connected, socket.SHUT_RDWR)
    except OSError:
        return


def _read(endpoint: Endpoint, response: http.client.HTTPResponse, limits: HttpLimits) -> bytes | _Redirect:
    target = response.getheader("Location")
    if response.status in _REDIRECTS and target is not None:
        return _Redirect(response.status, target)
    if response.status != 200:
        raise DaybookError("RESOLVE_064", endpoint=endpoint, status=response.status)
    if response.length is not None and response.length > limits.max_bytes:
        raise DaybookError("RESOLVE_066", endpoint=endpoint, limit=limits.max_bytes)
    body = response.read(limits.max_bytes + 1)
    if len(body) > limits.max_bytes:
        raise DaybookError("RESOLVE_066", endpoint=endpoint, limit=limits.max_bytes)
    if response.length:
        raise http.client.IncompleteRead(b"", response.length)
    return body


def _in_words(error: Exception) -> str:
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
