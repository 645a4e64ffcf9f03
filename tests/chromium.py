"""One Chromium for all tests of the page; a page that reports an error or asks another host fails its test."""

from collections.abc import Iterator
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest

if TYPE_CHECKING:
    # Most processes of tests need no browser.
    from playwright.sync_api import Browser, ConsoleMessage, Page


@pytest.fixture(scope="session")
def chromium() -> "Iterator[Browser]":
    from playwright.sync_api import sync_playwright

    from tests.page import find_browser

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=find_browser(), args=["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"]
        )
        yield browser
        browser.close()


@pytest.fixture
def page(chromium: "Browser") -> "Iterator[Page]":
    context = chromium.new_context(viewport={"width": 1280, "height": 800})
    opened = context.new_page()
    problems: list[str] = []

    def note(message: "ConsoleMessage") -> None:
        # A stream of events that ends with the server of a test is no error of the page.
        if message.type == "error" and "net::ERR_" not in message.text:
            problems.append(message.text)

    opened.on("console", note)
    opened.on("pageerror", lambda error: problems.append(str(error)))
    opened.on(
        "request",
        lambda request: problems.append(request.url) if urlsplit(request.url).hostname != "127.0.0.1" else None,
    )
    yield opened
    context.close()
    assert problems == []


def log_in(page: "Page", address: str) -> None:
    from tests.page import TOKEN

    page.goto(f"{address}/login")
    page.get_by_label("Token").fill(TOKEN)
    page.keyboard.press("Enter")
    page.wait_for_url("**/close*")
