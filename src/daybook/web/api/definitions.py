"""Definitions, their versions, lineage and error codes over HTTP."""

from typing import Annotated, Any, Literal

from fastapi import Path, Query
from starlette.responses import Response

from daybook.web.access import checked_project_id
from daybook.web.api.answer import Answer, IfNoneMatch, ProjectFilter, answered, answered_once, api_router
from daybook.web.api.runs import TableVersion
from daybook.web.served import ServedHere
from daybook.workspace.history import compare_versions, show_definition
from daybook.workspace.json.results import (
    code_as_json,
    definition_as_json,
    definition_summary_as_json,
    version_difference_as_json,
)
from daybook.workspace.reference import explain_code

router = api_router()


class DatasetInUse(Answer):
    id: str
    version: int
    pinned: bool


class ColumnInUse(Answer):
    operation_seq: int
    dataset_id: str
    column: str


class DatasetVersionEntry(Answer):
    version: int
    created_at: str
    project_id: str | None
    run_id: str | None
    period: str | None
    rows: int | None


class RegisteredData(Answer):
    uri: str
    table_version: TableVersion | None
    delta_version: int | None


DefinitionKind = Literal["dataset", "datasource", "resolver", "calendar", "project"]


class Definition(Answer):
    """One version of a definition; the keys after `definition` are there for projects or datasets."""

    kind: DefinitionKind
    id: str
    version: int
    versions: list[int]
    status: str
    created_at: str
    workspace: str | None
    definition: dict[str, Any]
    active_version: int | None = None
    conflict: dict[str, Any] | None = None
    warnings: list[str] = []
    datasets: list[DatasetInUse] = []
    column_usage: list[ColumnInUse] = []
    history: list[DatasetVersionEntry] = []
    data: RegisteredData | None = None


class DefinitionSummary(Answer):
    kind: DefinitionKind
    id: str
    version: int
    status: str
    active_version: int | None
    workspace: str | None


class VersionDifference(Answer):
    """Lines of a unified diff; none where the versions read the same."""

    kind: DefinitionKind
    id: str
    before: int
    after: int
    lines: list[str]


class LineageInput(Answer):
    dataset: str
    column: str
    kind: Literal["direct", "indirect"]
    how: str
    operations: list[int]


class LineageColumn(Answer):
    project: str
    output: int
    column: str
    inputs: list[LineageInput]


class Lineage(Answer):
    columns: list[LineageColumn]


class ErrorCode(Answer):
    code: str
    message: str
    explanation: str
    hint: str | None


@router.get("/definitions", response_model=list[DefinitionSummary], tags=["definitions"])
def definitions(served: ServedHere) -> Response:
    """Every definition of the store with its latest version and its status."""
    return answered([definition_summary_as_json(each) for each in served.definitions()])


@router.get("/definitions/{kind}/{identifier}", response_model=Definition, tags=["definitions"])
def definition(
    served: ServedHere,
    kind: DefinitionKind,
    identifier: Annotated[str, Path(max_length=128)],
    version: Annotated[int | None, Query(description="A version; by default the latest.", ge=1)] = None,
    if_none_match: IfNoneMatch = None,
) -> Response:
    """A definition as the store has it."""
    data = definition_as_json(show_definition(served.workspace, kind, identifier, version))
    return answered(data) if version is None else answered_once(data, if_none_match)


@router.get("/definitions/{kind}/{identifier}/difference", response_model=VersionDifference, tags=["definitions"])
def definition_difference(
    served: ServedHere,
    kind: DefinitionKind,
    identifier: Annotated[str, Path(max_length=128)],
    before: Annotated[int, Query(ge=1)],
    after: Annotated[int, Query(ge=1)],
    if_none_match: IfNoneMatch = None,
) -> Response:
    """Two versions of a definition as YAML, line by line."""
    found = compare_versions(served.workspace, kind, identifier, before, after)
    return answered_once(version_difference_as_json(found), if_none_match)


@router.get("/lineage", response_model=Lineage, tags=["lineage"])
def lineage(
    served: ServedHere,
    project: ProjectFilter = None,
    column: Annotated[list[str] | None, Query(description="Written columns of the project.")] = None,
    downstream: Annotated[str | None, Query(description="DATASET.COLUMN: what comes from it.", max_length=300)] = None,
    to_start: Annotated[bool, Query(alias="all", description="Through other projects.")] = False,
) -> Response:
    """Which input columns every written column comes from, and how."""
    from daybook.workspace.json.close import lineage_as_json
    from daybook.workspace.lineage import trace_columns

    if project is not None:
        checked_project_id(project)
    found = trace_columns(served.workspace, project, tuple(column or ()), downstream=downstream, to_start=to_start)
    return answered(lineage_as_json(found))


@router.get("/errors/{code}", response_model=ErrorCode, tags=["reference"])
def error_code(code: Annotated[str, Path(max_length=32)], if_none_match: IfNoneMatch = None) -> Response:
    """What an error code means and what to do about it."""
    return answered_once(code_as_json(explain_code(code)), if_none_match)
