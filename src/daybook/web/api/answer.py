"""What all answers of the API share: type, tag, problems, and the OpenAPI description.

The types of answers stand beside the questions; the answers themselves are what `--json` prints.
"""

import asyncio
import hashlib
from collections.abc import Callable, Hashable
from typing import Annotated, Any, TypeVar

from fastapi import APIRouter, FastAPI, Header, Path, Query, Request
from fastapi.openapi.utils import get_openapi
from pydantic import BaseModel, ConfigDict
from pydantic.json_schema import models_json_schema
from starlette.responses import Response

from daybook.errors import DaybookError
from daybook.web.problems import json_bytes
from daybook.web.questions import Question, Questions
from daybook.web.served import Served

_Found = TypeVar("_Found")
_REPLACED = ("HTTPValidationError", "ValidationError")
_SCHEMAS = "#/components/schemas/{model}"


class Answer(BaseModel):
    """Nothing else is in an answer; keys may be added in later versions."""

    model_config = ConfigDict(extra="forbid")


class Finding(Answer):
    """One thing that is wrong: where, and the way out."""

    code: str
    message: str
    place: str | None = None
    file: str | None = None
    line: int | None = None
    column: int | None = None
    hint: str | None = None
    operation_seq: int | None = None
    excerpt: list[str] | None = None
    used_as: str | None = None
    causes: list[dict[str, Any]] = []


class Problem(Answer):
    """An error as RFC 9457 has it; `errors` has every finding."""

    type: str
    title: str
    status: int
    detail: str | None
    instance: str
    code: str
    errors: list[Finding]


def api_router() -> APIRouter:
    """Operations are named after their functions, and all have the same problems."""
    problems: dict[int | str, dict[str, Any]] = {
        "default": {
            "description": "What is wrong, with a code and a hint.",
            "content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}},
        }
    }
    return APIRouter(responses=problems, generate_unique_id_function=lambda route: route.name)


RunId = Annotated[str, Path(description="As `runs` lists it.", max_length=64)]
ProjectFilter = Annotated[str | None, Query(description="Only of this project.", max_length=128)]
PeriodFilter = Annotated[str | None, Query(description="A period or a range: 2026-01..2026-03.", max_length=200)]
IfNoneMatch = Annotated[str | None, Header(description="The tag of an answer that is already known.")]


class Json(Response):
    media_type = "application/json"


def answered(value: Any, *, status: int = 200) -> Response:
    return Json(json_bytes(value), status)


def shared_answer(served: Served, key: Hashable, found: _Found, as_json: Callable[[_Found], Any]) -> Response:
    """JSON for many readers: written once, as long as the answer is kept."""
    return Json(served.bodies.get(("json", key), (found,), lambda: json_bytes(as_json(found))))


def answered_once(value: Any, known: str | None) -> Response:
    """Something that does not change any more, with its tag; 304 for a client that has it."""
    body = json_bytes(value)
    tag = f'"{hashlib.sha256(body).hexdigest()[:32]}"'
    if known is not None and tag in {each.strip().removeprefix("W/") for each in known.split(",")}:
        return Response(status_code=304, headers={"ETag": tag})
    return Json(body, headers={"ETag": tag})


async def wait_for_answer(request: Request, questions: Questions, question: Question) -> Any:
    """Wait for an answer; when the client has disconnected and no other client waits, the question is cancelled."""
    question.listeners += 1
    try:
        while not await asyncio.to_thread(question.wait, 0.5):
            if await request.is_disconnected():
                if question.listeners == 1 and not question.is_shown:
                    questions.cancel(question)
                raise DaybookError("WEB_016")
    finally:
        question.listeners -= 1
    return question.result()


def describe(app: FastAPI) -> dict[str, Any]:
    """What `/api/v1/openapi.json` answers; made once."""
    if app.openapi_schema:
        return app.openapi_schema
    found = get_openapi(title=app.title, version=app.version, summary=app.summary, routes=app.routes)
    _, problems = models_json_schema([(Problem, "serialization"), (Finding, "serialization")], ref_template=_SCHEMAS)
    schemas = found["components"]["schemas"]
    for name in _REPLACED:
        schemas.pop(name, None)
    schemas |= problems["$defs"]
    found["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
    found["security"] = [{"token": []}]
    for methods in found["paths"].values():
        for operation in methods.values():
            # A wrong parameter is a problem like any other.
            operation["responses"].pop("422", None)
    app.openapi_schema = found
    return found
