"""A report opens from disk, without script and without a network, in light and dark and on paper."""

from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest
from playwright.sync_api import Browser

import daybook
from tests.workspaces import Folder, assign, no_session, to_table
from tests.written_runs import write_run


@pytest.fixture
def report(tmp_path: Path) -> Path:
    folder = Folder.new(tmp_path / "w", no_session)
    folder.project(assign("net", "amount * 0.9"), to_table(columns=["order_id", "region", "net"]), name="Month end")
    amounts = pa.array([Decimal("1234.500"), Decimal("-0.500")], pa.decimal128(21, 3))
    rows = pa.table({"order_id": ["O-1", "<b>O-2</b>"], "region": ["EMEA", "APAC"], "net": amounts})
    run_id = write_run(folder, {2: rows})
    return daybook.Workspace(folder.root).report(run_id, tmp_path / "report.html", differences=False).path


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_is_read_without_script_and_network(chromium: Browser, report: Path, scheme: str) -> None:
    context = chromium.new_context(color_scheme=scheme, java_script_enabled=False, offline=True)  # type: ignore[arg-type]
    page = context.new_page()
    asked: list[str] = []
    problems: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda message: problems.append(message.text))
    page.goto(report.as_uri())
    assert (asked, problems) == ([report.as_uri()], [])
    assert page.get_by_role("heading", level=1).inner_text() == "Month end for 2026-01"
    numbers = page.locator("#numbers table")
    assert numbers.locator("tbody tr").all_inner_texts() == ["<b>O-2</b>\tAPAC\t\u22120.500", "O-1\tEMEA\t1,234.500"]
    assert numbers.locator("tfoot tr").all_inner_texts() == ["Total\t\t1,234.000"]
    page.get_by_role("link", name="Lineage").click()
    assert page.url.endswith("#lineage")
    picture = page.locator("svg.picture")
    assert picture.bounding_box() is not None
    assert "Where the columns of lake.result come from" in (picture.locator("title").first.text_content() or "")
    context.close()


def test_colours_follow_the_reader(chromium: Browser, report: Path) -> None:
    grounds = []
    for scheme in ("light", "dark"):
        page = chromium.new_page(color_scheme=scheme)
        page.goto(report.as_uri())
        grounds.append(page.evaluate("getComputedStyle(document.documentElement).backgroundColor"))
        page.close()
    assert grounds[0] == "rgb(255, 255, 255)"
    assert grounds[0] != grounds[1]
