"""What the page of an impact says: one change that moves every total is named once, several with every total."""

from decimal import Decimal
from pathlib import Path
from typing import Any

from starlette.requests import Request

from daybook.compare.impact import ImpactCause, ImpactResult, MeasureImpact
from daybook.web.access import Access, Site
from daybook.web.page_templates import Templates
from daybook.workspace.open_workspace import open_workspace
from tests.page import page_folder

RATE, RULE = (ImpactCause("close", name, Decimal(1), f"close {name}") for name in ("rate", "rule"))


def shown(root: Path, *causes: tuple[ImpactCause, ...]) -> str:
    """The page of one total for each group of causes."""
    totals = tuple(
        MeasureImpact(
            "close", "2026-01", f"lake.t{number}", "actual", Decimal(1), Decimal(2), rows_changed=1, causes=group
        )
        for number, group in enumerate(causes)
    )
    result = ImpactResult("active", totals, changed=("close",), runs=1)
    templates = Templates(open_workspace(page_folder(root).root), Access(Site({})))
    scope: dict[str, Any] = {"type": "http", "method": "GET", "path": "/impact", "query_string": b"", "headers": []}
    form = {"project": (), "period": "", "against": "active"}
    return templates.render(Request(scope), "impact.html", title="Impact", impact=result, form=form)


def test_one_change_that_moves_every_total_is_named_once(tmp_path: Path) -> None:
    html = shown(tmp_path / "w", (RATE,), (RATE,))
    assert html.count("close rate") == 1
    assert "<th>By</th>" not in html


def test_several_changes_are_named_with_every_total(tmp_path: Path) -> None:
    html = shown(tmp_path / "w", (RATE,), (RATE, RULE))
    assert (html.count("close rate"), html.count("close rule")) == (2, 1)
    assert "<th>By</th>" in html
