"""Pages of numbers: the rows of an output, the rows behind a number, and what changed between two runs."""

import json
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Form, Query, Request
from markupsafe import Markup
from starlette.responses import RedirectResponse, Response, StreamingResponse

from daybook.errors import DaybookError
from daybook.model.types import SYSTEM_COLUMNS, value_text
from daybook.pictures.number_format import is_number
from daybook.web.access import check_csrf, local_path
from daybook.web.questions import Question
from daybook.web.served import AskedBy, Served, ServedHere, preferred_negatives
from daybook.web.trail import TrailStep, address_with, explain_address, parse_trail
from daybook.workspace.history import list_runs, show_run

if TYPE_CHECKING:
    from daybook.runs.explain.operation import OperationExplanation, ShownRows
    from daybook.runs.explain.row_origins import RowOrigin
    from daybook.runs.result import OutputResult
    from daybook.workspace.numbers import NumbersPage, NumbersRequest

router = APIRouter()

# Fast questions are answered at once; the others show how far they are.
_PATIENCE_SECONDS = 1.0
_PAGE_ROWS = 100
_MOST_KEYS = 8
_KEPT_SECONDS = 600.0
_ShortText = Annotated[str | None, Query(max_length=300)]


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


def parse_conditions(texts: Iterable[str]) -> "tuple[Any, ...]":
    """Conditions as addresses have them: `["amount", ">=", "100"]`."""
    from daybook.io.rows.conditions import RowCondition

    found = []
    for text in texts:
        try:
            column, comparison, *value = json.loads(text)
            if not isinstance(column, str) or not isinstance(comparison, str) or len(value) > 1:
                raise ValueError
            given = value[0] if value else None
            if isinstance(given, list | dict):
                raise ValueError
        except (ValueError, TypeError):
            raise DaybookError("WEB_015", argument="where", reason=f"{text[:100]!r} is no condition") from None
        found.append(RowCondition(column, comparison, given))
    return tuple(found)


def parse_order(texts: Iterable[str]) -> "tuple[Any, ...]":
    """Columns, those with a minus from large to small."""
    from daybook.io.rows.conditions import RowOrder

    return tuple(RowOrder(text.removeprefix("-"), text.startswith("-")) for text in texts if text)


def numbers_request(run_id: str, seq: int, where: Iterable[str], sort: Iterable[str], **more: Any) -> "NumbersRequest":
    from daybook.workspace.numbers import NumbersRequest

    return NumbersRequest(run_id, str(seq), parse_conditions(where), parse_order(sort), **more)


@router.get("/numbers")
def numbers_index(request: Request, served: ServedHere) -> Response:
    """The latest completed run of every project and period with what it wrote."""
    runs = list_runs(served.workspace, status="completed", limit=200).runs
    # The newest one, and a draft only where there is nothing else.
    by_age = sorted(runs, key=lambda run: (not run.is_draft, run.created_at))
    latest = {(run.project_id, run.period): run for run in by_age}
    shown = sorted(latest.values(), key=lambda run: (run.project_id, run.period))
    outputs = {run.id: _outputs_of(served, run.id) for run in shown}
    return served.templates.page(request, "numbers_index.html", title="Numbers", runs=shown, outputs=outputs)


def _outputs_of(served: Served, run_id: str) -> "tuple[OutputResult, ...]":
    """What a completed run wrote, which does not change any more."""
    from daybook.workspace.numbers import list_outputs

    return served.recent.get(
        ("outputs", run_id), lambda: list_outputs(served.workspace, run_id), for_seconds=_KEPT_SECONDS
    )


@router.get("/runs/{run_id}/outputs/{seq}")
def numbers(
    request: Request,
    served: ServedHere,
    run_id: str,
    seq: int,
    where: Annotated[list[str] | None, Query()] = None,
    sort: Annotated[list[str] | None, Query()] = None,
    offset: Annotated[int, Query(ge=0)] = 0,
    totals: Annotated[bool, Query(description="Sum up outputs of any size.")] = False,
    column: _ShortText = None,
    comparison: _ShortText = None,
    value: _ShortText = None,
) -> Response:
    from daybook.workspace.numbers import read_numbers

    where, sort = where or [], sort or []
    path = f"/runs/{run_id}/outputs/{seq}"
    if column and comparison:
        # The form adds a condition; the address that is shown has all of them in one form.
        added = [column, comparison] if comparison.endswith("null") else [column, comparison, value or ""]
        pairs = [("where", each) for each in (*where, json.dumps(added, ensure_ascii=False))]
        return RedirectResponse(address_with(path, [*pairs, *(("sort", each) for each in sort)]), 303)
    asked = numbers_request(run_id, seq, where, sort, offset=offset, limit=_PAGE_ROWS, has_totals=totals or None)
    page = read_numbers(served.workspace, asked)
    view = _NumbersView(page, path, where, sort)
    return served.templates.page(
        request,
        "numbers.html",
        title=f"{page.project_id} {page.period}: {page.output.name}",
        page=page,
        view=view,
        where=where,
        sort=sort,
    )


@router.get("/runs/{run_id}/outputs/{seq}/rows.csv")
def numbers_csv(
    served: ServedHere,
    run_id: str,
    seq: int,
    where: Annotated[list[str] | None, Query()] = None,
    sort: Annotated[list[str] | None, Query()] = None,
) -> Response:
    return csv_response(served, numbers_request(run_id, seq, where or [], sort or []))


def csv_response(served: Served, request: "NumbersRequest") -> Response:
    from urllib.parse import quote

    from daybook.workspace.numbers import stream_csv

    download = stream_csv(served.workspace, request)
    name = f"attachment; filename*=UTF-8''{quote(download.file_name, safe='')}"
    return StreamingResponse(download.pieces, media_type="text/csv", headers={"Content-Disposition": name})


class _NumbersView:
    """Addresses of a page of numbers: other orders, other pages, fewer conditions, the rows behind a row."""

    def __init__(self, page: "NumbersPage", path: str, where: list[str], sort: list[str]) -> None:
        self._page = page
        self._path = path
        self._where = where
        self._sort = sort
        keys = [number for number, column in enumerate(page.columns) if not column.is_number and not column.is_system]
        whole = [number for number, column in enumerate(page.columns) if not column.is_system]
        self._keys = (keys or whole)[:_MOST_KEYS]

    def _address(self, where: list[str], sort: list[str], offset: int = 0) -> str:
        pairs = [*(("where", each) for each in where), *(("sort", each) for each in sort)]
        return address_with(self._path, [*pairs, *([("offset", str(offset))] if offset else [])])

    def sorted_by(self, column: str) -> str:
        """From large to small first, then the other way round, then as it is stored."""
        following = {f"-{column}": [column], column: []}
        return self._address(self._where, following.get(self._sort[0] if self._sort else "", [f"-{column}"]))

    def order_of(self, column: str) -> str | None:
        first = self._sort[0] if self._sort else ""
        return {f"-{column}": "descending", column: "ascending"}.get(first)

    def without(self, condition: str) -> str:
        return self._address([each for each in self._where if each != condition], self._sort)

    def at(self, offset: int) -> str:
        return self._address(self._where, self._sort, max(0, offset))

    @property
    def with_totals(self) -> str:
        """The same rows with their totals, of an output that is summed up only when asked."""
        here = self._address(self._where, self._sort, self._page.offset)
        return f"{here}{'&' if '?' in here else '?'}totals=true"

    @property
    def csv(self) -> str:
        pairs = [*(("where", each) for each in self._where), *(("sort", each) for each in self._sort)]
        return address_with(f"{self._path}/rows.csv", pairs)

    def behind(self, row: tuple[Any, ...]) -> str:
        """The rows behind a row of this page."""
        from daybook.runs.explain.row_keys import format_keys

        names = [column.name for column in self._page.columns]
        keys = {names[number]: None if row[number] is None else value_text(row[number]) for number in self._keys}
        here = self._address(self._where, self._sort, self._page.offset)
        text = f"{self._page.project_id} {self._page.period}: {self._page.output.name}"
        return explain_address(
            self._page.run_id, self._page.output.operation_seq, format_keys(keys), trail=[TrailStep(text, here)]
        )


@router.get("/runs/{run_id}/explain/{operation}")
def explain(
    request: Request,
    served: ServedHere,
    run_id: str,
    operation: str,
    key: Annotated[list[str] | None, Query()] = None,
    trail: Annotated[str | None, Query(max_length=6000)] = None,
    limit: Annotated[int, Query(ge=1, le=2000)] = _PAGE_ROWS,
) -> Response:
    from daybook.runs.explain.row_keys import format_keys, parse_keys
    from daybook.workspace.execution import explain_number

    keys = parse_keys(key or [])
    found = show_run(served.workspace, run_id)
    operations = {str(each["seq"]): each for each in found.snapshot["project"]["operations"]}
    # What an output wrote is what the rows before it are; two levels show where they come from.
    depth = 2 if operations.get(operation, {}).get("type") == "output" and keys else 1
    title = f"{found.record.project_id} {found.record.period}: rows of operation {operation}"
    question = served.questions.ask(
        ("explain", run_id, operation, tuple(keys.items()), limit, depth),
        title,
        lambda workspace, _: explain_number(workspace, run_id, operation, keys, limit=limit, depth=depth),
    )
    before = parse_trail(trail)

    def render(explained: Any) -> Response:
        here = explain_address(run_id, explained.first.seq, format_keys(keys))
        label = ", ".join(text for text in keys.values() if text) or f"operation {explained.first.seq}"
        way = (*before, TrailStep(label, here))
        levels = [explained.first, *(each for level in explained.levels for each in level.explanations)]
        return served.templates.page(
            request,
            "explain.html",
            title=title,
            explained=explained,
            views=[_ExplainedView(each, way) for each in levels],
            gaps=[gap for level in explained.levels for gap in level.gaps],
            before=before,
            record=found.record,
            more=explain_address(run_id, explained.first.seq, format_keys(keys), trail=before, limit=limit * 5),
        )

    return answer_page(request, served, question, render)


class _ExplainedView:
    """The rows of one operation, each with the way to the rows behind it."""

    def __init__(self, found: "OperationExplanation", way: tuple[TrailStep, ...]) -> None:
        from daybook.runs.explain.operation import ROWS_TITLES

        self.found = found
        self.title = ROWS_TITLES[found.type]
        self._way = way
        known = {*found.group_by, *found.keys, *(name for origin in found.origins for name in origin.key)}
        self.keys = known | SYSTEM_COLUMNS.keys()

    @property
    def rows(self) -> "list[tuple[Mapping[str, Any], str | None]]":
        """Every row with the address of the rows behind it; none for a line of a source."""
        origins: list[RowOrigin | None] = [*self.found.origins]
        origins += [None] * (len(self.found.rows.rows) - len(origins))
        return [(row, self._behind(origin)) for row, origin in zip(self.found.rows.rows, origins, strict=True)]

    def _behind(self, origin: "RowOrigin | None") -> str | None:
        from daybook.runs.explain.row_keys import format_keys

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
    limit: Annotated[int, Query(ge=1, le=1000)] = 50,
) -> Response:
    from daybook.compare.bridge import BridgeRequest
    from daybook.compare.diff import DiffRequest
    from daybook.workspace.bridge_picture import draw_bridge
    from daybook.workspace.compare import bridge_runs, diff_runs

    form = {"a": a or "", "b": b or "", "output": output or "", "rows": rows, "key": key or ""}
    form |= {"measure": measure or "", "by": by or ""}
    runs = list_runs(served.workspace, status="completed", limit=200).runs
    names = tuple(dict.fromkeys(f"{run.project_id}@{run.period}" for run in runs))
    if not (a and b):
        pairs = _pairs_to_compare(runs)
        return served.templates.page(
            request, "compare.html", title="Compare", form=form, runs=runs, names=names, pairs=pairs, diff=None
        )
    if measure:
        cause = BridgeRequest(a, b, measure, output or None, rows, _names(by))
        question = served.questions.ask(
            ("bridge", cause),
            f"Why {measure} moved from {a} to {b}",
            lambda workspace, listener: bridge_runs(workspace, cause, listener=listener),
        )

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
    wanted = DiffRequest(a, b, output or None, rows, _names(key), limit=limit)
    question = served.questions.ask(
        ("diff", wanted), f"Compare {a} and {b}", lambda workspace, _: diff_runs(workspace, wanted)
    )

    def render(diff: Any) -> Response:
        return served.templates.page(
            request,
            "compare.html",
            title=f"Compare {a} and {b}",
            form=form,
            runs=runs,
            names=names,
            pairs=(),
            diff=diff,
        )

    return answer_page(request, served, question, render)


def _names(text: str | None) -> tuple[str, ...]:
    return tuple(name for part in (text or "").split(",") if (name := part.strip()))


def _pairs_to_compare(runs: Iterable[Any]) -> list[tuple[str, Any, Any]]:
    """For each project: its last two runs of a period, or else its last two periods."""
    by_node: dict[tuple[str, str], list[Any]] = {}
    for run in runs:
        by_node.setdefault((run.project_id, run.period), []).append(run)
    pairs = [
        (f"{project} {period}: the last two runs", found[1], found[0])
        for (project, period), found in by_node.items()
        if len(found) > 1
    ]
    projects: dict[str, list[Any]] = {}
    for (project, _), found in sorted(by_node.items(), key=lambda item: item[0], reverse=True):
        projects.setdefault(project, []).append(found[0])
    pairs += [
        (f"{project}: {found[1].period} and {found[0].period}", found[1], found[0])
        for project, found in projects.items()
        if len(found) > 1
    ]
    return pairs[:12]
