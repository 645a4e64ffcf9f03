"""From the login to the close and to a run, as somebody does it in a browser."""

from pathlib import Path

from playwright.sync_api import Page

from tests.chromium import log_in
from tests.page import RUN, page_folder, record_run, served


def test_the_status_grid_leads_to_the_run(page: Page, tmp_path: Path) -> None:
    folder = page_folder(tmp_path)
    record_run(folder)
    with served(folder) as address:
        page.goto(address)
        assert page.url == f"{address}/login"
        log_in(page, address)
        grid = page.get_by_role("table").first
        assert grid.get_by_role("columnheader").all_inner_texts() == ["Project", "2026-01"]
        grid.get_by_role("row", name="p").get_by_role("cell").get_by_role("link").click()
        assert page.url == f"{address}/runs/{RUN}"
        steps = page.locator("#steps tbody tr")
        assert [row.split("\t")[1] for row in steps.all_inner_texts()] == ["Read the input", "Leave out", "output 2"]
        page.go_back()
        assert page.url == f"{address}/close"
