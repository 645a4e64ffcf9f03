"""Pages of definitions and their versions, lineage, and error codes."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated
from urllib.parse import quote

from fastapi import APIRouter, Query, Request
from markupsafe import Markup
from starlette.responses import Response

from daybook.model.definition import DefinitionKind
from daybook.pictures.graph import ColumnLine, TableColumns, draw_columns
from daybook.web.access import address_with, checked_project_id
from daybook.web.served import ServedHere
from daybook.workspace.reference import explain_code
from daybook.workspace.stored_definitions import compare_versions, show_definition

if TYPE_CHECKING:
    from daybook.workspace.lineage import LineageColumn, LineageOutput

router = APIRouter()


@router.get("/definitions")
def definitions(request: Request, served: ServedHere) -> Response:
    listed = served.definitions()
    return served.page(request, "definitions.html", (listed,), lambda: {"title": "Definitions", "definitions": listed})


@router.get("/definitions/{kind}/{identifier}")
def definition(
    request: Request,
    served: ServedHere,
    kind: DefinitionKind,
    identifier: str,
    version: Annotated[int | None, Query(ge=1)] = None,
    since: Annotated[int | None, Query(ge=1)] = None,
) -> Response:
    details = show_definition(served.workspace, kind, identifier, version=version)
    shown = details.version
    difference = compare_versions(served.workspace, kind, identifier, since, shown) if since else None
    runs = served.runs(project=identifier, limit=10).runs if kind == "project" else ()
    return served.templates.page(
        request,
        "definition.html",
        title=f"{kind} {identifier}",
        details=details,
        stored=details.definition,
        is_latest=details.definition.is_latest,
        difference=difference,
        runs=runs,
    )


@router.get("/errors/{code}")
def error_code(request: Request, served: ServedHere, code: str) -> Response:
    return served.templates.page(request, "error_code.html", title=code, code=explain_code(code))


def _output_id(output: "LineageOutput") -> str:
    """A registered output is the dataset that others read."""
    return output.dataset_id or f"{output.project_id} {output.seq}"


@dataclass(frozen=True, slots=True)
class _Chosen:
    """A column of a table of the picture."""

    table: str
    column: str

    @property
    def pair(self) -> tuple[str, str]:
        return self.table, self.column


def lineage_picture(outputs: "Iterable[LineageOutput]", chosen: _Chosen | None, project: str | None) -> Markup:
    """Tables with the columns that lead somewhere; what decides about all rows is drawn for the chosen column only."""
    outputs = tuple(outputs)
    lines: dict[ColumnLine, None] = {}
    columns: dict[str, dict[str, None]] = {}
    notes = {_output_id(output): f"written by {output.project_id}" for output in outputs}
    titles = {_output_id(output): output.dataset_id or output.target for output in outputs}
    for output in outputs:
        table = _output_id(output)
        for column in output.columns:
            columns.setdefault(table, {})[column.column] = None
            is_chosen = chosen is not None and chosen.pair == (table, column.column)
            for origin in column.inputs if is_chosen else output.own_inputs(column):
                if not origin.column:
                    continue
                columns.setdefault(origin.dataset_id, {})[origin.column] = None
                source, target = (origin.dataset_id, origin.column), (table, column.column)
                lines[ColumnLine(source, target, origin.kind == "direct", origin.how.replace("_", " "))] = None
    tables = [
        TableColumns(
            table,
            titles.get(table, table),
            tuple(names),
            notes.get(table, ""),
            f"/definitions/dataset/{quote(table, safe='')}" if " " not in table else None,
        )
        for table, names in columns.items()
    ]
    around = {"project": project} if project else {}
    hrefs = {
        (table, name): address_with("/lineage", {**around, "table": table, "column": name})
        for table, names in columns.items()
        for name in names
    }
    # Made by our own code, which escapes every text.
    return Markup(
        draw_columns(
            tables,
            tuple(lines),
            title="Where columns come from",
            chosen=chosen.pair if chosen else None,
            hrefs=hrefs,
        )
    )


@router.get("/lineage")
def lineage(
    request: Request,
    served: ServedHere,
    project: Annotated[str | None, Query(max_length=128)] = None,
    table: Annotated[str | None, Query(max_length=300)] = None,
    column: Annotated[str | None, Query(max_length=300)] = None,
) -> Response:
    from daybook.workspace.lineage import trace_columns

    project = checked_project_id(project) if project else None
    everything = served.lineage()
    projects = tuple(dict.fromkeys(output.project_id for output in everything.outputs))
    traced = served.lineage(project) if project else everything
    chosen = _Chosen(table, column) if table and column else None
    written = [
        (output, written_column)
        for output, written_column in _columns_of(traced.outputs)
        if chosen and _is(output, written_column, chosen)
    ]
    downstream = None
    if chosen is not None and not written:
        downstream = trace_columns(served.workspace, downstream=f"{chosen.table}.{chosen.column}").outputs
    return served.templates.page(
        request,
        "lineage.html",
        title="Lineage",
        projects=projects,
        project=project,
        outputs=traced.outputs,
        notices=traced.notices,
        picture=lineage_picture(traced.outputs, chosen, project),
        chosen=chosen,
        written=written,
        downstream=downstream,
    )


def _columns_of(outputs: "Iterable[LineageOutput]") -> "Iterable[tuple[LineageOutput, LineageColumn]]":
    return ((output, column) for output in outputs for column in output.columns)


def _is(output: "LineageOutput", column: "LineageColumn", chosen: _Chosen) -> bool:
    return (_output_id(output), column.column) == chosen.pair
