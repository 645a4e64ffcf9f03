"""The group close of the examples on the second engine, against the same close by hand."""

import csv
import runpy
from collections import Counter
from pathlib import Path

import pytest
import yaml

from daybook.cli.app import main
from daybook.scenarios.run_scenarios import ScenarioResult, run_scenario_files
from tests.group_close import COLUMNS, EXAMPLE, PROJECTS, budgets, copy_example, expected_tables
from tests.group_close_by_hand import MONTHS, Cells

TABLES = [
    *((f"clean-{entity}", f"ledger_{entity}") for entity in ("de01", "uk01", "us01")),
    ("group-ledger", "group_ledger"),
    ("balances", "balances"),
    ("consolidation", "group_result"),
    ("board-pack", "board_pack"),
]
_ONE_FILE = ("accounts", "accruals", "headcount", "closing_rates", "average_rates", "old_balances", "old_results")


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return copy_example(tmp_path_factory.mktemp("examples") / "group-close")


@pytest.fixture(scope="module")
def expected(root: Path) -> dict[str, Counter[Cells]]:
    return expected_tables(root)


@pytest.fixture(scope="module")
def result(root: Path) -> ScenarioResult:
    """All months of all projects as one scenario of the workspace's own files."""
    scenario = root / "tests" / "scenarios" / "all-months.yaml"
    given = [
        {"dataset": {"id": name.replace("_", "-")}, "rows": _rows(root / f"data/{name}.csv")} for name in _ONE_FILE
    ]
    for entity in ("de01", "uk01", "us01"):
        rows = [row for month in MONTHS for row in _rows(root / f"data/ledger/{entity}-{month}.csv")]
        given.append({"dataset": {"id": f"journal-{entity}"}, "rows": rows})
    planned = [
        {"_period": month, "account_type": kind, "amount": str(amount)}
        for (month, kind), amount in budgets(root / "data").items()
    ]
    given.append({"dataset": {"id": "budget"}, "rows": planned})
    body = {
        "name": "all months",
        "periods": list(MONTHS),
        "datasets": given,
        "build": list(PROJECTS),
        "expect": {"outputs": {}, "counts": {}},
    }
    scenario.write_text(yaml.dump(body, Dumper=yaml.CSafeDumper), encoding="utf-8")
    (result,) = run_scenario_files(None, [scenario], threads=1, engine="quick")
    return result


def _rows(path: Path) -> list[dict[str, str | None]]:
    with path.open(encoding="utf-8", newline="") as stream:
        return [{name: text or None for name, text in row.items()} for row in csv.DictReader(stream)]


@pytest.mark.parametrize(("project", "table"), TABLES)
def test_every_cell_of_every_month_is_right(
    result: ScenarioResult, expected: dict[str, Counter[Cells]], project: str, table: str
) -> None:
    assert result.error is None
    assert result.actual is not None
    rows = Counter(
        (row["_period"], *(row[name] for name in COLUMNS[table])) for row in result.actual[f"{project}.{table}"]
    )
    assert rows - expected[table] == Counter()
    assert expected[table] - rows == Counter()
    assert {row[0] for row in rows} == set(MONTHS)


def test_its_definitions_are_right(root: Path) -> None:
    assert main(["--workspace", str(root), "validate"]) == 0


def test_its_scenarios_pass(root: Path) -> None:
    files = sorted((EXAMPLE / "tests" / "scenarios").glob("*.yaml"))
    copies = [root / "tests" / "scenarios" / file.name for file in files]
    results = list(run_scenario_files(None, copies, threads=1, engine="quick"))
    assert [result.file.name for result in results if not result.is_passed] == []
    assert len(results) == 5


def test_its_data_has_what_real_ledgers_have(expected: dict[str, Counter[Cells]], root: Path) -> None:
    lines = [row for month in MONTHS for row in _rows(root / f"data/ledger/uk01-{month}.csv")]
    assert {"reversed", "reversal"} <= {row["status"] for row in lines}
    assert any(row["amount"] == "0.00" for row in lines)
    assert any(row["description"] is None for row in lines)
    centres = {row["cost_centre"] for row in lines}
    assert {None, "sal", " SAL", "SAL"} <= centres
    ledger = [dict(zip(("month", *COLUMNS["ledger_uk01"]), cells, strict=True)) for cells in expected["ledger_uk01"]]
    assert {line["month"] for line in ledger if line["is_late"]} == set(MONTHS)
    assert any(str(line["journal_id"]).endswith("-R") for line in ledger if line["month"] == "2026-01")
    # The first average rate of November was wrong, and is not the one that counts.
    rates = [
        row
        for row in _rows(root / "data/average_rates.csv")
        if (row["currency"], row["valid_to"]) == ("GBP", "2025-12-04")
    ]
    assert [row["rate"] for row in rates] == ["0.8978"]


def test_its_data_can_be_made_again(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_data = runpy.run_path(str(EXAMPLE / "make_data.py"))
    monkeypatch.setitem(make_data["main"].__globals__, "DATA", tmp_path)
    make_data["main"]()
    made = {path.relative_to(tmp_path): path.read_bytes() for path in tmp_path.rglob("*.csv")}
    assert made == {path.relative_to(root / "data"): path.read_bytes() for path in (root / "data").rglob("*.csv")}
    assert budgets(tmp_path) == budgets(root / "data")


def test_a_preview_counts_what_its_checks_looked_at(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--workspace", str(root), "preview", "clean-us01", "--period", "2025-12", "--rows", "1"]) == 0
    shown = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert "warehouse.ledger_us01: 84 rows, 14 columns, the first 12 are shown" in shown
    assert "holds Every line has an account of the chart: 82 rows" in shown
    assert "holds Debits equal credits: 1 row" in shown
