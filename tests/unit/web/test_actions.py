"""Actions: only where they are allowed, only from the page itself, and recorded with who."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from daybook.errors import DaybookError
from daybook.store.records import RunRecord
from daybook.web.access import Visitor
from daybook.web.actions import ActionRequest, PageActions
from daybook.workspace.open_workspace import open_workspace
from daybook.workspace.periods import show_period
from daybook.workspace.runs import list_actions
from tests.page import RUN, client, log_in, page_folder, record_run
from tests.workspaces import Folder

HERE = {"Origin": "http://testserver"}


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return page_folder(tmp_path)


def browser(folder: Folder, **more: bool) -> TestClient:
    opened = client(folder, token=None, **more)
    log_in(opened)
    return opened


def csrf_of(opened: TestClient) -> str:
    return opened.get("/runs").text.partition('name="csrf" value="')[2].partition('"')[0]


def status_of(folder: Folder, period: str) -> str:
    return show_period(open_workspace(folder.root), period).status.status


def test_an_action_asks_back_what_it_will_do(folder: Folder) -> None:
    page = browser(folder, allows_actions=True).get("/actions/lock?subject=2026-01").text
    assert "Lock 2026-01: no run can change it any more." in page
    assert status_of(folder, "2026-01") == "open"


def test_locking_is_recorded_with_the_name_of_the_token(folder: Folder) -> None:
    opened = browser(folder, allows_actions=True)
    form = {"subject": "2026-01", "reason": "signed off", "csrf": csrf_of(opened)}
    answer = opened.post("/actions/lock", data=form, headers=HERE)
    assert (answer.status_code, answer.headers["location"]) == (303, "/periods/2026-01")
    changed = show_period(open_workspace(folder.root), "2026-01").history[-1]
    assert (changed.status, changed.changed_by, changed.reason) == ("locked", "controlling", "signed off")
    (action,) = list_actions(open_workspace(folder.root))
    assert (action.done_by, action.name, action.subject) == ("controlling", "lock", "2026-01")
    assert action.details["reason"] == "signed off"
    assert "controlling" in opened.get("/actions").text


@pytest.mark.parametrize("csrf", [None, "", "wrong"])
def test_without_the_value_of_the_login_nothing_happens(folder: Folder, csrf: str | None) -> None:
    opened = browser(folder, allows_actions=True)
    form = {"subject": "2026-01"} | ({} if csrf is None else {"csrf": csrf})
    answer = opened.post("/actions/lock", data=form, headers=HERE)
    assert answer.status_code == 403
    assert "WEB_010" in answer.text
    refused = opened.post("/api/v1/periods/2026-01/lock", json={}, headers={**HERE, "X-CSRF": csrf or ""})
    assert refused.json()["code"] == "WEB_010"
    assert status_of(folder, "2026-01") == "open"


def test_another_page_cannot_act_with_the_cookie(folder: Folder) -> None:
    opened = browser(folder, allows_actions=True)
    form = {"subject": "2026-01", "csrf": csrf_of(opened)}
    for headers in ({"Origin": "http://evil.example"}, {"Sec-Fetch-Site": "cross-site"}, {}):
        assert opened.post("/actions/lock", data=form, headers=headers).status_code == 403
    assert status_of(folder, "2026-01") == "open"


def test_the_log_of_actions_leads_to_what_they_changed_and_says_when_nothing_was(folder: Folder) -> None:
    opened = browser(folder, allows_actions=True)
    for _ in range(2):
        form = {"subject": "2026-03", "reason": "books are complete", "csrf": csrf_of(opened)}
        assert opened.post("/actions/close", data=form, headers=HERE).status_code == 303
    shown = opened.get("/actions").text
    assert shown.count('<a href="/periods/2026-03">2026-03</a>') == 2
    assert shown.count("nothing changed, reason: books are complete") == 1
    assert "changed: true" not in shown


def test_without_allow_actions_there_are_none(folder: Folder) -> None:
    opened = browser(folder)
    form = {"subject": "2026-01", "csrf": csrf_of(opened)}
    assert opened.post("/actions/lock", data=form, headers=HERE).status_code == 403
    assert opened.get("/actions/lock?subject=2026-01").status_code == 403
    assert client(folder).post("/api/v1/periods/2026-01/lock", json={}).json()["code"] == "WEB_012"
    assert "/actions/" not in opened.get("/periods/2026-01").text
    assert status_of(folder, "2026-01") == "open"


def test_somebody_without_a_token_cannot_act_on_an_open_page(folder: Folder) -> None:
    visitor = client(folder, token=None, is_open=True, allows_actions=True)
    assert visitor.post("/api/v1/periods/2026-01/lock", json={}).json()["code"] == "WEB_005"
    assert visitor.post("/actions/lock", data={"subject": "2026-01"}, headers=HERE).status_code == 401
    assert status_of(folder, "2026-01") == "open"


def test_a_run_can_be_cancelled_and_says_who_did_it(folder: Folder) -> None:
    record_run(folder, status=None)
    done = client(folder, allows_actions=True).post(f"/api/v1/runs/{RUN}/cancel")
    assert done.json() == {"action": "cancel", "subject": RUN, "run": RUN, "changed": True}
    found: RunRecord = folder.last_run()
    assert found.cancel_requested_at is not None or found.status == "cancelled"


def test_what_cannot_be_done_says_why(folder: Folder) -> None:
    record_run(folder)
    program = client(folder, allows_actions=True)
    refused = program.post(f"/api/v1/runs/{RUN}/cancel")
    assert (refused.status_code, refused.json()["code"]) == (409, "STORE_015")
    assert program.post("/api/v1/runs", json={"project": "p"}).json()["code"] == "WEB_015"
    assert program.post("/api/v1/runs", json={"project": "p", "period": "2026-01", "x": 1}).status_code == 400
    locked = program.post("/api/v1/periods/2026-01/lock", json={})
    assert locked.status_code == 200
    run = program.post("/api/v1/runs", json={"project": "p", "period": "2026-01"})
    assert (run.status_code, run.json()["code"]) == (409, "RUN_002")
    recorded = [(each.name, each.details.get("refused")) for each in list_actions(open_workspace(folder.root))]
    assert recorded == [("run", "RUN_002"), ("lock", None), ("cancel", "STORE_015")]
    log_in(program)
    assert "refused: STORE_015" in program.get("/actions").text


def test_an_action_that_ends_with_the_server_is_recorded(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    def end(*_: object, **__: object) -> None:
        raise SystemExit

    monkeypatch.setattr("daybook.workspace.periods.lock_period", end)
    with pytest.raises(SystemExit):
        PageActions(open_workspace(folder.root)).perform(ActionRequest("lock", "2026-01"), Visitor("ann"))
    (action,) = list_actions(open_workspace(folder.root))
    assert (action.done_by, action.name, action.subject, dict(action.details)) == ("ann", "lock", "2026-01", {})


def test_nothing_is_done_that_cannot_be_recorded(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise DaybookError("STORE_003", place="store.db", reason="locked")

    monkeypatch.setattr("daybook.store.database.outcomes.Actions.record", refuse)
    refused = client(folder, allows_actions=True).post("/api/v1/periods/2026-01/lock", json={})
    assert refused.json()["code"] == "STORE_003"
    assert status_of(folder, "2026-01") == "open"


def test_refused_runs_of_many_readers_leave_the_list_of_works_as_it_was(folder: Folder) -> None:
    actions = PageActions(open_workspace(folder.root))

    def begin(_: int) -> str:
        try:
            actions.perform(ActionRequest("run", "nothing", "2026-01"), Visitor("ann"))
        except DaybookError as refused:
            return refused.code
        return "begun"

    with ThreadPoolExecutor(8) as readers:
        assert set(readers.map(begin, range(40))) == {"RUN_001"}
    assert actions.works == ()


def test_activating_from_the_page(folder: Folder) -> None:
    done = client(folder, allows_actions=True).post("/api/v1/projects/p/activate")
    assert done.json() == {"action": "activate", "subject": "p", "run": None, "changed": False}


@pytest.mark.parametrize(
    ("request_", "sentence"),
    [
        (ActionRequest("lock", "2026-01"), "Lock 2026-01: no run can change it any more."),
        (ActionRequest("run", "p", "2026-01"), "Run p for 2026-01: its outputs for the period are written again."),
        (
            ActionRequest("build", "2026-01"),
            "Build all active projects for 2026-01: what is not up to date is run, in the order they need each other.",
        ),
    ],
)
def test_every_action_is_a_sentence(request_: ActionRequest, sentence: str) -> None:
    assert request_.sentence == sentence
