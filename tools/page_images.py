"""Pictures of every page for the documentation, light and dark: `python -m tools.page_images ADDRESS TOKEN`."""

import sys
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

FOLDER = Path(__file__).parents[1] / "docs" / "images"
_SECONDS = 180_000


def _pages(page: Page, address: str) -> dict[str, str]:
    """The demo's pages by name; found by their links, as a reader finds them."""
    page.goto(f"{address}/close")
    run = str(page.locator(".grid tbody tr").first.locator("td a").first.get_attribute("href"))
    page.goto(f"{address}{run}")
    numbers = str(page.locator("#outputs tbody a").first.get_attribute("href"))
    page.goto(f"{address}{numbers}")
    row = page.locator(".sheet tbody tr", has_text="Travel").first
    behind = str(row.locator("td.num a").first.get_attribute("href"))
    return {
        "close": "/close",
        "run": run,
        "numbers": numbers,
        "explain": behind,
        "compare": "/compare?a=close@2026-01&b=close@2026-02",
        "lineage": "/lineage?project=close&table=actual-vs-budget&column=actual",
        "definition": "/definitions/project/close",
        "period": "/periods/2026-01",
        "bridge": "/compare?a=close@2026-01&b=close@2026-02&measure=actual&output=120",
    }


def main(address: str, token: str, *wanted: str) -> None:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        for scheme in ("light", "dark"):
            context = browser.new_context(
                viewport={"width": 1280, "height": 800}, color_scheme="dark" if scheme == "dark" else "light"
            )
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
            context.close()
        browser.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
