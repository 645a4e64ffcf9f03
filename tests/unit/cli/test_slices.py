"""`daybook slices` without a run: what is not there, and what is asked."""

import datetime
import json
from pathlib import Path

import pytest

from daybook.cli.app import main
from daybook.store import open_store
from daybook.store.records import OutputCommit
from tests.unit.store.samples import NOW, PROCESS, new_run


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "daybook.yaml").write_text("name: test\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write_slice(root: Path, run_id: str, period: str, identity: str = "/lake/net", label: str = "lake.net") -> None:
    """What a run leaves in the store when it wrote a slice."""
    with open_store("sqlite:///.daybook/store.db", root=root) as store, store.write() as transaction:
        given = {**new_run(run_id), "period": period}
        lease = transaction.runs.start(**given, process=PROCESS, now=NOW)
        details = {"label": label, "identity": identity, "dataset_id": "net"}
        commit = OutputCommit(20, "op-20", identity, "replace_period", rows=10, details=details)
        transaction.outcomes.record_commit(lease, commit, now=NOW, period=period)
        transaction.runs.finish(lease, "completed", now=NOW)


def test_slices_are_listed_as_a_table_and_as_json(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_slice(root, "r1", "2026-01")
    write_slice(root, "r2", "2026-02")
    assert main(["slices"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["table", "period", "project", "run", "rows", "written"]
    assert lines[1].split()[:5] == ["lake.net", "2026-01", "close", "r1", "10"]
    assert main(["slices", "net", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)[1] == {
        "table": "lake.net",
        "location": "/lake/net",
        "period": "2026-02",
        "project": "close",
        "operation": "op-20",
        "run": "r2",
        "rows": 10,
        "written_at": NOW.astimezone(datetime.UTC).isoformat(),
        "datasets": ["net"],
    }


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["gross"], "STORE_035"),
        (["net"], "STORE_036"),
        (["drop", "lake.net", "2026-03", "--yes", "--reason", "x"], "STORE_037"),
        (["drop", "lake.net", "2026-01", "--yes"], "STORE_032"),
        (["drop", "lake.net", "2026-01", "--reason", "x"], "STORE_039"),
    ],
)
def test_what_cannot_be_listed_or_dropped(
    root: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], code: str
) -> None:
    write_slice(root, "r1", "2026-01")
    write_slice(root, "r2", "2026-02", "/other/net", "other.net")
    assert main(["slices", *arguments]) == 2
    assert capsys.readouterr().err.startswith(f"[{code}]")


def test_an_empty_store_has_no_slices(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["slices", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == []
