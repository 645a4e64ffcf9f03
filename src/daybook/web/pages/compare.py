"""The page that compares two runs: what changed, and why a total changed."""

from collections.abc import Iterable
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from markupsafe import Markup
from starlette.responses import Response

from daybook.pictures.number_format import is_number
from daybook.web.page_templates import preferred_negatives
from daybook.web.pages.explain import answer_page
from daybook.web.served import ServedHere

router = APIRouter()


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
    limit: Annotated[int, Query(ge=1, le=1000)] = 50,
) -> Response:
    from daybook.compare.bridge import BridgeRequest
    from daybook.compare.diff import DiffRequest
    from daybook.workspace.compare import draw_bridge

    form = {"a": a or "", "b": b or "", "output": output or "", "rows": rows, "key": key or ""}
    form |= {"measure": measure or "", "by": by or ""}
    runs = served.runs(status="completed", limit=200).runs
    names = tuple(dict.fromkeys(f"{run.project_id}@{run.period}" for run in runs))
    if not (a and b):
        pairs = _pairs_to_compare(runs)
        return served.templates.page(
            request, "compare.html", title="Compare", form=form, runs=runs, names=names, pairs=pairs, diff=None
        )
    if measure:
        cause = BridgeRequest(a, b, measure, output or None, rows, _names(by))
        question = served.questions.bridge(cause)

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
    question = served.questions.diff(wanted)

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


def _difference(before: Any, after: Any) -> Any:
    """Of two numbers; a row that is missing on one side moves the total by all of its number."""
    from daybook.compare.result import subtract

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
