"""A number followed down to its source lines, with the sums on screen checked against our own; two runs compared."""

import csv
import re
from decimal import Decimal
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect
from pyspark.sql import SparkSession

from daybook.workspace.open_workspace import open_workspace
from daybook.workspace.report import ReportRequest, write_report
from tests.chromium import log_in
from tests.page import served
from tests.workspaces import Folder, to_table

pytestmark = pytest.mark.spark
_SECONDS = 120_000


def amount_of(text: str) -> Decimal:
    """A number as the page shows it."""
    return Decimal(text.replace(",", "").replace("\u2212", "-"))


@pytest.fixture
def folder(tmp_path: Path, spark: SparkSession) -> Folder:
    made = Folder.new(tmp_path / "w", lambda: spark)
    totals = {
        "name": "By region",
        "type": "aggregate",
        "arguments": {
            "group_by": ["region"],
            "aggregations": [{"column": "amount", "expression": "COALESCE(SUM(amount), 0)"}],
        },
    }
    made.project(
        totals,
        to_table(columns=["region", "amount"], register_as_dataset="by-region") | {"selector": "_operation_seq = 1"},
        id_="regions",
    )
    made.project(to_table("whole", columns=["region", "amount"]), id_="board", input_="by-region")
    return made


def test_three_clicks_from_a_total_to_the_lines_of_the_source(page: Page, folder: Folder) -> None:
    folder.run("2026-01", "regions")
    folder.run("2026-01", "board")
    with (folder.root / "data" / "orders.csv").open(newline="") as stream:
        lines = [row for row in csv.DictReader(stream) if row["_period"] == "2026-01" and row["region"] == "EMEA"]
    expected = sum((Decimal(row["amount"]) for row in lines), Decimal(0))
    with served(folder) as address:
        log_in(page, address)
        page.get_by_role("link", name="Numbers").click()
        page.get_by_role("row", name="board").get_by_role("link", name=re.compile("output")).click()
        page.get_by_role("row", name="EMEA").locator("td.num a").click()
        page.wait_for_selector("[data-question]", state="detached", timeout=_SECONDS)
        assert amount_of(page.locator(".level").first.locator("td.num").first.inner_text()) == expected
        for _ in range(3):
            sums = page.locator(".sums tbody tr")
            for row in sums.all_inner_texts():
                cells = [cell for cell in row.split("\t")[1:] if cell.strip()]
                numbers = cells[: cells.index("equal")]
                assert {amount_of(cell) for cell in numbers} == {expected}
            if page.get_by_text("source line", exact=True).count():
                break
            page.locator(".level").last.get_by_role("link", name="The rows behind this row").first.click()
            page.wait_for_selector("[data-question]", state="detached", timeout=_SECONDS)
        expect(page.locator(".sums")).to_contain_text("COALESCE(SUM(amount), 0)")
        expect(page.locator(".level").last).to_contain_text("read from orders")
        shown = page.locator(".level").last.locator("table.sheet").last.locator("tbody tr td.num").all_inner_texts()
        assert sorted(map(amount_of, shown)) == sorted(Decimal(row["amount"]) for row in lines)
        expect(page.locator(".sums")).to_be_visible()
        page.locator(".trail a").first.click()
        assert page.url.partition("?")[0].endswith("/outputs/1")


def test_two_runs_are_compared_and_the_difference_has_causes(chromium: Browser, page: Page, folder: Folder) -> None:
    before = folder.run("2026-01", "regions").run_id
    path = folder.root / "data" / "orders.csv"
    path.write_text(path.read_text() + "O-9,EMEA,25.00,2026-01\n")
    after = folder.run("2026-01", "regions").run_id
    with served(folder) as address:
        log_in(page, address)
        page.get_by_role("link", name="Compare").click()
        page.get_by_role("link", name="regions 2026-01: the last two runs").click()
        page.wait_for_selector("[data-question]", state="detached", timeout=_SECONDS)
        total = page.get_by_role("row", name="amount").first.locator("td.num").all_inner_texts()
        assert total == ["150.00", "175.00", "25.00"]
        changed = page.locator("tr", has=page.locator(".state", has_text="changed"))
        assert changed.locator("td.num").all_inner_texts() == ["150.00", "175.00", "25.00"]
        page.get_by_role("link", name="why?").click()
        page.wait_for_selector("[data-question]", state="detached", timeout=_SECONDS)
        expect(page.get_by_text("the shares add up")).to_be_visible()
        assert page.locator("svg.picture").count() == 1
        on_page = page.locator("svg.picture").evaluate("each => each.outerHTML")
        page.go_back()
        expect(page.get_by_role("heading", name="Totals")).to_be_visible()
    request = ReportRequest(after, against=before, measures=("amount",))
    report = write_report(open_workspace(folder.root, session=folder.session), request, folder.root / "report.html")
    assert (report.run_id, report.compared_with) == (after, before)
    file = chromium.new_page()
    file.goto(report.path.as_uri())
    in_report = file.locator("#differences svg.picture").evaluate("each => each.outerHTML")
    file.close()
    # Ids are made for each document.
    assert re.sub(r"bridge-0(?=[-\"])", "bridge", in_report) == on_page
