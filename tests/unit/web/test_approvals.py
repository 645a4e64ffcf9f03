"""Requests on the page and in the API: the difference beside the buttons, decided with a personal token only."""

import re
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from daybook.store.database import people
from daybook.workspace.approvals import remove_person, show_request
from daybook.workspace.lifecycle import apply_changes
from daybook.workspace.periods import lock_period, show_period
from tests.generated_client import GeneratedClient
from tests.office_of_four_eyes import Office
from tests.page import TOKEN, client, log_in
from tests.workspaces import COLUMNS

HERE = {"Origin": "http://testserver"}


@pytest.fixture(autouse=True)
def cheap_hashes(monkeypatch: pytest.MonkeyPatch) -> None:
    """A hash by scrypt takes 50 milliseconds, and is kept with what it cost."""
    monkeypatch.setattr(people, "_COST", 2)


@pytest.fixture
def office(tmp_path: Path) -> Office:
    return Office.open(tmp_path, f"sqlite:///{tmp_path}/store.db")


def held_change(office: Office) -> int:
    columns = [*COLUMNS, {"name": "channel", "type": "string"}]
    office.folder.dataset("orders", columns, {"path": "data/orders.csv"}, temporal_mode="period")
    return apply_changes(office.by("anna")).request or 0


def browser(office: Office, token: str) -> TestClient:
    opened = client(office.folder, token=None, allows_actions=True)
    log_in(opened, token)
    return opened


def csrf(page: str) -> str:
    (value,) = set(re.findall(r'name="csrf" value="([^"]+)"', page))
    return str(value)


def test_a_person_sees_the_difference_and_approves_it(office: Office) -> None:
    number = held_change(office)
    opened = browser(office, office.tokens["bert"])
    page = opened.get("/requests").text
    assert '<span class="plus">+' in page
    assert "channel" in page
    assert "activate needs 1 of controlling: nobody has approved yet" in page
    answer = opened.post(f"/requests/{number}/approve", data={"csrf": csrf(page), "reason": "seen"}, headers=HERE)
    assert answer.status_code == 303
    request = show_request(office.nobody(), number)
    assert request.status == "done"
    assert [(decision.person, decision.reason) for decision in request.decisions] == [("bert", "seen")]
    assert [(line.by, line.proof) for line in office.log()[:2]] == [("bert", "token"), ("bert", "token")]
    assert "approved by bert" in opened.get("/requests?all=true").text


def test_the_token_of_a_group_shows_no_buttons_and_decides_nothing(office: Office) -> None:
    number = held_change(office)
    opened = browser(office, TOKEN)
    page = opened.get("/requests").text
    assert "Approve</button>" not in page
    assert "log in</a> with your personal token" in page
    answer = opened.post(f"/requests/{number}/approve", data={"csrf": csrf(page)}, headers=HERE)
    assert answer.status_code == 403
    assert "APPROVAL_002" in answer.text
    # A group that is called like a person is not that person.
    assert show_request(office.nobody(), number).status == "open"


def test_a_form_without_the_value_of_the_login_decides_nothing(office: Office) -> None:
    number = held_change(office)
    opened = browser(office, office.tokens["bert"])
    assert opened.post(f"/requests/{number}/approve", data={"csrf": "x"}, headers=HERE).status_code == 403
    page = opened.get("/requests").text
    other = {"Origin": "http://elsewhere"}
    assert opened.post(f"/requests/{number}/approve", data={"csrf": csrf(page)}, headers=other).status_code == 403
    assert show_request(office.nobody(), number).status == "open"


def test_the_requester_sees_a_button_to_withdraw_and_none_to_approve(office: Office) -> None:
    number = held_change(office)
    opened = browser(office, office.tokens["anna"])
    page = opened.get("/requests").text
    assert "Approve</button>" not in page
    assert opened.post(f"/requests/{number}/approve", data={"csrf": csrf(page)}, headers=HERE).status_code == 403
    assert opened.post(f"/requests/{number}/withdraw", data={"csrf": csrf(page)}, headers=HERE).status_code == 303
    assert show_request(office.nobody(), number).status == "withdrawn"


def test_who_has_no_such_role_or_has_decided_sees_no_buttons(office: Office) -> None:
    number = held_change(office)
    carl = browser(office, office.tokens["carl"]).get("/requests").text
    assert "Approve</button>" not in carl
    assert "none of the roles" in carl
    lock = office.request(lambda: lock_period(office.by("anna"), "2026-01"))
    opened = browser(office, office.tokens["bert"])
    form = {"csrf": csrf(opened.get("/requests").text)}
    assert opened.post(f"/requests/{lock}/approve", data=form, headers=HERE).status_code == 303
    page = opened.get("/requests").text
    assert page.count("Approve</button>") == 1
    assert "You have decided about it." in page
    assert show_request(office.nobody(), number).status == "open"


def test_a_rejection_needs_a_reason(office: Office) -> None:
    number = held_change(office)
    opened = browser(office, office.tokens["bert"])
    form = {"csrf": csrf(opened.get("/requests").text)}
    assert opened.post(f"/requests/{number}/reject", data=form, headers=HERE).status_code == 400
    assert opened.post(f"/requests/{number}/reject", data={**form, "reason": "no"}, headers=HERE).status_code == 303
    assert show_request(office.nobody(), number).status == "rejected"


def test_a_lock_on_the_page_makes_a_request(office: Office) -> None:
    opened = browser(office, office.tokens["anna"])
    page = opened.get("/actions/lock?subject=2026-01").text
    answer = opened.post("/actions/lock", data={"subject": "2026-01", "csrf": csrf(page)}, headers=HERE)
    assert (answer.status_code, answer.headers["location"]) == (303, "/requests#request-1")
    assert show_period(office.nobody(), "2026-01").status.status == "open"


def test_a_login_ends_with_its_token(office: Office) -> None:
    opened = browser(office, office.tokens["carl"])
    assert opened.get("/requests").status_code == 200
    change = remove_person(office.by("anna"), "carl")
    office.approve(change.request or 0, "bert", "dora")
    number = held_change(office)
    again = client(office.folder, token=office.tokens["carl"], allows_actions=True)
    assert again.get("/api/v1/requests").status_code == 401
    # A page that is still open may be read for some seconds; deciding looks at once.
    page = opened.get("/requests")
    if page.status_code == 200:
        answer = opened.post(f"/requests/{number}/approve", data={"csrf": csrf(page.text)}, headers=HERE)
        assert answer.status_code == 403


def test_programs_request_and_decide_with_personal_tokens(office: Office) -> None:
    anna, bert = (client(office.folder, token=office.tokens[name], allows_actions=True) for name in ("anna", "bert"))
    answer = anna.post("/api/v1/periods/2026-01/lock", json={"reason": "signed off"})
    assert answer.status_code == 202
    number = answer.json()["request"]
    assert (answer.json()["act"], answer.json()["subject"]) == ("lock", "2026-01")
    (listed,) = bert.get("/api/v1/requests").json()
    assert listed == bert.get(f"/api/v1/requests/{number}").json()
    assert list(listed) == [
        "number",
        "act",
        "subject",
        "status",
        "requested_by",
        "requested_at",
        "reason",
        "digest",
        "current",
        "needs",
        "decisions",
        "changes",
        "ended_at",
        "ended_by",
        "ended_reason",
    ]
    own = anna.post(f"/api/v1/requests/{number}/approve")
    assert (own.status_code, own.json()["code"]) == (403, "APPROVAL_003")
    assert bert.post(f"/api/v1/requests/{number}/approve").json()["status"] == "open"
    twice = bert.post(f"/api/v1/requests/{number}/approve")
    assert (twice.status_code, twice.json()["code"]) == (409, "APPROVAL_004")
    assert anna.post(f"/api/v1/requests/{number}/withdraw").json()["status"] == "withdrawn"
    assert bert.post(f"/api/v1/requests/{number}/reject", json={"reason": "late"}).status_code == 409
    assert bert.get("/api/v1/requests/99").status_code == 404
    group = client(office.folder, allows_actions=True)
    assert group.post("/api/v1/periods/2026-02/lock").json()["code"] == "APPROVAL_002"
    names = [person["name"] for person in bert.get("/api/v1/people").json()]
    assert names == ["anna", "bert", "carl", "dora"]
    assert "token_id" not in bert.get("/api/v1/people").text
    assert bert.get("/api/v1/policy").json()["in_force"]["lock"] == {"by": ["controlling", "cfo"], "count": 2}


def test_answers_about_approvals_are_as_the_description_says(office: Office) -> None:
    numbers = [held_change(office)]
    anna, bert = (
        GeneratedClient(client(office.folder, token=office.tokens[name], allows_actions=True))
        for name in ("anna", "bert")
    )
    for period in ("2026-01", "2026-02"):
        _, requested = anna.call("lock_period", identifier=period, body={"reason": "signed off"})
        numbers.append(requested["request"])
    change, january, february = numbers
    assert [request["number"] for request in bert.call("requests")[1]] == [february, january, change]
    assert bert.call("request_details", number=change)[1]["changes"]
    assert [person["name"] for person in bert.call("people")[1]] == ["anna", "bert", "carl", "dora"]
    assert bert.call("policy")[1]["in_force"]["activate"] == {"by": ["controlling"], "count": 1}
    assert bert.call("approve", number=change)[1]["status"] == "done"
    assert bert.call("reject", number=january, body={"reason": "too early"})[1]["status"] == "rejected"
    assert anna.call("withdraw", number=february)[1]["status"] == "withdrawn"


def test_a_server_without_actions_decides_nothing(office: Office) -> None:
    number = held_change(office)
    bert = client(office.folder, token=office.tokens["bert"])
    assert bert.post(f"/api/v1/requests/{number}/approve").json()["code"] == "WEB_012"
