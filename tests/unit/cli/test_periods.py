"""`daybook periods`, and what `daybook validate` says about calendars and resolvers."""

import json
from pathlib import Path

import pytest

from daybook.cli.app import main

FISCAL = """\
calendar:
  id: fiscal
  rule: {type: months, first_month: 4}
  levels:
    - {name: year, unit: year, identifier: "FY{{year}}"}
    - {name: month, unit: month, identifier: "{{YYYY}}-{{MM}}"}
"""


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "daybook.yaml").write_text("name: test\n")
    (tmp_path / "fiscal.yaml").write_text(FISCAL)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def listed(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[str]:
    assert main(["periods", "--json", *arguments]) == 0
    return [period["identifier"] for period in json.loads(capsys.readouterr().out)]


def test_a_year_of_the_built_in_calendar(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    quarters = [f"2026-Q{number}" for number in range(1, 5)]
    months = [f"2026-{number:02d}" for number in range(1, 13)]
    assert listed(capsys, "--year", "2026") == ["2026", *quarters, *months]
    assert len(listed(capsys, "--year", "2024", "--level", "day")) == 366


def test_a_year_of_a_declared_calendar(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    months = [f"2025-{number:02d}" for number in range(4, 13)] + ["2026-01", "2026-02", "2026-03"]
    assert listed(capsys, "--calendar", "fiscal", "--year", "2026") == ["FY2026", *months]


def test_dates_and_status(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["periods", "--year", "2026", "--level", "quarter"]) == 0
    first = capsys.readouterr().out.splitlines()[1]
    assert first.split() == ["2026-Q1", "quarter", "2026-01-01", "2026-03-31", "open"]


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["--calendar", "fiscl"], "RESOLVE_003"),
        (["--level", "week"], "RESOLVE_004"),
        (["lock", "2026-1"], "RESOLVE_001"),
    ],
)
def test_what_is_not_there(root: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], code: str) -> None:
    assert main(["periods", *arguments]) == 2
    assert capsys.readouterr().err.startswith(f"[{code}]")


def test_validate_looks_into_calendars_and_resolvers(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (root / "wrong.yaml").write_text("""\
calendar:
  id: gregorian
  rule: {type: months}
  levels: [{name: year, unit: year, identifier: "{{year}}"}]
---
datasource: {id: lake, type: parquet, options: {path: lake}}
---
resolver:
  id: files
  rules:
    - name: all
      when: period.identifier > 5
      data_level: monht
      strategy: {type: path, datasource_id: lake, path: "../{{YYYY}}"}
---
dataset:
  id: orders
  main_table:
    name: orders
    columns: [{name: id, type: string}]
    location: {path: orders.csv, data_level: wek}
""")
    assert main(["validate", "--json"]) == 2
    found = {(error["code"], error["line"]) for error in json.loads(capsys.readouterr().out)["errors"]}
    assert found == {
        ("RESOLVE_010", 2),
        ("EXPR_022", 12),
        ("RESOLVE_050", 13),
        ("RESOLVE_035", 14),
        ("RESOLVE_050", 21),
    }
