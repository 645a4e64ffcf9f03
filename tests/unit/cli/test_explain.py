"""`daybook explain` as far as it needs no Spark: codes, and questions that are wrong."""

import datetime
import json
import subprocess
import sys
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest

from daybook.cli import explain
from daybook.cli.app import main
from daybook.errors import CODES, DaybookError
from daybook.runs.attempt.start import start_run
from daybook.runs.explain.levels import (
    ExplainedOperation,
    ExplainedSum,
    ExplanationGap,
    ExplanationLevel,
    NumberExplanation,
    OperationExplanation,
    PickedRows,
    ShownRows,
)
from daybook.store import open_store
from daybook.workspace.result_json import as_json
from tests.unit.runs.prepared import new_folder, prepared
from tests.unit.test_house import HEAVY
from tests.workspaces import assign, to_table

RUN = "20260202-093000-abcdef"
TOTALS = {
    "id": "totals",
    "type": "aggregate",
    "arguments": {"group_by": ["region"], "aggregations": [{"column": "total", "expression": "SUM(amount)"}]},
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A workspace with a run that has not begun to read."""
    folder = new_folder(tmp_path)
    folder.project(assign("amount", "amount * 2"), TOTALS, to_table())
    with open_store("sqlite:///.daybook/store.db", root=folder.root) as store:
        start_run(store, prepared(folder))
    return folder.root


@pytest.mark.parametrize("written", ["RUN_012", "run_012", "[RUN_012]", "run-012"])
def test_a_code(written: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", written]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "[RUN_012] The inputs of run {run_id} no longer exist",
        f"  {CODES['RUN_012'].explanation}",
        "  hint: `retention` in daybook.yaml defines how long they are kept",
    ]


@pytest.mark.parametrize("code", CODES)
def test_every_code_can_be_explained(code: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", code, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["code"], told["explanation"], told["hint"]) == (code, CODES[code].explanation, CODES[code].advice)
    assert "!r" not in told["message"]


def test_a_code_that_does_not_exist(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "EXPR_12"]) == 2
    shown = capsys.readouterr().err
    assert "[RUN_029]" in shown
    assert "did you mean EXPR_012?" in shown
    assert main(["explain", "EXPR_12", "--json"]) == 2
    (error,) = json.loads(capsys.readouterr().out)["errors"]
    assert error["code"] == "RUN_029"


def test_a_code_is_explained_without_anything_heavy() -> None:
    program = (
        "import sys; from daybook.cli.app import main; main(['explain', 'IO_021']); "
        f"print(*(name for name in {HEAVY} if name in sys.modules), file=sys.stderr)"
    )
    outcome = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert outcome.stderr.split() == []


@pytest.mark.parametrize(
    ("arguments", "code", "hint"),
    [
        ((RUN,), "RUN_028", "name one of 1 (update 1), 2 (aggregate 2), 3 (output 3)"),
        ((RUN, "9"), "RUN_022", "its operations are 1, 2, 3"),
        ((RUN, "total"), "RUN_022", "did you mean totals?"),
        ((RUN, "totals", "regoin=EMEA"), "RUN_023", "did you mean region?"),
        ((RUN, "totals", "amount=3"), "RUN_024", "it groups by region"),
        ((RUN, "1", "amount=much"), "RUN_025", None),
        ((RUN, "1", "amount"), "RUN_026", "write COLUMN=VALUE, or COLUMN= for NULL"),
        ((RUN, "totals", "region="), "RUN_027", None),
        (("20260202-093000-000000", "1"), "STORE_014", None),
    ],
)
def test_a_question_that_is_wrong(
    root: Path, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], code: str, hint: str | None
) -> None:
    assert main(["--workspace", str(root), "explain", *arguments, "--json"]) == 2
    (error,) = json.loads(capsys.readouterr().out)["errors"]
    assert error["code"] == code
    assert hint is None or error["hint"] == hint


LEADS = {2: {"region": None, "note": "a b"}}


def explanation(count: int = 2) -> OperationExplanation:
    rows = (
        {"region": None, "amount": Decimal("10.50"), "day": datetime.date(2026, 1, 5), "_operation_seq": 0},
        {"region": "a\nb", "amount": Decimal("-2.00"), "day": None, "_operation_seq": 2},
    )
    made = ({"region": None, "total": Decimal("8.50"), "rows": count},)
    return OperationExplanation(
        run_id=RUN,
        project_id="p",
        period="2026-01",
        parameters={},
        operation=ExplainedOperation(3, "op-3", "Totals", "aggregate"),
        keys={"region": None},
        groups=(),
        summary_rows=ShownRows(1, ("region", "total", "rows"), made),
        rows=PickedRows(count, ("region", "amount", "day", "_operation_seq"), rows),
        leads=LEADS,
    )


def test_rows_for_people(capsys: pytest.CaptureFixture[str]) -> None:
    explain.show_explanation(explanation(count=1234))
    told = capsys.readouterr()
    assert [" ".join(line.split()) for line in told.out.splitlines() if line] == [
        f"operation 3 of run {RUN}: Totals (aggregate)",
        "p for 2026-01, where region is NULL",
        "what it computed: 1 row",
        "region total rows",
        "NULL 8.50 1234",
        "the rows it summed up, as they were before: 2 of 1,234 rows",
        "region amount day _operation_seq",
        "NULL 10.50 2026-01-05 0",
        "a b -2.00 NULL 2",
    ]
    assert f"`daybook explain {RUN} 2 region= 'note=a b'`" in told.err


def number(*, above: str = "8.50", is_complete: bool = True) -> NumberExplanation:
    """The first level, and one below it that other rows were followed to."""
    total = ExplainedSum("total", Decimal(above), Decimal("8.50"), Decimal("8.50"))
    groups = ({"region": None}, {"region": "a"})
    below = replace(explanation(), keys={}, groups=groups, leads={}, sums=(total,), project_id="q")
    gap = ExplanationGap(RUN, 4, DaybookError("RUN_012", run_id=RUN))
    return NumberExplanation(explanation(), (ExplanationLevel(2, (below,), (gap,)),), is_complete)


def test_levels_for_people(capsys: pytest.CaptureFixture[str]) -> None:
    explain.show_number(number())
    told = capsys.readouterr()
    lines = told.out.splitlines()
    start = lines.index("--- level 2")
    assert lines[start + 1 : start + 4] == [
        f"operation 3 of run {RUN}: Totals (aggregate)",
        "q for 2026-01, where the 2 rows above come from",
        "total: 8.50, the same as above",
    ]
    assert f"operation 4 of run {RUN} cannot be shown: The inputs of run {RUN} no longer exist" in told.err
    assert "--depth" not in told.err
    # The rows are followed, so no command is named that would do it.
    assert "daybook explain" not in told.err


def test_a_level_that_does_not_sum_up_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    explain.show_number(number(above="9.00", is_complete=False))
    told = capsys.readouterr()
    assert "total differs: above 9.00, computed again 8.50, sum of the rows 8.50" in told.out
    assert "`--depth` shows more levels" in told.err


def test_levels_for_machines() -> None:
    data = as_json(number(above="9.00"))
    (level,) = data["levels"]
    (below,) = level["explanations"]
    assert below["groups"] == [{"region": None}, {"region": "a"}]
    assert below["sums"] == [{"column": "total", "above": "9.00", "value": "8.50", "rows": "8.50", "is_equal": False}]
    assert [(gap["seq"], gap["errors"][0]["code"]) for gap in level["gaps"]] == [(4, "RUN_012")]


def test_rounded_totals_of_groups_may_differ_by_half_a_unit_each() -> None:
    one = ExplainedSum("total", None, Decimal("10.00"), Decimal("10.006"), Decimal("0.010"))
    assert one.is_equal
    assert not replace(one, value=Decimal("9.98")).is_equal


def test_rows_that_are_too_wide_are_shown_value_by_value(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("daybook.cli.terminal._UNWRAPPED", 20)
    explain.show_explanation(explanation())
    assert "amount          10.50\n" in capsys.readouterr().out


def test_rows_for_machines() -> None:
    found = explanation()
    assert (found.seq, found.operation_id, found.name, found.type, found.origins) == (
        3,
        "op-3",
        "Totals",
        "aggregate",
        (),
    )
    data = as_json(found)
    assert data["operation"] == {"seq": 3, "id": "op-3", "name": "Totals", "type": "aggregate"}
    assert data["keys"] == {"region": None}
    assert data["rows"]["count"] == 2
    assert data["rows"]["shown"][0] == {"region": None, "amount": "10.50", "day": "2026-01-05", "_operation_seq": 0}
    assert data["summary_rows"]["shown"] == [{"region": None, "total": "8.50", "rows": 2}]
