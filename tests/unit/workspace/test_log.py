"""`daybook log` and its JSON: who did what, and what was changed since."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from daybook.cli.app import main
from daybook.errors import DaybookError
from daybook.workspace.log import show_log, verify_log
from daybook.workspace.open_workspace import open_workspace
from daybook.workspace.periods import lock_period, reopen_period
from tests.page import client, page_folder, record_run
from tests.workspaces import Folder


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    folder = page_folder(tmp_path)
    record_run(folder)
    return folder


def tamper(folder: Folder, statement: str) -> None:
    with closing(sqlite3.connect(folder.root / ".daybook" / "store.db")) as connection, connection:
        connection.execute("DROP TRIGGER IF EXISTS log_line_refuses_update")
        connection.execute("DROP TRIGGER IF EXISTS log_line_refuses_delete")
        connection.execute(statement)


def test_what_was_done_is_listed_newest_first(folder: Folder) -> None:
    workspace = open_workspace(folder.root)
    lock_period(workspace, "2026-01", reason="signed off")
    reopen_period(workspace, "2026-01", reason="late invoice")
    lock_period(workspace, "2026-02")
    lock_period(workspace, "2026-02")
    listing = show_log(workspace)
    acts = [(line.act, line.subject) for line in listing.lines]
    assert acts[:5] == [
        ("lock", "2026-02"),
        ("reopen", "2026-01"),
        ("lock", "2026-01"),
        ("activate", "p"),
        ("apply", "tests"),
    ]
    assert listing.lines[1].details == {"calendar": "gregorian", "reason": "late invoice"}
    assert (listing.head.number, listing.head.digest) == (listing.lines[0].number, listing.lines[0].digest)
    assert listing.next is None
    page = show_log(workspace, limit=2)
    assert [line.act for line in page.lines] == ["lock", "reopen"]
    rest = show_log(workspace, before=page.next)
    assert (*page.lines, *rest.lines) == listing.lines


def test_what_a_rule_refuses_is_listed(folder: Folder) -> None:
    workspace = open_workspace(folder.root)
    lock_period(workspace, "2026")
    with pytest.raises(DaybookError):
        reopen_period(workspace, "2026-01", reason="late invoice")
    assert (show_log(workspace).lines[0].act, show_log(workspace).lines[0].refused) == ("reopen", "STORE_031")


def test_the_program_and_the_api_answer_the_same(folder: Folder, capsys: pytest.CaptureFixture[str]) -> None:
    in_folder = ["--workspace", str(folder.root)]
    assert main(["log", *in_folder, "--json", "--limit", "2"]) == 0
    printed = json.loads(capsys.readouterr().out)
    program = client(folder)
    assert program.get("/api/v1/log?limit=2").json() == printed
    assert list(printed) == ["head", "lines", "next"]
    assert list(printed["lines"][0]) == [
        "number",
        "at",
        "by",
        "proof",
        "act",
        "subject",
        "details",
        "refused",
        "digest",
    ]
    head = printed["head"]["digest"]
    assert main(["log", *in_folder, "--verify", "--head", head, "--json"]) == 0
    verified = json.loads(capsys.readouterr().out)
    assert verified == {"head": printed["head"], "lines": printed["head"]["number"], "problems": [], "valid": True}
    assert program.get(f"/api/v1/log/verification?head={head}").json() == verified


def test_a_changed_log_ends_with_1_and_says_where(folder: Folder, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["log", "--workspace", str(folder.root), "--verify"]
    digest = verify_log(open_workspace(folder.root)).head.digest
    assert main(arguments) == 0
    assert "none of them was changed" in capsys.readouterr().out
    tamper(folder, "UPDATE log_line SET line = replace(line, 'apply', 'seal') WHERE number = 2")
    assert main(arguments) == 1
    assert capsys.readouterr().out.splitlines()[1].split()[0] == "3"
    tamper(folder, "DELETE FROM log_line")
    tamper(
        folder,
        "UPDATE log_head SET number = 0, digest = '0000000000000000000000000000000000000000000000000000000000000000'",
    )
    assert main(arguments) == 0
    assert main([*arguments, "--head", digest]) == 1


@pytest.mark.parametrize("head", ["", "x" * 64, "0" * 63])
def test_a_head_that_is_no_digest_is_wrong_input(folder: Folder, head: str) -> None:
    with pytest.raises(DaybookError) as caught:
        verify_log(open_workspace(folder.root), head=head)
    assert caught.value.code == "LOG_002"
    assert main(["log", "--workspace", str(folder.root), "--verify", "--head", head]) == 2


def test_a_digest_without_verify_is_wrong_input(folder: Folder) -> None:
    assert main(["log", "--workspace", str(folder.root), "--head", "0" * 64]) == 2
