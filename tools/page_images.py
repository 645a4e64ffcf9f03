"""Pictures of every page for the documentation, light and dark: `python -m tools.page_images ADDRESS TOKEN [NAME…]`.

The server shows the demo with all of its projects for 2026-01 to 2026-03, and allows actions. Pictures show who ran it
and on which machine, so both have neutral names. `python -m tools.page_images REPORT.html` takes those of a report.
"""

import sys
from pathlib import Path
from typing import Literal

from playwright.sync_api import BrowserContext, Page, sync_playwright

FOLDER = Path(__file__).parents[1] / "docs" / "images"
_SECONDS = 180_000
_SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")


def _pages(page: Page, address: str) -> dict[str, str]:
    """The demo's pages by name; found by their links, as a reader finds them."""
    page.goto(f"{address}/close")
    row = page.locator(".grid tbody tr", has=page.get_by_role("rowheader", name="close", exact=True))
    run = str(row.locator("td a").last.get_attribute("href"))
    page.goto(f"{address}{run}")
    numbers = str(page.locator("#outputs tbody a").first.get_attribute("href"))
    page.goto(f"{address}{numbers}")
    travel = page.locator(".sheet tbody tr", has_text="Travel").first
    behind = str(travel.locator("td.num a").first.get_attribute("href"))
    return {
        "login": "/login",
        "close": "/close",
        "periods": "/periods",
        "period": "/periods/2026-01",
        "runs": "/runs",
        "run": run,
        "outputs": "/numbers",
        "numbers": numbers,
        "explain": behind,
        "compare": "/compare?a=close@2026-01&b=close@2026-02",
        "bridge": "/compare?a=close@2026-01&b=close@2026-02&measure=actual&output=120",
        "lineage": "/lineage?project=close&table=actual-vs-budget&column=actual",
        "definitions": "/definitions",
        "definition": "/definitions/project/close",
        "lock": "/actions/lock?subject=2026-01",
    }


def _take_pages(context: BrowserContext, scheme: str, address: str, token: str, wanted: tuple[str, ...]) -> None:
    page = context.new_page()
    page.goto(f"{address}/login")
    page.get_by_label("Token").fill(token)
    page.keyboard.press("Enter")
    page.wait_for_url("**/close*")
    for name, path in _pages(page, address).items():
        if wanted and name not in wanted:
            continue
        page.goto(f"{address}{path}")
        page.wait_for_selector("[data-question]", state="detached", timeout=_SECONDS)
        page.screenshot(path=FOLDER / f"page-{name}-{scheme}.png")


def main(target: str, *more: str) -> None:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        for scheme in _SCHEMES:
            context = browser.new_context(viewport={"width": 1280, "height": 800}, color_scheme=scheme)
            if target.endswith(".html"):
                page = context.new_page()
                page.goto(Path(target).resolve().as_uri())
                page.screenshot(path=FOLDER / f"report-{scheme}.png")
            else:
                _take_pages(context, scheme, target, more[0], more[1:])
            context.close()
        browser.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
