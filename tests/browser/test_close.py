"""From the login to the close and to a run, as somebody does it in a browser."""

from pathlib import Path

from playwright.sync_api import Page, expect

from tests.chromium import log_in
from tests.page import RUN, page_folder, record_run, served


def test_the_status_grid_leads_to_the_run(page: Page, tmp_path: Path) -> None:
    folder = page_folder(tmp_path)
    record_run(folder)
    with served(folder) as address:
        page.goto(address)
        expect(page).to_have_url(f"{address}/login")
        log_in(page, address)
        grid = page.get_by_role("table").first
        expect(grid.get_by_role("columnheader")).to_have_text(["Project", "2026-01"])
        grid.get_by_role("row", name="p").get_by_role("cell").get_by_role("link").click()
        expect(page).to_have_url(f"{address}/runs/{RUN}")
        steps = page.locator("#steps tbody tr td:nth-child(2)")
        expect(steps).to_have_text(["Read the input", "Leave out", "output 2"])
        page.go_back()
        expect(page).to_have_url(f"{address}/close")
