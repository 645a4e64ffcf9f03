"""The report of the demonstration's close with what changed and why: one small file, with the pictures of the page."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from daybook.workspace.report import ReportRequest, write_report
from tests.chromium import log_in
from tests.page import served
from tests.spark.demo.conftest import ClosedDemo
from tests.workspaces import Folder

# A small run is reported and compared with its page below tests/browser.
pytestmark = [pytest.mark.browser, pytest.mark.slow]
MOST_BYTES = 2_000_000
_SECONDS = 120_000


def write_demo_report(demo: ClosedDemo) -> Path:
    request = ReportRequest(demo.draft, against=demo.run, measures=("actual", "variance"))
    written = write_report(demo.workspace, request, demo.root / "report.html")
    assert (written.run_id, written.compared_with) == (demo.draft, demo.run)
    assert written.size == written.path.stat().st_size
    return written.path


def _check_file(report: Path) -> None:
    text = report.read_text(encoding="utf-8")
    assert report.stat().st_size < MOST_BYTES
    assert "<script" not in text
    assert re.findall(r"(?:src|href)=\"(?!#)[^\"]*\"", text) == []


def _check_opened(chromium: Browser, report: Path, demo: ClosedDemo) -> None:
    context = chromium.new_context(java_script_enabled=False, offline=True)
    page = context.new_page()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(report.as_uri())
    assert asked == [report.as_uri()]
    assert page.get_by_role("heading", level=1).inner_text() == "Month-end close for 2026-01"
    differences = page.locator("#differences")
    assert demo.run in differences.inner_text()
    assert differences.locator("svg.picture").count() == 2
    context.close()


def _check_waterfall(chromium: Browser, page: Page, report: Path, demo: ClosedDemo) -> None:
    folder = Folder(demo.root, demo.workspace.session)
    with served(folder) as address:
        log_in(page, address)
        page.goto(f"{address}/compare?a={demo.run}&b={demo.draft}&measure=actual")
        page.wait_for_selector("[data-question]", state="detached", timeout=_SECONDS)
        on_page = page.locator("svg.picture").first.evaluate("each => each.outerHTML")
        page.goto(f"{address}/close")
    file = chromium.new_page()
    file.goto(report.as_uri())
    in_report = file.locator("#differences svg.picture").first.evaluate("each => each.outerHTML")
    file.close()
    # Ids are made for each document.
    assert re.sub(r"bridge-0(?=[-\"])", "bridge", in_report) == on_page


def test_it_is_small_opens_from_disk_and_has_the_waterfall_of_the_page(
    demo: ClosedDemo, chromium: Browser, page: Page
) -> None:
    report = write_demo_report(demo)
    _check_file(report)
    _check_opened(chromium, report, demo)
    _check_waterfall(chromium, page, report, demo)
