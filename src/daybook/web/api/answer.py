"""What all answers of the API share: tag, problems, and the OpenAPI description.

Answers are the results of use cases, as `--json` prints them; their description is made from the results.
"""

import asyncio
import hashlib
from collections.abc import Callable, Hashable, Iterable
from inspect import isfunction
from typing import Annotated, Any, TypeVar

from fastapi import APIRouter, FastAPI, Header, Path, Query, Request
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute
from starlette.responses import Response

from daybook.errors import DaybookError
from daybook.web.problems import Problem, json_bytes
from daybook.web.questions import Question, Questions
from daybook.web.served import Served
from daybook.workspace.result_json import json_schemas

_REPLACED = ("HTTPValidationError", "ValidationError")
_RESULT = "daybook_result"
_Endpoint = TypeVar("_Endpoint", bound=Callable[..., Any])
_SCHEMAS = "#/components/schemas/{model}"


def answers(result: Any) -> Callable[[_Endpoint], _Endpoint]:
    """Describe what an operation answers: a result, or a function that imports it where that takes long.

    FastAPI, which would validate each answer again, is not told.
    """

    def describe_endpoint(endpoint: _Endpoint) -> _Endpoint:
        endpoint.__dict__[_RESULT] = result
        return endpoint

    return describe_endpoint


def api_router() -> APIRouter:
    """Operations are named after their functions, and all have the same problems."""
    problems: dict[int | str, dict[str, Any]] = {
        "default": {
            "description": "What is wrong, with a code and a hint.",
            "content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}},
        }
    }
    return APIRouter(responses=problems, generate_unique_id_function=lambda route: route.name)


# What an act answers that makes a request instead, because other people have to approve it.
REQUEST_MADE_ANSWER: dict[int | str, dict[str, Any]] = {
    202: {
        "description": "The act needs approval: a request was made.",
        "content": {
            "application/json": {
                "schema": {
                    "type": "object",
                    "properties": {
                        "request": {"type": "integer"},
                        "act": {"type": "string"},
                        "subject": {"type": "string"},
                        "needs": {"type": "string"},
                    },
                    "required": ["request", "act", "subject", "needs"],
                }
            }
        },
    }
}

RunId = Annotated[str, Path(description="As `runs` lists it.", max_length=64)]
ProjectFilter = Annotated[str | None, Query(description="Only of this project.", max_length=128)]
PeriodFilter = Annotated[str | None, Query(description="A period or a range: 2026-01..2026-03.", max_length=200)]
IfNoneMatch = Annotated[str | None, Header(description="The tag of an answer that is already known.")]


class Json(Response):
    media_type = "application/json"


def answered(value: Any, *, status: int = 200) -> Response:
    return Json(json_bytes(value), status)


def shared_answer(served: Served, key: Hashable, result: Any) -> Response:
    """JSON for many readers: written once, as long as the answer is kept."""
    return Json(served.bodies.get(("json", key), (result,), lambda: json_bytes(result)))


def answered_once(value: Any, known_tags: str | None) -> Response:
    """Something that does not change any more, with its tag; 304 for a client that has it."""
    body = json_bytes(value)
    tag = f'"{hashlib.sha256(body).hexdigest()[:32]}"'
    if known_tags is not None and tag in {tag_text.strip().removeprefix("W/") for tag_text in known_tags.split(",")}:
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


def describe(app: FastAPI, routers: Iterable[APIRouter]) -> dict[str, Any]:
    """What `/api/v1/openapi.json` answers; made once."""
    if app.openapi_schema:
        return app.openapi_schema
    description = get_openapi(title=app.title, version=app.version, summary=app.summary, routes=app.routes)
    results: dict[str, Any] = {}
    statuses: dict[str, str] = {}
    for router in routers:
        for route in router.routes:
            if isinstance(route, APIRoute) and (result := route.endpoint.__dict__.get(_RESULT)) is not None:
                results[route.name] = result() if isfunction(result) else result
                statuses[route.name] = str(route.status_code or 200)
    described, definitions = json_schemas([Problem, *results.values()], _SCHEMAS)
    schemas = description["components"]["schemas"]
    for name in _REPLACED:
        schemas.pop(name, None)
    schemas |= definitions
    description["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
    description["security"] = [{"token": []}]
    for methods in description["paths"].values():
        for operation in methods.values():
            # A wrong parameter is a problem like any other.
            operation["responses"].pop("422", None)
            if (result := results.get(operation["operationId"])) is not None:
                answer = operation["responses"][statuses[operation["operationId"]]]
                answer["content"] = {Json.media_type: {"schema": described[result]}}
    app.openapi_schema = description
    return description
