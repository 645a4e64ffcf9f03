"""`daybook report` as it is typed."""

import json
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest

from daybook.cli.app import main
from tests.workspaces import Folder, no_session, to_table
from tests.written_runs import write_run

ROWS = pa.table({"order_id": ["O-1"], "amount": pa.array([Decimal("1.00")], pa.decimal128(18, 2))})


@pytest.fixture
def run_id(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    folder = Folder.new(tmp_path, no_session)
    folder.project(to_table(columns=["order_id", "amount"]))
    monkeypatch.chdir(tmp_path)
    return write_run(folder, {1: ROWS})


def test_a_file_is_written_and_named(run_id: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", "p@2026-01", "-o", "close.html", "--no-diff"]) == 0
    size = Path("close.html").stat().st_size
    assert f"close.html ({size:,} bytes): p for 2026-01, run {run_id}" in " ".join(capsys.readouterr().out.split())


def test_json_and_the_default_name(run_id: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", run_id, "--no-diff", "--json"]) == 0
    written = json.loads(capsys.readouterr().out)
    path = Path(f"report-{run_id}.html").resolve()
    assert written == {
        "path": path.as_posix(),
        "size": path.stat().st_size,
        "run_id": run_id,
        "project_id": "p",
        "period": "2026-01",
        "compared_with": None,
    }


def test_another_file_is_left_alone(run_id: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", run_id, "-o", "daybook.yaml", "--no-diff"]) == 2
    assert "RUN_086" in capsys.readouterr().err


def test_an_unknown_run(run_id: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", "p@2027-01", "--no-diff"]) == 2
    assert "RUN_061" in capsys.readouterr().err
    assert not list(Path().glob("*.html"))
