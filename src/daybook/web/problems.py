"""Errors as answers: problem+json with codes for programs, a page with a hint for people."""

import logging
import secrets
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response

from daybook.errors import DaybookError
from daybook.errors.render import Finding, findings_of
from daybook.workspace.system_errors import system_error

API = "/api/v1"
REQUEST_MADE = "APPROVAL_001"
_LOG = logging.getLogger("daybook.web")

_STATUS_BY_CODE: Mapping[str, int] = {
    **dict.fromkeys(("WEB_005", "WEB_006"), 401),
    **dict.fromkeys(("WEB_009", "WEB_010", "WEB_012"), 403),
    "WEB_007": 429,
    "WEB_008": 421,
    "WEB_011": 413,
    "WEB_013": 404,
    "WEB_014": 405,
    "WEB_016": 409,
    # An act that needs approval made a request instead.
    REQUEST_MADE: 202,
    **dict.fromkeys((f"APPROVAL_{number:03}" for number in (2, 3, 5, 18, 20)), 403),
    **dict.fromkeys((f"APPROVAL_{number:03}" for number in (4, 6, 8, 9, 11, 13, 15, 19, 21)), 409),
    **dict.fromkeys(("APPROVAL_007", "APPROVAL_014"), 404),
    "WEB_017": 500,
    "WEB_018": 429,
    # What is asked for is not there.
    **dict.fromkeys(
        ("STORE_007", "STORE_008", "STORE_014", "RUN_001", "RUN_015", "RUN_019", "RUN_022", "RUN_029", "PROOF_017"), 404
    ),
    **dict.fromkeys(("RESOLVE_001", "RESOLVE_003", "EXPR_014"), 404),
    # It was there.
    "RUN_012": 410,
    # Its state does not allow it.
    **dict.fromkeys(("RUN_002", "RUN_017", "RUN_020", "RUN_027"), 409),
    **dict.fromkeys((f"STORE_{number:03}" for number in (12, 13, 15, 16, 17, 18, 19, 20, 21, 22, 28, 31, 33, 34)), 409),
    # The store or Spark does not answer.
    **dict.fromkeys(("STORE_003", "STORE_004", "STORE_005", "STORE_006", "STORE_029", "STORE_047", "RUN_030"), 503),
    **dict.fromkeys((f"RUN_{number}" for number in range(901, 917)), 503),
}
# Definitions that do not load or do not check are the state of the workspace, not the question's fault.
_STATE_FAMILIES = ("MODEL", "PROJECT", "EXPR", "UPDATE", "AGGREGATE", "APPEND", "DELETE", "CHECK", "OUTPUT", "IO")


def status_of(error: DaybookError) -> int:
    """The HTTP status that says the same as a code."""
    if (status := _STATUS_BY_CODE.get(error.code)) is not None:
        return status
    return 409 if error.code.partition("_")[0] in _STATE_FAMILIES else 400


@dataclass(frozen=True, slots=True)
class Problem:
    """An error as RFC 9457 has it; `errors` has every finding, as `--json` prints them."""

    type: str
    title: str
    status: int
    detail: str | None
    instance: str
    code: str
    errors: list[Finding]


def describe_problem(error: DaybookError, status: int, instance: str) -> Problem:
    return Problem(
        f"{API}/errors/{error.code}", error.message, status, error.hint, instance, error.code, findings_of([error])
    )


class ProblemResponse(JSONResponse):
    media_type = "application/problem+json"

    def render(self, content: Any) -> bytes:
        return json_bytes(content)


def is_api(path: str) -> bool:
    return path == API or path.startswith(f"{API}/")


def answer_problem(request: Request, error: DaybookError) -> Response:
    """The error in a form that the client accepts."""
    status = status_of(error)
    headers = {}
    if error.code == "WEB_019":
        headers["Connection"] = "close"
    if status == 401:
        headers["WWW-Authenticate"] = 'Bearer realm="daybook"'
    if status == 429:
        headers["Retry-After"] = str(error.parameters.get("seconds", 60))
    if error.code == REQUEST_MADE and is_api(request.url.path):
        answer = {"request": error.parameters["number"], **error.parameters}
        return Response(json_bytes(answer), status, media_type="application/json")
    if error.code == REQUEST_MADE:
        return RedirectResponse(f"/requests#request-{error.parameters['number']}", 303)
    if is_api(request.url.path) or not hasattr(request.app.state, "templates"):
        return ProblemResponse(describe_problem(error, status, request.url.path), status, headers)
    findings = findings_of([error])
    page: Response = request.app.state.templates.page(
        request, "problem.html", http_status=status, headers=headers, title=error.message, findings=findings
    )
    return page


def coded_error(request: Request, failure: Exception) -> DaybookError:
    """Any failure as an error with a code; an internal error is logged, and only its reference is shown."""
    if isinstance(failure, DaybookError):
        return failure
    # The login is there before these are loaded.
    from fastapi.exceptions import RequestValidationError

    from daybook.runs.run_result import RunFailedError

    match failure:
        case RunFailedError():
            return failure.error
        case RequestValidationError():
            first = failure.errors()[0]
            name = ".".join(str(part) for part in first["loc"][1:]) or "the request"
            return DaybookError("WEB_015", argument=name, reason=str(first["msg"]).lower())
        case HTTPException(__cause__=DaybookError() as cause):
            # What is refused while a form is read.
            return cause
        case HTTPException(status_code=404):
            return DaybookError("WEB_013", path=request.url.path)
        case HTTPException(status_code=405):
            return DaybookError("WEB_014", path=request.url.path, method=request.method)
        case HTTPException():
            return DaybookError("WEB_015", argument="the request", reason=str(failure.detail).lower())
        case _:
            pass
    if (refused := system_error(failure)) is not None:
        return refused
    reference = secrets.token_hex(4)
    _LOG.error("%s: %s %s failed", reference, request.method, request.url.path, exc_info=failure)
    return DaybookError("WEB_017", reference=reference)


ProblemHandler = Callable[[Request, Exception], Coroutine[Any, Any, Response]]


def problem_handlers(*kinds: type[Exception]) -> dict[Any, ProblemHandler]:
    """How an application answers our errors, those of HTTP, and other kinds that it raises."""

    async def handle(request: Request, failure: Exception) -> Response:
        return answer_problem(request, coded_error(request, failure))

    return dict.fromkeys((DaybookError, HTTPException, *kinds), handle)


class Failures:
    """Turns unexpected failures into answers that show no internal details."""

    def __init__(self, app: Any) -> None:
        self._app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        has_begun = False

        async def watched(message: Any) -> None:
            nonlocal has_begun
            has_begun = has_begun or message["type"] == "http.response.start"
            await send(message)

        try:
            await self._app(scope, receive, watched)
        except Exception as failure:
            request = Request(scope, receive)
            error = coded_error(request, failure)
            if has_begun:
                raise
            await answer_problem(request, error)(scope, receive, send)


def json_bytes(value: Any) -> bytes:
    """A result as the command line prints it."""
    from daybook.workspace.result_json import json_text

    return json_text(value).encode("utf-8", "replace")


def event_text(value: Any) -> str:
    from daybook.workspace.result_json import json_line

    return json_line(value)
