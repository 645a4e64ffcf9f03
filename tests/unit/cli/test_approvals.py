"""`daybook requests`, `approve`, `reject`, `withdraw`, `people` and `policy`, as people see them."""

import json
from pathlib import Path

import pytest

from daybook.cli.app import main
from daybook.store.database import people
from tests.office_of_four_eyes import POLICY, Office
from tests.workspaces import COLUMNS, assign, to_table


@pytest.fixture
def office(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Office:
    monkeypatch.setattr(people, "_COST", 2)
    return Office.open(tmp_path, f"sqlite:///{tmp_path}/store.db")


class Terminal:
    """Commands of people at the office; each with the token of its person, or nobody's."""

    def __init__(self, office: Office, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
        self._office, self._capsys, self._monkeypatch = office, capsys, monkeypatch

    def run(self, name: str | None, *words: str, code: int = 0) -> str:
        if name is None:
            self._monkeypatch.delenv("DAYBOOK_TOKEN", raising=False)
        else:
            self._monkeypatch.setenv("DAYBOOK_TOKEN", self._office.tokens[name])
        self._capsys.readouterr()
        assert main([*words, "--workspace", str(self._office.folder.root)]) == code, self._capsys.readouterr().err
        printed = self._capsys.readouterr()
        return printed.out if code == 0 else printed.err


@pytest.fixture
def terminal(office: Office, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Terminal:
    return Terminal(office, capsys, monkeypatch)


def test_a_lock_from_its_request_to_the_last_approval(terminal: Terminal) -> None:
    lock = ("periods", "lock", "2026-01", "--reason", "signed off")
    assert "DAYBOOK_TOKEN" in terminal.run(None, *lock, code=2)
    assert terminal.run("anna", *lock).startswith("Request 1 was made: lock 2026-01 needs the approval of 2 of")
    assert json.loads(terminal.run("anna", *lock, "--json")) == {
        "request": 1,
        "number": 1,
        "act": "lock",
        "subject": "2026-01",
        "needs": "2 of controlling or cfo",
    }
    assert "needs 2 of controlling or cfo: approved by nobody yet" in terminal.run(None, "requests", "1")
    assert "APPROVAL_003" in terminal.run("anna", "approve", "1", code=2)
    assert "still needs 1 more of controlling or cfo" in terminal.run("bert", "approve", "1", "--reason", "compared")
    assert "approved by bert" in terminal.run(None, "requests", "1")
    assert "lock 2026-01 is done" in terminal.run("carl", "approve", "1")
    assert "locked" in terminal.run(None, "periods", "--year", "2026", "--level", "month")
    assert terminal.run(None, "requests") == ""
    assert "done" in terminal.run(None, "requests", "--all")


def test_a_rejected_and_a_withdrawn_request(terminal: Terminal) -> None:
    terminal.run("anna", "deactivate", "p")
    assert "STORE_032" in terminal.run("bert", "reject", "1", code=2)
    assert terminal.run("bert", "reject", "1", "--reason", "needed") == "request 1 is rejected\n"
    terminal.run("anna", "deactivate", "p")
    assert json.loads(terminal.run("anna", "withdraw", "2", "--json"))["status"] == "withdrawn"


def test_what_apply_holds_is_shown_by_plan_and_requested(office: Office, terminal: Terminal) -> None:
    columns = [*COLUMNS, {"name": "channel", "type": "string"}]
    office.folder.dataset("orders", columns, {"path": "data/orders.csv"}, temporal_mode="period")
    office.folder.project(assign("tax", "amount"), to_table("more"), id_="more")
    assert "needs approval: dataset orders" in terminal.run(None, "plan")
    applied = terminal.run("anna", "apply")
    assert "added        project     more" in applied
    assert "request 1 was made: dataset orders is used once it is approved" in applied
    shown = terminal.run(None, "requests", "1")
    assert "changes dataset orders" in shown
    assert "+      - name: channel" in shown
    assert "apply tests is done" in terminal.run("bert", "approve", "1")


def test_a_token_is_alone_on_standard_output(terminal: Terminal, office: Office) -> None:
    office.propose({})
    token = terminal.run("dora", "people", "renew", "dora")
    assert token.startswith("dbp_")
    assert token.count("\n") == 1
    office.tokens["dora"] = token.strip()
    added = terminal.run("dora", "people", "add", "eve", "--role", "cfo")
    assert added.count("\n") == 1
    assert "eve" not in terminal.run(None, "people")
    changed = json.loads(terminal.run("anna", "people", "roles", "carl", "--role", "controlling", "--json"))
    assert changed == {"name": "carl", "change": "roles", "request": 2}
    assert "removed" not in terminal.run("anna", "people", "remove", "carl")
    listed = json.loads(terminal.run(None, "people", "--json"))
    assert list(listed[0]) == ["name", "roles", "account", "added_at", "token_at"]


def test_the_policy_is_shown_beside_what_the_file_proposes(terminal: Terminal, office: Office) -> None:
    assert "2 of controlling, cfo" in terminal.run(None, "policy")
    office.propose({**POLICY, "lock": {"by": ["cfo"]}})
    shown = terminal.run(None, "policy").splitlines()
    assert next(line for line in shown if line.startswith("lock")).split() == [
        *("lock", "2", "of", "controlling,", "cfo"),
        *("1", "of", "cfo"),
    ]
    assert "Request 1 was made: policy approvals" in terminal.run("anna", "policy", "adopt")
    assert "-lock: 2 of controlling, cfo" in terminal.run(None, "requests", "1")
    state = json.loads(terminal.run(None, "policy", "--json"))
    assert state["in_force"]["lock"]["count"] == 2
    assert list(state) == ["proposed", "in_force", "digest", "adopted_at", "adopted_by"]
