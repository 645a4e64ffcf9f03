"""The page without a mouse: log in, go to the close, a run and its numbers, sort, filter and go back, by keys alone."""

from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest
from playwright.sync_api import Page, expect

from tests.chromium import log_in
from tests.page import TOKEN, served
from tests.workspaces import Folder, no_session, to_table
from tests.written_runs import write_run

_MOST_KEYS = 120
_FOCUS = """() => {
  const element = document.activeElement;
  const style = getComputedStyle(element);
  const label = element.labels && element.labels.length ? element.labels[0].innerText : "";
  const name = (element.getAttribute("aria-label") || label || element.textContent || "").trim();
  return {name: name.replace(/\\s+/g, " "), tag: element.tagName.toLowerCase(), outline: style.outlineStyle,
          width: element.getBoundingClientRect().width};
}"""


ROWS = pa.table(
    {
        "order_id": ["O-1", "O-2", "O-3"],
        "region": ["EMEA", "APAC", "EMEA"],
        "amount": pa.array([Decimal("100.00"), Decimal("-50.25"), Decimal("7.00")], pa.decimal128(18, 2)),
    }
)


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    folder = Folder.new(tmp_path / "w", no_session)
    folder.project({**to_table(columns=["order_id", "region", "amount"]), "name": "Write the orders"})
    folder.apply()
    folder.activate()
    write_run(folder, {1: ROWS})
    return folder


@contextmanager
def shown(page: Page, folder: Folder) -> Iterator[str]:
    """The page of a folder; it is left before its server ends, which would cut its events off."""
    with served(folder) as address:
        yield address
        page.goto("about:blank")


def tab_to(page: Page, name: str) -> None:
    """Tab until something with this name has the focus; everything on the way shows that it has it."""
    for _ in range(_MOST_KEYS):
        page.keyboard.press("Tab")
        found = page.evaluate(_FOCUS)
        if found["tag"] != "body":
            assert found["outline"] != "none", f"nobody sees that {found['name'] or found['tag']} has the focus"
            assert found["width"] > 0, f"{found['name'] or found['tag']} has the focus and is not seen"
        if found["name"] == name:
            return
    raise AssertionError(f"no key leads to {name}")


def log_in_by_keys(page: Page, address: str) -> None:
    page.goto(f"{address}/login")
    tab_to(page, "Token")
    page.keyboard.type(TOKEN)
    page.keyboard.press("Enter")
    page.wait_for_url("**/close*")


def enter(page: Page, name: str) -> None:
    tab_to(page, name)
    with page.expect_navigation():
        page.keyboard.press("Enter")


def test_from_the_login_to_a_sorted_and_filtered_number(page: Page, folder: Folder) -> None:
    with shown(page, folder) as address:
        log_in_by_keys(page, address)

        enter(page, "fresh")
        expect(page.get_by_role("heading", level=1)).to_have_text("p for 2026-01")
        enter(page, "Write the orders")
        sheet = page.locator("table.sheet")
        expect(sheet.locator("tbody tr")).to_have_count(3)
        expect(sheet.locator("tfoot td").last).to_have_text("56.75")

        for order in (["O-1", "O-3", "O-2"], ["O-2", "O-3", "O-1"]):
            enter(page, "amount")
            expect(sheet.locator("tbody tr td:first-child")).to_have_text(order)

        tab_to(page, "Only rows where")
        page.keyboard.type("region")
        tab_to(page, "Value")
        page.keyboard.type("EMEA")
        page.keyboard.press("Enter")
        page.wait_for_url("**region*")
        expect(sheet.locator("tbody tr")).to_have_count(2)
        expect(sheet.locator("tfoot td").last).to_have_text("107.00")

        page.go_back()
        expect(sheet.locator("tbody tr")).to_have_count(3)


def test_the_first_key_leads_past_the_navigation(page: Page, folder: Folder) -> None:
    with shown(page, folder) as address:
        log_in_by_keys(page, address)
        page.keyboard.press("Tab")
        assert page.evaluate(_FOCUS)["name"] == "Skip to the content"
        page.keyboard.press("Enter")
        assert page.url.endswith("#main")


def test_everything_that_can_be_clicked_can_be_reached_by_key(page: Page, folder: Folder) -> None:
    clickable = "a[href], button, input:not([type=hidden]), select, summary, [onclick]"
    with shown(page, folder) as address:
        log_in(page, address)
        for path in ("/close", "/runs", "/numbers", "/compare", "/lineage", "/definitions", "/periods"):
            page.goto(address + path)
            page.evaluate(
                "selector => document.querySelectorAll(selector).forEach((each, at) => each.dataset.key = at)",
                clickable,
            )
            wanted = set(page.eval_on_selector_all(clickable, "found => found.map(each => each.dataset.key)"))
            reached: set[str] = set()
            for _ in range(len(wanted) + 5):
                page.keyboard.press("Tab")
                reached.add(page.evaluate("document.activeElement.dataset.key || ''"))
            assert wanted <= reached, path
            assert not page.locator("[tabindex]:not([tabindex='0']):not([tabindex='-1'])").count(), path


def test_the_focus_stays_when_the_page_shows_something_new(page: Page, folder: Folder) -> None:
    with shown(page, folder) as address:
        log_in(page, address)
        runs = page.locator("#latest tbody tr")
        expect(runs).to_have_count(1)
        first = runs.first.locator("a.id").inner_text()
        tab_to(page, first)
        page.evaluate("document.body.dataset.same = 'page'")
        write_run(folder, {1: ROWS})
        expect(runs).to_have_count(2, timeout=20_000)
        assert page.evaluate("document.body.dataset.same") == "page"
        assert page.evaluate(_FOCUS)["name"] == first
