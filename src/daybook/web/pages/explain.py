"""The rows behind a number, level by level; the address keeps the steps of the reader."""

import base64
import binascii
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Form, Query, Request
from starlette.responses import RedirectResponse, Response

from daybook.model.types import SYSTEM_COLUMNS
from daybook.pictures.number_format import is_number
from daybook.web.access import address_with, check_csrf, local_path
from daybook.web.questions import Question
from daybook.web.served import AskedBy, Served, ServedHere

if TYPE_CHECKING:
    from daybook.runs.explain.operation import OperationExplanation, ShownRows
    from daybook.runs.explain.row_origins import RowOrigin

router = APIRouter()

PAGE_ROWS = 100
_MOST_STEPS = 12
_MOST_TEXT = 120
_ROW_ID, _SOURCE_TABLE, _OPERATION_SEQ = "_row_id", "_source_table", "_operation_seq"


# Fast questions are answered at once; the others show how far they are.
_PATIENCE_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class TrailStep:
    """A page on the way; its address has no trail of its own."""

    text: str
    address: str


def parse_trail(text: str | None) -> tuple[TrailStep, ...]:
    """What an address carries; anything else than steps of this server is left out."""
    if not text:
        return ()
    try:
        found = json.loads(base64.urlsafe_b64decode(text.encode("ascii") + b"=" * (-len(text) % 4)))
        steps = [TrailStep(str(label)[:_MOST_TEXT], local_path(str(address))) for label, address in found]
    except (ValueError, TypeError, binascii.Error):
        return ()
    return tuple(steps[-_MOST_STEPS:])


def format_trail(steps: Iterable[TrailStep]) -> str:
    body = json.dumps([[step.text, step.address] for step in steps][-_MOST_STEPS:], ensure_ascii=False)
    return base64.urlsafe_b64encode(body.encode()).decode("ascii").rstrip("=")


def explain_address(
    run_id: str, seq: int, keys: Iterable[str] = (), *, trail: Iterable[TrailStep] = (), **more: str | int
) -> str:
    """Where the rows of an operation are shown; `keys` as they stand on a command line."""
    values: list[tuple[str, str]] = [("key", each) for each in keys]
    values += [(name, str(value)) for name, value in more.items()]
    if steps := tuple(trail):
        values.append(("trail", format_trail(steps)))
    return address_with(f"/runs/{run_id}/explain/{seq}", values)


def answer_page(request: Request, served: Served, question: Question, render: Callable[[Any], Response]) -> Response:
    """The answer to a question, or the page that waits for it."""
    question.is_shown = True
    if question.wait(_PATIENCE_SECONDS):
        return render(question.result())
    return served.templates.page(
        request,
        "waiting.html",
        http_status=202,
        title=question.title,
        question=question,
        before=served.questions.position(question),
    )


@router.post("/questions/{question_id}/cancel")
def cancel_question(
    served: ServedHere,
    visitor: AskedBy,
    question_id: str,
    csrf: Annotated[str | None, Form(max_length=200)] = None,
    next: Annotated[str | None, Form(max_length=8000)] = None,  # noqa: A002
) -> Response:
    check_csrf(visitor, csrf)
    if (question := served.questions.find(question_id)) is not None:
        served.questions.cancel(question)
        question.wait(_PATIENCE_SECONDS)
    return RedirectResponse(local_path(next), 303)


@router.get("/runs/{run_id}/explain/{operation}")
def explain(
    request: Request,
    served: ServedHere,
    run_id: str,
    operation: str,
    key: Annotated[list[str] | None, Query()] = None,
    trail: Annotated[str | None, Query(max_length=6000)] = None,
    limit: Annotated[int, Query(ge=1, le=2000)] = PAGE_ROWS,
) -> Response:
    from daybook.runs.explain.row_origins import format_keys, parse_keys

    keys = parse_keys(key or [])
    found = served.run(run_id)
    operations = {str(each["seq"]): each for each in found.snapshot["project"]["operations"]}
    # What an output wrote is what the rows before it are; two levels show where they come from.
    depth = 2 if operations.get(operation, {}).get("type") == "output" and keys else 1
    title = f"{found.record.project_id} {found.record.period}: rows of operation {operation}"
    question = served.questions.explain(run_id, operation, keys, title=title, limit=limit, depth=depth)
    before = parse_trail(trail)

    def render(explained: Any) -> Response:
        here = explain_address(run_id, explained.first.seq, format_keys(keys))
        label = ", ".join(text for text in keys.values() if text) or f"operation {explained.first.seq}"
        way = (*before, TrailStep(label, here))
        levels = [explained.first, *(each for level in explained.levels for each in level.explanations)]
        projects = {run_id: found.snapshot["project"]}
        for each in levels:
            if each.run_id not in projects:
                projects[each.run_id] = served.run(each.run_id).snapshot["project"]
        return served.templates.page(
            request,
            "explain.html",
            title=title,
            explained=explained,
            views=[_ExplainedView(each, way, projects[each.run_id]) for each in levels],
            gaps=[gap for level in explained.levels for gap in level.gaps],
            before=before,
            record=found.record,
            more=explain_address(run_id, explained.first.seq, format_keys(keys), trail=before, limit=limit * 5),
        )

    return answer_page(request, served, question, render)


class _ExplainedView:
    """The rows of one operation, each with the way to the rows behind it."""

    def __init__(self, found: "OperationExplanation", way: tuple[TrailStep, ...], project: Mapping[str, Any]) -> None:
        from daybook.runs.explain.operation import ROWS_TITLES

        self.found = found
        self.title = ROWS_TITLES[found.type]
        self._way = way
        operations = {each["seq"]: each for each in project["operations"]}
        self._names = {seq: each["name"] for seq, each in operations.items()}
        self.expressions = _expressions(operations.get(found.seq, {}))
        known = {*found.group_by, *found.keys, *(name for origin in found.origins for name in origin.key)}
        self.keys = known | SYSTEM_COLUMNS.keys()

    def columns(self, shown: "ShownRows") -> list[str]:
        """Those with something in them; who made a row is said in words."""
        hidden = {_ROW_ID, _SOURCE_TABLE, _OPERATION_SEQ}
        return [
            name for name in shown.columns if name not in hidden and any(row[name] is not None for row in shown.rows)
        ]

    def made_by(self, row: "Mapping[str, Any]") -> str:
        """The operation that made a row, or the table it was read from."""
        seq = row.get(_OPERATION_SEQ)
        return self._names.get(seq, f"operation {seq}") if seq else f"read from {row.get(_SOURCE_TABLE) or 'the input'}"

    @property
    def rows(self) -> "list[tuple[Mapping[str, Any], str | None]]":
        """Every row with the address of the rows behind it; none for a line of a source."""
        origins: list[RowOrigin | None] = [*self.found.origins]
        origins += [None] * (len(self.found.rows.rows) - len(origins))
        return [(row, self._behind(origin)) for row, origin in zip(self.found.rows.rows, origins, strict=True)]

    def _behind(self, origin: "RowOrigin | None") -> str | None:
        from daybook.runs.explain.row_origins import format_keys

        if origin is None or origin.next is None:
            return None
        following = origin.next
        return explain_address(following.run_id, following.seq, format_keys(following.keys), trail=self._way)

    @property
    def made(self) -> "list[tuple[Mapping[str, Any], None]]":
        """What it computed; the rows behind that follow on the page."""
        return [(row, None) for row in self.found.summary_rows.rows] if self.found.summary_rows else []

    def is_number(self, shown: "ShownRows", column: str) -> bool:
        return column not in self.keys and any(is_number(row[column]) for row in shown.rows)


def _expressions(operation: Mapping[str, Any]) -> dict[str, str]:
    """How an operation that groups computes each column."""
    arguments = operation.get("arguments") or {}
    grouped = arguments.get("aggregation") or arguments
    return {each["column"]: each["expression"] for each in grouped.get("aggregations") or ()}
