"""What a catalog endpoint answers with."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from daybook.errors import DaybookError
from daybook.model.base import Id, Text
from daybook.resolve.endpoint import Endpoint

_SHOWN = 3


class _Shape(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class AnsweredLocation(_Shape):
    """A path or a table of a data source the workspace knows; never a bare address."""

    datasource_id: Id
    path: Text | None = None
    table: Text | None = None
    schema_name: Text | None = Field(default=None, alias="schema")
    # The identifier of the asked period, when all of this location's rows are of that period.
    period: Text | None = None
    delta_version: Annotated[int, Field(ge=0)] | None = None


class CatalogAnswer(_Shape):
    locations: tuple[AnsweredLocation, ...]


def read_answer(body: bytes, endpoint: Endpoint, period: str) -> tuple[AnsweredLocation, ...]:
    """The locations of an answer for one period, or what is wrong with it."""
    try:
        answer = CatalogAnswer.model_validate_json(body)
    except ValidationError as error:
        findings = error.errors(include_url=False, include_context=False, include_input=False)
        if any(finding["type"] == "json_invalid" for finding in findings):
            raise DaybookError("RESOLVE_067", endpoint=endpoint) from None
        spelled = [
            f"{'.'.join(str(step) for step in one['loc']) or 'answer'}: {one['msg']}" for one in findings[:_SHOWN]
        ]
        raise _wrong(endpoint, "; ".join(spelled)) from None
    if not answer.locations:
        raise DaybookError("RESOLVE_069", endpoint=endpoint, period=period)
    for index, location in enumerate(answer.locations):
        if (location.path is None) == (location.table is None):
            raise _wrong(endpoint, f"locations.{index}: either path or table is needed")
        if location.path is not None and location.schema_name is not None:
            raise _wrong(endpoint, f"locations.{index}: schema goes with table")
        if location.period is not None and location.period != period:
            raise _wrong(endpoint, f"locations.{index}.period: the period asked for is {period}")
    return answer.locations


def _wrong(endpoint: Endpoint, problem: str) -> DaybookError:
    return DaybookError("RESOLVE_068", endpoint=endpoint, problem=problem)
