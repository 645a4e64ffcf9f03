"""Asks a catalog for the locations of a table."""

import json
import re
from collections.abc import Iterator, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlencode

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from daybook.errors import DaybookError, Span
from daybook.model.calendar import Period
from daybook.model.datasource import CatalogStrategy
from daybook.model.declaration import Id, NonEmptyText
from daybook.model.secrets import is_secret_name, is_secret_reference, read_credential
from daybook.resolve.catalog_http import Endpoint, HttpLimits, HttpRequest, check_host_allowed, fetch, parse_endpoint
from daybook.resolve.paths import render_template, template_errors

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
