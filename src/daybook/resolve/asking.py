"""Asking a catalog endpoint where the data of a table lies."""

import json
import re
from collections.abc import Iterator, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from daybook.errors import DaybookError, Span
from daybook.model.credential import read_credential
from daybook.model.period import Period
from daybook.model.resolver import CatalogStrategy
from daybook.model.secrets import is_reference, is_secret_name
from daybook.resolve.catalog_answer import AnsweredLocation, read_answer
from daybook.resolve.endpoint import Endpoint, check_allowed, parse_endpoint
from daybook.resolve.fetching import HttpLimits, Request, fetch
from daybook.resolve.template import check_template, render_template

_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_VALUE = re.compile(r"[\t -~]*")
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
            check_allowed(endpoint, allowed_hosts, span=span)
        if not endpoint.is_private and (strategy.auth or any(map(is_reference, strategy.headers.values()))):
            yield DaybookError("RESOLVE_071", span=span, endpoint=endpoint)
    except DaybookError as error:
        yield error
    for name, value in strategy.headers.items():
        if name.lower() in _OWN_HEADERS or (strategy.auth and name.lower() == "authorization"):
            yield DaybookError("RESOLVE_072", span=span, name=name, problem="Daybook sets it itself")
        elif not _NAME.fullmatch(name) or not _VALUE.fullmatch(value):
            yield DaybookError("RESOLVE_072", span=span, name=name, problem="it is not plain text of one line")
        elif (is_secret_name(name) or name.lower() == "cookie") and not is_reference(value):
            yield DaybookError("RESOLVE_070", span=span, name=name)
    for name, value in strategy.params.items():
        if not _is_sendable(value, is_nested=strategy.method == "POST"):
            yield DaybookError("RESOLVE_073", span=span, name=name)
        for text in _texts(value):
            yield from check_template(text, span)


def ask(
    strategy: CatalogStrategy,
    period: Period,
    table_name: str,
    *,
    root: Path,
    allowed_hosts: tuple[str, ...],
    limits: HttpLimits,
) -> tuple[AnsweredLocation, ...]:
    """The locations the endpoint names for a table and a period."""
    for error in strategy_errors(strategy, allowed_hosts, None):
        raise error
    endpoint = parse_endpoint(strategy.endpoint)
    request = _request(strategy, endpoint, _parameters(strategy, period, table_name), root)
    return read_answer(fetch(request, allowed_hosts, limits), endpoint, period.identifier)


def _parameters(strategy: CatalogStrategy, period: Period, table_name: str) -> Mapping[str, Any]:
    """The strategy's own, or else all there is to know."""
    if strategy.params:
        return {name: _rendered(value, period, table_name) for name, value in strategy.params.items()}
    return {
        "table": table_name,
        "period": period.identifier,
        "level": period.level,
        "start_date": period.start_date.isoformat(),
        "end_date": period.end_date.isoformat(),
    }


def _request(strategy: CatalogStrategy, endpoint: Endpoint, parameters: Mapping[str, Any], root: Path) -> Request:
    headers = {"Accept": "application/json", "Accept-Encoding": "identity", "Connection": "close"}
    headers |= {name: _header(value, name, root) for name, value in strategy.headers.items()}
    if strategy.auth is not None:
        auth = strategy.auth if " " in strategy.auth else f"Bearer {strategy.auth}"
        headers["Authorization"] = _header(auth, "Authorization", root)
    if strategy.method == "POST":
        headers["Content-Type"] = "application/json"
        return Request(endpoint, "POST", headers, json.dumps(parameters, default=float).encode())
    texts = {name: json.dumps(value) if isinstance(value, bool) else str(value) for name, value in parameters.items()}
    joint = "&" if "?" in endpoint.target else "?"
    target = f"{endpoint.target}{joint}{urlencode(texts)}"
    return Request(Endpoint(endpoint.scheme, endpoint.host, endpoint.port, target), "GET", headers, None)


def _header(value: str, name: str, root: Path) -> str:
    """A header's value, with the secret in the place of a reference such as `Bearer env://TOKEN`."""
    if not is_reference(value):
        return value
    kind, space, reference = value.rpartition(" ")
    secret = read_credential(reference, root)
    if not _VALUE.fullmatch(secret):
        raise DaybookError("RESOLVE_072", name=name, problem=f"what {reference} holds is not plain text of one line")
    return f"{kind}{space}{secret}"


def _rendered(value: Any, period: Period, table_name: str) -> Any:
    match value:
        case str():
            return render_template(value, period, table_name)
        case list() | tuple():
            return [_rendered(item, period, table_name) for item in value]
        case dict():
            return {key: _rendered(item, period, table_name) for key, item in value.items()}
        case _:
            return value


def _texts(value: Any) -> Iterator[str]:
    match value:
        case str():
            yield value
        case list() | tuple():
            for item in value:
                yield from _texts(item)
        case dict():
            for item in value.values():
                yield from _texts(item)
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
