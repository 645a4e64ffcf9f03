"""Every page in a real browser: no error in the console, nothing from another host, keys instead of a mouse."""

from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest
from playwright.sync_api import Page, expect

from daybook.store import open_store
from daybook.store.records import Lease, OperationResult
from daybook.store.store import Transaction
from tests.chromium import log_in
from tests.page import RUN, TOKEN, page_folder, record_run, served
from tests.unit.store.samples import later
from tests.workspaces import Folder, assign, no_session, to_table
from tests.written_runs import write_run


def _lease(transaction: Transaction) -> Lease:
    """That of the process which runs it."""
    run = transaction.runs.get(RUN)
    return Lease(run.id, run.project_id, run.period, run.token, later(3600))


PAGES = [
    "/close",
    "/close?period=2026-01..2026-03",
    "/periods",
    "/periods/2026-01",
    "/runs",
    "/numbers",
    "/compare",
    "/lineage",
    "/lineage?table=orders&column=amount",
    "/definitions",
    "/definitions/project/p",
    "/definitions/dataset/orders",
    "/errors/RUN_001",
    "/requests",
    "/actions",
    "/actions/lock?subject=2026-01",
    "/actions/build?subject=2026-01",
]


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    made = Folder.new(tmp_path / "w", no_session)
    made.project(assign("net", "amount * 0.9"), to_table(columns=["order_id", "region", "net"]))
    return made


def write_numbers(folder: Folder) -> str:
    amounts = pa.array([Decimal("1234567.500"), Decimal("-0.500"), None], pa.decimal128(21, 3))
    names = ["O-1", "<script>alert(1)</script>", "O-3"]
    return write_run(folder, {2: pa.table({"order_id": names, "region": ["EMEA", "APAC", None], "net": amounts})})


def test_every_page_is_quiet(page: Page, folder: Folder) -> None:
    run = write_numbers(folder)
    folder.activate()
    with served(folder, allows_actions=True) as address:
        log_in(page, address)
        for path in (*PAGES, f"/runs/{run}", f"/runs/{run}/outputs/2"):
            answer = page.goto(f"{address}{path}")
            assert answer is not None
            assert answer.status == 200, path
            assert page.get_by_role("heading", level=1).count() == 1, path


def test_numbers_are_sorted_filtered_totalled_and_shown_as_the_reader_prefers(page: Page, folder: Folder) -> None:
    run = write_numbers(folder)
    with served(folder) as address:
        log_in(page, address)
        page.goto(f"{address}/runs/{run}/outputs/2")
        total = page.locator("tfoot td.num")
        assert total.inner_text() == "1,234,567.000"
        page.get_by_role("link", name="net").click()
        cells = page.locator("tbody td.num")
        expect(cells).to_have_text(["1,234,567.500", "\u22120.500", "\u2013"])
        page.get_by_role("button", name="(1,234.00)").click()
        expect(cells).to_have_text(["1,234,567.500", "(0.500)", "\u2013"])
        page.get_by_label("Only rows where").select_option("region")
        page.get_by_label("Value", exact=True).fill("APAC")
        page.keyboard.press("Enter")
        expect(cells).to_have_text(["(0.500)"])
        assert total.inner_text() == "(0.500)"
        page.reload()
        assert page.locator("tbody td").first.inner_text() == "<script>alert(1)</script>"
        page.get_by_title("Remove this condition").click()
        expect(cells).to_have_count(3)
        with page.expect_download() as download:
            page.get_by_role("link", name="Download CSV").click()
        assert download.value.suggested_filename == "p-2026-01-2.csv"


def test_on_paper_there_is_the_whole_table_and_nothing_to_click(page: Page, folder: Folder) -> None:
    run = write_numbers(folder)
    with served(folder, allows_actions=True) as address:
        log_in(page, address)
        page.goto(f"{address}/runs/{run}/outputs/2")
        page.emulate_media(media="print")
        total = page.locator("tfoot td").first
        assert total.evaluate("each => getComputedStyle(each).position") == "static"
        assert page.locator("tfoot").evaluate("each => getComputedStyle(each).display") == "table-row-group"
        expect(page.locator(".filter")).to_be_hidden()
        expect(page.locator("nav")).to_be_hidden()
        page.goto(f"{address}/runs/{run}")
        expect(page.locator(".actions")).to_be_hidden()


def test_the_page_is_used_without_a_mouse(page: Page, tmp_path: Path) -> None:
    folder = page_folder(tmp_path)
    record_run(folder)
    with served(folder) as address:
        page.goto(f"{address}/runs")
        page.keyboard.type(TOKEN)
        page.keyboard.press("Enter")
        page.wait_for_url("**/runs")
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.textContent") == "Skip to the content"
        page.keyboard.press("Enter")
        for _ in range(12):
            page.keyboard.press("Tab")
            if page.evaluate("document.activeElement.textContent") == RUN:
                break
        outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
        assert outline == "solid"
        page.keyboard.press("Enter")
        page.wait_for_url(f"**/runs/{RUN}")


def test_a_run_of_another_process_is_followed(page: Page, tmp_path: Path) -> None:
    folder = page_folder(tmp_path)
    record_run(folder, status=None)
    with served(folder) as address:
        log_in(page, address)
        page.goto(f"{address}/runs/{RUN}")
        expect(page.locator("#run-state")).to_have_text("running")
        with open_store("sqlite:///.daybook/store.db", root=folder.root) as store, store.write() as transaction:
            transaction.outcomes.record_operations(
                _lease(transaction), OperationResult(2, "op-2", "output", rows_written=77)
            )
        expect(page.locator("#steps")).to_contain_text("77")
        with open_store("sqlite:///.daybook/store.db", root=folder.root) as store, store.write() as transaction:
            transaction.runs.finish(_lease(transaction), "completed", now=later(9))
        expect(page.locator("#run-state")).to_have_text("completed")


def test_an_action_asks_back_and_is_recorded(page: Page, tmp_path: Path) -> None:
    folder = page_folder(tmp_path)
    with served(folder, allows_actions=True) as address:
        log_in(page, address)
        page.goto(f"{address}/periods/2026-01")
        page.get_by_role("link", name="Lock…").click()
        expect(page.get_by_text("Lock 2026-01: no run can change it any more.")).to_be_visible()
        page.get_by_label("Reason").fill("signed off")
        page.get_by_role("button", name="Lock 2026-01").click()
        page.wait_for_url("**/periods/2026-01")
        expect(page.locator(".state").first).to_have_text("locked")
        page.goto(f"{address}/actions")
        expect(page.get_by_role("row", name="controlling")).to_contain_text("signed off")


# The outline of a field that has the focus is 2 px wide and 2 px away from it.
_OUTLINE = 4


def test_the_outline_of_the_reason_stays_clear_of_the_texts_beside_it(page: Page, tmp_path: Path) -> None:
    with served(page_folder(tmp_path), allows_actions=True) as address:
        log_in(page, address)
        page.goto(f"{address}/actions/lock?subject=2026-01")
        field = page.get_by_label("Reason")
        expect(field).to_be_focused()
        label, text = page.locator(".confirm label").bounding_box(), page.locator("label ~ .muted").bounding_box()
        box = field.bounding_box()
        assert box is not None
        assert label is not None
        assert text is not None
        assert box["x"] - (label["x"] + label["width"]) >= 2 * _OUTLINE
        assert text["x"] - (box["x"] + box["width"]) >= 2 * _OUTLINE
