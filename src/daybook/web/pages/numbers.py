"""Pages of numbers: the outputs of every run, and the rows of one output, sorted, filtered and totalled."""

import json
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Query, Request
from starlette.responses import RedirectResponse, Response

from daybook.model.types import value_text
from daybook.web.access import address_with
from daybook.web.pages.explain import PAGE_ROWS, TrailStep, answer_page, explain_address
from daybook.web.served import ServedHere, csv_response, numbers_request, reader_of

if TYPE_CHECKING:
    from daybook.workspace.numbers import NumbersPage

router = APIRouter()


_MOST_KEYS = 8


@router.get("/numbers")
def numbers_index(request: Request, served: ServedHere) -> Response:
    """The latest completed run of every project and period with what it wrote."""
    runs = served.runs(status="completed", limit=200).runs
    # The newest one, and a draft only where there is nothing else.
    by_age = sorted(runs, key=lambda run: (not run.is_draft, run.created_at))
    latest = {(run.project_id, run.period): run for run in by_age}
    shown = sorted(latest.values(), key=lambda run: (run.project_id, run.period))
    outputs = {run.id: served.outputs(run.id) for run in shown}
    return served.templates.page(request, "numbers_index.html", title="Numbers", runs=shown, outputs=outputs)


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
    column: Annotated[str | None, Query(max_length=300)] = None,
    comparison: Annotated[str | None, Query(max_length=300)] = None,
    value: Annotated[str | None, Query(max_length=300)] = None,
) -> Response:
    where, sort = where or [], sort or []
    path = f"/runs/{run_id}/outputs/{seq}"
    if column and comparison:
        # The form adds a condition; the address that is shown has all of them in one form.
        added = [column, comparison] if comparison.endswith("null") else [column, comparison, value or ""]
        pairs = [("where", condition) for condition in (*where, json.dumps(added, ensure_ascii=False))]
        return RedirectResponse(address_with(path, [*pairs, *(("sort", order) for order in sort)]), 303)
    page_request = numbers_request(
        run_id, seq, where, sort, offset=offset, limit=PAGE_ROWS, has_totals=totals or None, has_reading_order=True
    )

    def render(page: "NumbersPage") -> Response:
        return served.templates.page(
            request,
            "numbers.html",
            title=f"{page.project_id} {page.period}: {page.output.name}",
            page=page,
            view=_NumbersView(page, path, where, sort),
            where=where,
            sort=sort,
        )

    from daybook.workspace.numbers import SessionNeededError, read_numbers

    with suppress(SessionNeededError):
        return render(served.numbers(replace(page_request, starts_session=False)))
    question = served.questions.ask(
        ("numbers", page_request),
        "Numbers",
        lambda workspace, _: read_numbers(workspace, page_request),
        reader=reader_of(request),
    )
    return answer_page(request, served, question, render)


@router.get("/runs/{run_id}/outputs/{seq}/rows.csv")
def numbers_csv(
    served: ServedHere,
    run_id: str,
    seq: int,
    where: Annotated[list[str] | None, Query()] = None,
    sort: Annotated[list[str] | None, Query()] = None,
) -> Response:
    return csv_response(served, numbers_request(run_id, seq, where or [], sort or []))


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
        pairs = [*(("where", condition) for condition in where), *(("sort", column) for column in sort)]
        return address_with(self._path, [*pairs, *([("offset", str(offset))] if offset else [])])

    def sorted_by(self, column: str) -> str:
        """From large to small first, then the other way round, then as it is stored."""
        following = {f"-{column}": [column], column: []}
        return self._address(self._where, following.get(self._sort[0] if self._sort else "", [f"-{column}"]))

    def order_of(self, column: str) -> str | None:
        first = self._sort[0] if self._sort else ""
        return {f"-{column}": "descending", column: "ascending"}.get(first)

    def without(self, condition: str) -> str:
        return self._address([own_condition for own_condition in self._where if own_condition != condition], self._sort)

    def at(self, offset: int) -> str:
        return self._address(self._where, self._sort, max(0, offset))

    @property
    def with_totals(self) -> str:
        """The same rows with their totals, of an output that is summed up only when asked."""
        here = self._address(self._where, self._sort, self._page.offset)
        return f"{here}{'&' if '?' in here else '?'}totals=true"

    @property
    def csv(self) -> str:
        pairs = [*(("where", condition) for condition in self._where), *(("sort", column) for column in self._sort)]
        return address_with(f"{self._path}/rows.csv", pairs)

    def behind(self, row: tuple[Any, ...]) -> str:
        """The rows behind a row of this page."""
        from daybook.runs.explain.row_origins import format_keys

        names = [column.name for column in self._page.columns]
        keys = {names[number]: None if row[number] is None else value_text(row[number]) for number in self._keys}
        here = self._address(self._where, self._sort, self._page.offset)
        text = f"{self._page.project_id} {self._page.period}: {self._page.output.name}"
        return explain_address(
            self._page.run_id, self._page.output.operation_seq, format_keys(keys), trail=[TrailStep(text, here)]
        )
