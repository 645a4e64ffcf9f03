"""Attacks on the page and its API: nothing is read, shown or changed that should not be."""

from pathlib import Path

import pytest

from daybook.web.pages.explain import TrailStep, format_trail, parse_trail
from tests.page import RUN, TOKEN, client, page_folder, record_run
from tests.workspaces import Folder

NASTY = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "{{7*7}}",
    "'; DROP TABLE run; --",
    "../../../../etc/passwd",
    "..%2f..%2fdaybook.yaml",
    "\u202egnp.exe",
    "\x00",
    "a" * 3000,
]


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    made = page_folder(tmp_path)
    record_run(made)
    return made


PLACES = [
    "/close?period={}",
    "/runs?project={}",
    "/runs?period={}",
    "/runs?after={}",
    "/runs/{}",
    "/runs/{}/outputs/2",
    f"/runs/{RUN}/outputs/2?where={{}}",
    f"/runs/{RUN}/outputs/2?sort={{}}",
    "/definitions/project/{}",
    "/definitions/{}/p",
    "/periods/{}",
    "/periods?calendar={}",
    "/compare?a={}",
    "/lineage?project={}",
    "/lineage?table={}&column=x",
    "/errors/{}",
    "/login?next={}",
    "/actions/lock?subject={}",
    "/actions/{}?subject=x",
    "/static/{}",
    "/api/v1/runs/{}",
    "/api/v1/status?period={}",
    "/api/v1/definitions/project/{}",
    "/api/v1/lineage?downstream={}",
    "/api/v1/questions/{}/events",
]


@pytest.mark.parametrize("place", PLACES)
def test_texts_from_the_address_do_nothing(folder: Folder, place: str) -> None:
    from urllib.parse import quote

    browser = client(folder, allows_actions=True)
    for text in NASTY:
        answer = browser.get(place.format(quote(text, safe="")))
        shown = answer.text
        assert answer.status_code < 500, (text, shown)
        if answer.headers["content-type"].startswith("text/html"):
            assert "<script>alert" not in shown
            assert "<img src=x" not in shown
        assert "Traceback" not in shown
        assert "root:" not in shown
        assert "\u202e" not in shown or answer.headers["content-type"].startswith("application/")
    assert browser.get(f"/api/v1/runs/{RUN}").status_code == 200


@pytest.mark.parametrize("name", ["definitions/project-p.yaml", "/etc/passwd", "../w/definitions/project-p.yaml"])
def test_files_are_never_named_by_the_client(folder: Folder, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder.root)
    program = client(folder, allows_actions=True)
    assert program.get("/api/v1/lineage", params={"project": name}).json()["code"] == "WEB_015"
    assert program.get("/lineage", params={"project": name}).status_code == 400
    run = program.post("/api/v1/runs", json={"project": name, "period": "2026-01"})
    assert run.json()["code"] == "WEB_015"
    activate = program.post("/actions/activate", data={"subject": name}, headers={"Origin": "http://testserver"})
    assert activate.status_code == 400


def test_secrets_of_the_workspace_are_not_served(folder: Folder) -> None:
    browser = client(folder)
    for path in (
        "/daybook.yaml",
        "/static/../app.py",
        "/static/%2e%2e/app.py",
        "/static/..%2fapp.py",
        "/.daybook/store.db",
    ):
        assert browser.get(path).status_code == 404


def test_a_token_in_the_address_is_no_token(folder: Folder) -> None:
    visitor = client(folder, token=None)
    for path in (
        f"/api/v1/runs?token={TOKEN}",
        f"/api/v1/runs?access_token={TOKEN}",
        f"/api/v1/runs?authorization={TOKEN}",
    ):
        assert visitor.get(path).status_code == 401


@pytest.mark.parametrize("header", ["Basic {}", "bearer", "Bearer", "Token {}", "Bearer {} x", "Bearer \u00e9"])
def test_only_the_whole_bearer_token_counts(folder: Folder, header: str) -> None:
    sent = {b"Authorization": header.format(TOKEN).encode("latin-1")}
    assert client(folder, token=None).get("/api/v1/runs", headers=sent).status_code == 401


def test_a_session_that_somebody_made_up_is_none(folder: Folder) -> None:
    visitor = client(folder, token=None)
    visitor.cookies.set("daybook_8484", "made-up")
    assert visitor.get("/api/v1/runs").status_code == 401


def test_a_login_gets_a_session_of_its_own(folder: Folder) -> None:
    """Nobody can give somebody else a session to log in to."""
    browser = client(folder, token=None)
    sent = {"Origin": "http://testserver", "Cookie": "daybook_8484=chosen"}
    answer = browser.post("/login", data={"token": TOKEN}, headers=sent)
    assert "daybook_8484=chosen" not in answer.headers["set-cookie"]
    assert browser.get("/api/v1/runs", headers={"Cookie": "daybook_8484=chosen"}).status_code == 401


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "TRACE", "OPTIONS"])
def test_other_methods_do_nothing(folder: Folder, method: str) -> None:
    answer = client(folder).request(method, f"/api/v1/runs/{RUN}", headers={"Origin": "http://testserver"})
    assert (answer.status_code, answer.json()["code"]) == (405, "WEB_014")


def test_actions_cannot_be_done_by_reading(folder: Folder) -> None:
    browser = client(folder, allows_actions=True)
    assert "no run can change it" in browser.get("/actions/lock?subject=2026-01").text
    assert browser.get("/api/v1/periods/2026-01").json()["status"] == "open"
    assert browser.get("/api/v1/periods/2026-01/lock").status_code == 405


def test_a_trail_leads_nowhere_else() -> None:
    steps = parse_trail(format_trail([TrailStep("x", "https://evil.example"), TrailStep("y", "//evil.example")]))
    assert [step.address for step in steps] == ["/", "/"]
    for text in ("%%%", "e30", "W10x", "WzFd", "x" * 500):
        assert parse_trail(text) == ()
