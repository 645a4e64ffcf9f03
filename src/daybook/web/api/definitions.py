"""Definitions, their versions, lineage and error codes over HTTP."""

from typing import Annotated, Any

from fastapi import Path, Query
from starlette.responses import Response

from daybook.model.definition import DefinitionKind
from daybook.web.access import checked_project_id
from daybook.web.api.answer import IfNoneMatch, ProjectFilter, answered, answered_once, answers, api_router
from daybook.web.served import ServedHere
from daybook.workspace.reference import CodeDescription, describe_code
from daybook.workspace.stored_definitions import (
    DefinitionDetails,
    DefinitionSummary,
    VersionDifference,
    compare_versions,
    show_definition,
)

router = api_router()


def _lineage() -> Any:
    from daybook.workspace.lineage import LineageResult

    return LineageResult


@router.get("/definitions", tags=["definitions"])
@answers(list[DefinitionSummary])
def definitions(served: ServedHere) -> Response:
    """Every definition of the store with its latest version and its status."""
    return answered(served.definitions())


@router.get("/definitions/{kind}/{identifier}", tags=["definitions"])
@answers(DefinitionDetails)
def definition(
    served: ServedHere,
    kind: DefinitionKind,
    identifier: Annotated[str, Path(max_length=128)],
    version: Annotated[int | None, Query(description="A version; by default the latest.", ge=1)] = None,
    if_none_match: IfNoneMatch = None,
) -> Response:
    """A definition as the store has it."""
    details = show_definition(served.workspace, kind, identifier, version=version)
    return answered(details) if version is None else answered_once(details, if_none_match)


@router.get("/definitions/{kind}/{identifier}/difference", tags=["definitions"])
@answers(VersionDifference)
def definition_difference(
    served: ServedHere,
    kind: DefinitionKind,
    identifier: Annotated[str, Path(max_length=128)],
    before: Annotated[int, Query(ge=1)],
    after: Annotated[int, Query(ge=1)],
    if_none_match: IfNoneMatch = None,
) -> Response:
    """Two versions of a definition as YAML, line by line."""
    return answered_once(compare_versions(served.workspace, kind, identifier, before, after), if_none_match)


@router.get("/lineage", tags=["lineage"])
@answers(_lineage)
def lineage(
    served: ServedHere,
    project: ProjectFilter = None,
    column: Annotated[list[str] | None, Query(description="Written columns of the project.")] = None,
    downstream: Annotated[str | None, Query(description="DATASET.COLUMN: what comes from it.", max_length=300)] = None,
    to_start: Annotated[bool, Query(alias="all", description="Through other projects.")] = False,
) -> Response:
    """Which input columns every written column comes from, and how."""
    from daybook.workspace.lineage import trace_columns

    if project is not None:
        checked_project_id(project)
    columns = tuple(column or ())
    return answered(trace_columns(served.workspace, project, columns, downstream=downstream, to_start=to_start))


@router.get("/errors/{code}", tags=["reference"])
@answers(CodeDescription)
def error_code(code: Annotated[str, Path(max_length=32)], if_none_match: IfNoneMatch = None) -> Response:
    """What an error code means and what to do about it."""
    return answered_once(describe_code(code), if_none_match)
