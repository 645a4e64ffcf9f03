"""Asks a catalog for the locations of a table, by HTTP requests with limits for addresses, redirects, time and size."""

import http.client
import json
import re
import socket
import ssl
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlencode, urljoin, urlsplit

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from daybook.errors import DaybookError, Span
from daybook.model.calendar import Period
from daybook.model.datasource import CatalogStrategy
from daybook.model.declaration import Id, NonEmptyText
from daybook.model.secrets import is_secret_name, is_secret_reference, read_credential
from daybook.resolve.paths import render_template, template_errors

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


_MAX_SHOWN_FINDINGS = 3
_MAX_LOCATIONS = 10_000


class _AnswerModel(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class CatalogLocation(_AnswerModel):
    """A path or a table of a data source the workspace knows; never a bare address."""

    datasource_id: Id
    path: NonEmptyText | None = None
    table: NonEmptyText | None = None
    schema_name: NonEmptyText | None = Field(default=None, alias="schema")
    # The identifier of the asked period, when all of this location's rows are of that period.
    period: NonEmptyText | None = None
    delta_version: Annotated[int, Field(ge=0)] | None = None


class CatalogAnswer(_AnswerModel):
    locations: tuple[CatalogLocation, ...]


def parse_answer(body: bytes, endpoint: Endpoint, period: str) -> tuple[CatalogLocation, ...]:
    """The locations of an answer for one period, or what is wrong with it."""
    try:
        answer = CatalogAnswer.model_validate_json(body)
    except ValidationError as error:
        findings = error.errors(include_url=False, include_context=False, include_input=False)
        if any(finding["type"] == "json_invalid" for finding in findings):
            raise DaybookError("RESOLVE_067", endpoint=endpoint) from None
        spelled = [
            f"{'.'.join(str(step) for step in finding['loc']) or 'answer'}: {finding['msg']}"
            for finding in findings[:_MAX_SHOWN_FINDINGS]
        ]
        raise _answer_error(endpoint, "; ".join(spelled)) from None
    if not answer.locations:
        raise DaybookError("RESOLVE_069", endpoint=endpoint, period=period)
    if len(answer.locations) > _MAX_LOCATIONS:
        raise _answer_error(endpoint, f"{len(answer.locations)} locations, at most {_MAX_LOCATIONS} are read")
    for index, location in enumerate(answer.locations):
        if (location.path is None) == (location.table is None):
            raise _answer_error(endpoint, f"locations.{index}: either path or table is needed")
        if location.path is not None and location.schema_name is not None:
            raise _answer_error(endpoint, f"locations.{index}: schema goes with table")
        if location.period is not None and location.period != period:
            raise _answer_error(endpoint, f"locations.{index}.period: the period asked for is {period}")
    return answer.locations


def _answer_error(endpoint: Endpoint, problem: str) -> DaybookError:
    return DaybookError("RESOLVE_068", endpoint=endpoint, problem=problem)


_HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_HEADER_VALUE = re.compile(r"[\t -~]*")
# Daybook sets these itself.
_OWN_HEADERS = frozenset(
    {"host", "connection", "content-length", "content-type", "transfer-encoding", "accept", "accept-encoding"}
)


def strategy_errors(
    strategy: CatalogStrategy, allowed_hosts: tuple[str, ...] | None, span: Span | None
) -> Iterator[DaybookError]:
    """What is wrong with a strategy before anything is called; hosts are checked where the allowed ones are known."""
    try:
        endpoint = parse_endpoint(strategy.endpoint, span=span)
        if allowed_hosts is not None:
            check_host_allowed(endpoint, allowed_hosts, span=span)
        if not endpoint.is_private and (strategy.auth or any(map(is_secret_reference, strategy.headers.values()))):
            yield DaybookError("RESOLVE_071", span=span, endpoint=endpoint)
    except DaybookError as error:
        yield error
    for name, value in strategy.headers.items():
        if name.lower() in _OWN_HEADERS or (strategy.auth and name.lower() == "authorization"):
            yield DaybookError("RESOLVE_072", span=span, name=name, problem="Daybook sets it itself")
        elif not _HEADER_NAME.fullmatch(name) or not _HEADER_VALUE.fullmatch(value):
            yield DaybookError("RESOLVE_072", span=span, name=name, problem="it is not plain text of one line")
        elif (is_secret_name(name) or name.lower() == "cookie") and not is_secret_reference(value):
            yield DaybookError("RESOLVE_070", span=span, name=name)
    for name, value in strategy.params.items():
        if not _is_sendable(value, is_nested=strategy.method == "POST"):
            yield DaybookError("RESOLVE_073", span=span, name=name)
        for text in _iterate_texts(value):
            yield from template_errors(text, span)


def request_locations(
    strategy: CatalogStrategy,
    period: Period,
    table_name: str,
    *,
    root: Path,
    allowed_hosts: tuple[str, ...],
    limits: HttpLimits,
) -> tuple[CatalogLocation, ...]:
    """The locations the endpoint names for a table and a period."""
    for error in strategy_errors(strategy, allowed_hosts, None):
        raise error
    endpoint = parse_endpoint(strategy.endpoint)
    request = _build_request(strategy, endpoint, _request_parameters(strategy, period, table_name), root)
    return parse_answer(fetch(request, allowed_hosts, limits), endpoint, period.identifier)


def _request_parameters(strategy: CatalogStrategy, period: Period, table_name: str) -> Mapping[str, Any]:
    """The strategy's own, or else all there is to know."""
    if strategy.params:
        return {name: _render_value(value, period, table_name) for name, value in strategy.params.items()}
    return {
        "table": table_name,
        "period": period.identifier,
        "level": period.level,
        "start_date": period.start_date.isoformat(),
        "end_date": period.end_date.isoformat(),
    }


def _build_request(
    strategy: CatalogStrategy, endpoint: Endpoint, parameters: Mapping[str, Any], root: Path
) -> HttpRequest:
    headers = {"Accept": "application/json", "Accept-Encoding": "identity", "Connection": "close"}
    headers |= {name: _header_value(value, name, root) for name, value in strategy.headers.items()}
    if strategy.auth is not None:
        auth = strategy.auth if " " in strategy.auth else f"Bearer {strategy.auth}"
        headers["Authorization"] = _header_value(auth, "Authorization", root)
    if strategy.method == "POST":
        headers["Content-Type"] = "application/json"
        return HttpRequest(endpoint, "POST", headers, json.dumps(parameters, default=float).encode())
    texts = {name: json.dumps(value) if isinstance(value, bool) else str(value) for name, value in parameters.items()}
    joint = "&" if "?" in endpoint.target else "?"
    target = f"{endpoint.target}{joint}{urlencode(texts)}"
    return HttpRequest(Endpoint(endpoint.scheme, endpoint.host, endpoint.port, target), "GET", headers, None)


def _header_value(value: str, name: str, root: Path) -> str:
    """A header's value, with the secret in the place of a reference such as `Bearer env://TOKEN`."""
    if not is_secret_reference(value):
        return value
    kind, space, reference = value.rpartition(" ")
    secret = read_credential(reference, root)
    if not _HEADER_VALUE.fullmatch(secret):
        raise DaybookError("RESOLVE_072", name=name, problem=f"what {reference} holds is not plain text of one line")
    return f"{kind}{space}{secret}"


def _render_value(value: Any, period: Period, table_name: str) -> Any:
    match value:
        case str():
            return render_template(value, period, table_name)
        case list() | tuple():
            return [_render_value(item, period, table_name) for item in value]
        case dict():
            return {key: _render_value(item, period, table_name) for key, item in value.items()}
        case _:
            return value


def _iterate_texts(value: Any) -> Iterator[str]:
    match value:
        case str():
            yield value
        case list() | tuple():
            for item in value:
                yield from _iterate_texts(item)
        case dict():
            for item in value.values():
                yield from _iterate_texts(item)
        case _:
            pass


def _is_sendable(value: Any, *, is_nested: bool) -> bool:
    match value:
        case str() | bool() | int() | Decimal():
            return True
        case list() | tuple():
            return is_nested and all(_is_sendable(item, is_nested=True) for item in value)
        case dict():
            return is_nested and all(
                isinstance(key, str) and _is_sendable(item, is_nested=True) for key, item in value.items()
            )
        case _:
            return is_nested and value is None
