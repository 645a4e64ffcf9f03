"""The OpenAPI description of the API: our problems instead of FastAPI's, and how to send the token."""

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic.json_schema import models_json_schema

from daybook.web.answers import Finding, Problem

_REPLACED = ("HTTPValidationError", "ValidationError")
_SCHEMAS = "#/components/schemas/{model}"


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
