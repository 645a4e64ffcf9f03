"""Pages that explain numbers: the rows behind a number, level by level, and the comparison of two runs.

The address of a page keeps the steps of the reader.
"""

import base64
import binascii
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

from fastapi import APIRouter, Form, Query, Request
from markupsafe import Markup
from starlette.responses import RedirectResponse, Response

from daybook.model.types import SYSTEM_COLUMNS
from daybook.pictures.shown_values import is_number
from daybook.web.access import address_with, check_csrf, local_path
from daybook.web.page_templates import preferred_negatives
from daybook.web.questions import Question
from daybook.web.served import AskedBy, Served, ServedHere, reader_of

if TYPE_CHECKING:
    from daybook.runs.explain.levels import OperationExplanation, ShownRows
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
        entries = json.loads(base64.urlsafe_b64decode(text.encode("ascii") + b"=" * (-len(text) % 4)))
        steps = [TrailStep(str(label)[:_MOST_TEXT], local_path(str(address))) for label, address in entries]
        # JSON can escape half of a character, which no page can show.
        for step in steps:
            step.text.encode()
    except (ValueError, TypeError, RecursionError, binascii.Error):
        return ()
    return tuple(steps[-_MOST_STEPS:])


def format_trail(steps: Iterable[TrailStep]) -> str:
    body = json.dumps([[step.text, step.address] for step in steps][-_MOST_STEPS:], ensure_ascii=False)
    return base64.urlsafe_b64encode(body.encode()).decode("ascii").rstrip("=")


def explain_address(
    run_id: str, seq: int, keys: Iterable[str] = (), *, trail: Iterable[TrailStep] = (), **more: str | int
) -> str:
    """Where the rows of an operation are shown; `keys` as they stand on a command line."""
    values: list[tuple[str, str]] = [("key", condition) for condition in keys]
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
    details = served.run(run_id)
    operations = {
        str(stored_operation["seq"]): stored_operation for stored_operation in details.snapshot["project"]["operations"]
    }
    # What an output wrote is what the rows before it are; two levels show where they come from.
    depth = 2 if operations.get(operation, {}).get("type") == "output" and keys else 1
    title = f"{details.record.project_id} {details.record.period}: rows of operation {operation}"
    question = served.questions.explain(
        run_id, operation, keys, title=title, limit=limit, depth=depth, reader=reader_of(request)
    )
    before = parse_trail(trail)

    def render(explained: Any) -> Response:
        seq = explained.first.operation.seq
        here = explain_address(run_id, seq, format_keys(keys))
        label = ", ".join(text for text in keys.values() if text) or f"operation {seq}"
        way = (*before, TrailStep(label, here))
        levels = [explained.first, *(explanation for level in explained.levels for explanation in level.explanations)]
        projects = {run_id: details.snapshot["project"]}
        for explanation in levels:
            if explanation.run_id not in projects:
                projects[explanation.run_id] = served.run(explanation.run_id).snapshot["project"]
        return served.templates.page(
            request,
            "explain.html",
            title=title,
            explained=explained,
            views=[_ExplainedView(explanation, way, projects[explanation.run_id]) for explanation in levels],
            gaps=[
                *(gap for explanation in levels for gap in explanation.gaps),
                *(gap for level in explained.levels for gap in level.gaps),
            ],
            before=before,
            record=details.record,
            more=explain_address(run_id, seq, format_keys(keys), trail=before, limit=limit * 5),
        )

    return answer_page(request, served, question, render)


class _ExplainedView:
    """The rows of one operation, each with the way to the rows behind it."""

    def __init__(
        self, explanation: "OperationExplanation", way: tuple[TrailStep, ...], project: Mapping[str, Any]
    ) -> None:
        from daybook.runs.explain.levels import ROWS_TITLES

        self.explanation = explanation
        self.title = ROWS_TITLES[explanation.operation.type]
        self._way = way
        operations = {operation["seq"]: operation for operation in project["operations"]}
        self._names = {seq: operation["name"] for seq, operation in operations.items()}
        self.expressions = _expressions(operations.get(explanation.operation.seq, {}))
        key_columns = {
            *explanation.group_by,
            *explanation.keys,
            *(name for origin in explanation.rows.origins for name in origin.key),
        }
        self.keys = key_columns | SYSTEM_COLUMNS.keys()

    def columns(self, shown: "ShownRows") -> list[str]:
        """Those with something in them; the operation that made a row is written as text."""
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
        origins: list[RowOrigin | None] = [*self.explanation.rows.origins]
        origins += [None] * (len(self.explanation.rows.rows) - len(origins))
        return [(row, self._behind(origin)) for row, origin in zip(self.explanation.rows.rows, origins, strict=True)]

    def _behind(self, origin: "RowOrigin | None") -> str | None:
        from daybook.runs.explain.row_origins import format_keys

        if origin is None or origin.next is None:
            return None
        following = origin.next
        return explain_address(following.run_id, following.seq, format_keys(following.keys), trail=self._way)

    @property
    def made(self) -> "list[tuple[Mapping[str, Any], None]]":
        """What it computed; the rows behind that follow on the page."""
        return [(row, None) for row in self.explanation.summary_rows.rows] if self.explanation.summary_rows else []

    def is_number(self, shown: "ShownRows", column: str) -> bool:
        return column not in self.keys and any(is_number(row[column]) for row in shown.rows)


def _expressions(operation: Mapping[str, Any]) -> dict[str, str]:
    """How an operation that groups computes each column."""
    arguments = operation.get("arguments") or {}
    grouped = arguments.get("aggregation") or arguments
    return {aggregation["column"]: aggregation["expression"] for aggregation in grouped.get("aggregations") or ()}


_ShortText = Annotated[str | None, Query(max_length=300)]


@router.get("/compare")
def compare(
    request: Request,
    served: ServedHere,
    a: _ShortText = None,
    b: _ShortText = None,
    output: _ShortText = None,
    rows: Annotated[int | None, Query(ge=0)] = None,
    key: _ShortText = None,
    measure: _ShortText = None,
    by: _ShortText = None,
    causes: Literal["", "through", "here"] = "",
    limit: Annotated[int, Query(ge=1, le=1000)] = 50,
) -> Response:
    from daybook.compare.bridge import BridgeRequest
    from daybook.compare.diff import DiffRequest
    from daybook.workspace.numbers import draw_bridge

    form = {"a": a or "", "b": b or "", "output": output or "", "rows": rows, "key": key or ""}
    form |= {"measure": measure or "", "by": by or "", "causes": causes}
    runs = served.runs(status="completed", limit=200).runs
    names = tuple(dict.fromkeys(f"{run.project_id}@{run.period}" for run in runs))
    if not (a and b):
        pairs = _pairs_to_compare(runs)
        return served.templates.page(
            request, "compare.html", title="Compare", form=form, runs=runs, names=names, pairs=pairs, diff=None
        )
    if measure:
        is_through = causes == "through" if causes else None
        bridge_request = BridgeRequest(a, b, measure, output or None, rows, _names(by), is_through=is_through)
        question = served.questions.bridge(bridge_request, reader=reader_of(request))

        def render_bridge(bridge: Any) -> Response:
            # Made by our own code, which escapes every text.
            picture = Markup(draw_bridge(bridge, negatives=preferred_negatives(request))) if bridge.causes else None
            return served.templates.page(
                request,
                "bridge.html",
                title=question.title,
                form=form,
                bridge=bridge,
                picture=picture,
            )

        return answer_page(request, served, question, render_bridge)
    diff_request = DiffRequest(a, b, output or None, rows, _names(key), limit=limit)
    question = served.questions.diff(diff_request, reader=reader_of(request))

    def render(diff: Any) -> Response:
        return served.templates.page(
            request,
            "compare.html",
            title=question.title,
            form=form,
            runs=runs,
            names=names,
            pairs=(),
            diff=diff,
            difference=_difference,
        )

    return answer_page(request, served, question, render)


@router.get("/impact")
def impact(
    request: Request,
    served: ServedHere,
    project: Annotated[list[str] | None, Query(max_length=200)] = None,
    against: _ShortText = None,
    period: _ShortText = None,
) -> Response:
    from daybook.workspace.impact import ACTIVE, ImpactRequest

    impact_request = ImpactRequest(tuple(filter(None, project or ())), against or ACTIVE, period or None)
    question = served.questions.impact(impact_request, reader=reader_of(request))

    def render(result: Any) -> Response:
        form = {"project": impact_request.projects, "period": period or "", "against": impact_request.against}
        return served.templates.page(request, "impact.html", title=question.title, impact=result, form=form)

    return answer_page(request, served, question, render)


def _difference(before: Any, after: Any) -> Any:
    """Of two numbers; a row that is missing on one side moves the total by all of its number."""
    from daybook.compare.exact_numbers import subtract

    numbers = [value for value in (before, after) if value is not None]
    if not numbers or not all(map(is_number, numbers)):
        return None
    return subtract(0 if after is None else after, 0 if before is None else before)


def _names(text: str | None) -> tuple[str, ...]:
    return tuple(name for part in (text or "").split(",") if (name := part.strip()))


def _pairs_to_compare(runs: Iterable[Any]) -> list[tuple[str, Any, Any]]:
    """For each project: its last two runs of a period, or else its last two periods."""
    by_node: dict[tuple[str, str], list[Any]] = {}
    for run in runs:
        by_node.setdefault((run.project_id, run.period), []).append(run)
    pairs = [
        (f"{project} {period}: the last two runs", runs_of_node[1], runs_of_node[0])
        for (project, period), runs_of_node in by_node.items()
        if len(runs_of_node) > 1
    ]
    projects: dict[str, list[Any]] = {}
    for (project, _), runs_of_node in sorted(by_node.items(), key=lambda item: item[0], reverse=True):
        projects.setdefault(project, []).append(runs_of_node[0])
    pairs += [
        (
            f"{project}: {runs_of_project[1].period} and {runs_of_project[0].period}",
            runs_of_project[1],
            runs_of_project[0],
        )
        for project, runs_of_project in projects.items()
        if len(runs_of_project) > 1
    ]
    return pairs[:12]
