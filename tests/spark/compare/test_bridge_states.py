"""States half-way: what is swapped together, other kinds of causes, and what ends a bridge."""

import datetime
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from daybook.compare import compared_output, measured_state
from daybook.compare.bridge import BridgeRequest, bridge
from daybook.compare.bridge_result import RowCounts
from daybook.errors import CODES, DaybookError
from tests.spark.compare.journals import (
    BY_REGION,
    CLOSE,
    JOURNAL_COLUMNS,
    Ledger,
    cause_text,
    change,
    convert,
    output,
    shares,
    totals,
)
from tests.workspaces import Folder, assign, to_path, to_table

# What both versions of a table have, whatever columns the journal gets.
NARROW = {"destination": {"datasource_id": "lake", "table": "totals"}, "columns": ["account", "total"]}


@pytest.fixture(scope="module")
def with_tax(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> tuple[Ledger, str, str]:
    """The journal gets a column, and an operation that needs it."""
    ledger = Ledger(Folder.new(tmp_path_factory.mktemp("tax") / "w", lambda: spark))
    out = {**output(), "arguments": NARROW}
    before = ledger.run(convert(), totals(), out)
    ledger.journal_columns = [*JOURNAL_COLUMNS, {"name": "tax", "type": "decimal(18,2)"}]
    ledger.lines = {line: (*values, "1.00") for line, values in ledger.lines.items()}  # type: ignore[misc]
    return ledger, before, ledger.run(convert("ROUND((amount - tax) * rates.rate, 2)"), totals(), out)


def test_an_operation_that_needs_a_new_column_comes_after_the_data_that_has_it(
    with_tax: tuple[Ledger, str, str],
) -> None:
    ledger, *runs = with_tax

    found = ledger.bridge(*runs)

    assert ledger.folder.staged() == []

    # One less of each line: 0.90 + 1.00 + 0.90.
    assert shares(found) == {"definition:convert": "-2.80"}
    assert [each.text for each in found.order] == ["data:journal", "dataset:journal", "definition:convert"]


def test_what_cannot_be_computed_half_way_is_swapped_together_with_the_reason(
    with_tax: tuple[Ledger, str, str],
) -> None:
    ledger, *runs = with_tax

    (cause,) = ledger.bridge(*runs, order=("definition", "data")).causes

    assert cause_text(cause) == "definition:convert + data:journal + dataset:journal"
    assert cause.is_together
    assert cause.reason is not None
    assert "tax" in cause.reason
    assert str(cause.share) == "-2.80"


def test_a_state_without_the_measure_is_not_computed(folder: Folder) -> None:
    """One operation made the column before, another makes it after, and between them nobody would."""
    folder.project(change("one", 10, "amount", "fee"), {**to_table(), "seq": 90})
    before = folder.run().run_id
    folder.project(change("two", 20, "amount * 2", "fee"), {**to_table("doubled"), "seq": 90})
    after = folder.run().run_id

    with folder.around() as around:
        (cause,) = bridge(around, BridgeRequest(before, after, "fee")).causes

    assert (cause_text(cause), str(cause.share)) == ("definition:one + definition:two", "150.00")
    assert cause.reason == "There is no column fee"


@pytest.mark.slow
def test_a_changed_resolver_and_a_column_that_only_its_file_has_go_together(ledger: Ledger) -> None:
    """Definitions first: the operation needs the new column, and that needs the resolver's new place."""
    folder, out = ledger.folder, {**output(), "arguments": NARROW}
    ledger.run(convert(), totals(), out)
    folder.datasource("files", "csv", path="data")
    text = (folder.root / "data/journal.csv").read_text().splitlines()
    taxed = [f"{text[0]},tax", *(f"{line},1.00" for line in text[1:])]
    (folder.root / "data/taxed.csv").write_text("\n".join(taxed) + "\n")
    runs = []
    for path, columns, expression in (
        ("journal.csv", JOURNAL_COLUMNS, "ROUND(amount * rates.rate, 2)"),
        (
            "taxed.csv",
            [*JOURNAL_COLUMNS, {"name": "tax", "type": "decimal(18,2)"}],
            "ROUND((amount - tax) * rates.rate, 2)",
        ),
    ):
        table = {"name": "journal", "columns": columns}
        folder.define(
            "dataset",
            {"id": "journal", "natural_key_columns": ["line"], "resolver_id": "monthly", "main_table": table},
        )
        strategy = {"type": "path", "datasource_id": "files", "path": path}
        folder.define(
            "resolver", {"id": "monthly", "rules": [{"name": "r", "data_level": "any", "strategy": strategy}]}
        )
        folder.project(convert(expression), totals(), out, input_="journal")
        runs.append(folder.run().run_id)

    (cause,) = ledger.bridge(*runs, order=("definition", "data")).causes

    # One less of each line: 0.90 + 1.00 + 0.90.
    assert (cause_text(cause), str(cause.share)) == ("definition:convert + data:journal + dataset:journal", "-2.80")


@pytest.mark.slow
def test_new_seqs_that_a_selector_names_are_swapped_together(ledger: Ledger) -> None:
    before = ledger.run(convert(), totals(seq=30), output(selector="_operation_seq = 30"))
    bonus = change("bonus", 30, "eur + 1")
    after = ledger.run(convert(), bonus, totals(seq=40), output(selector="_operation_seq = 40"))

    (cause,) = ledger.bridge(before, after).causes

    assert {member.name for member in cause.members} == {"bonus", "totals", "out"}
    assert cause.reason is not None
    assert "_operation_seq" in cause.reason
    assert str(cause.share) == "3.00"


def test_an_inserted_operation_without_seqs_is_one_cause(folder: Folder) -> None:
    folder.project(BY_REGION, to_table())
    before = folder.run().run_id
    folder.project(assign("amount", "amount + 1"), BY_REGION, to_table())
    after = folder.run().run_id

    with folder.around() as around:
        found = bridge(around, BridgeRequest(before, after, "total"))

    assert [(cause.label, str(cause.share)) for cause in found.causes] == [("1 update 1 (added)", "3.00")]


def test_two_periods_differ_by_their_data_and_by_what_names_the_period(folder: Folder) -> None:
    bonus = assign("amount", 'amount + IF(period.identifier = "2026-02", 5, 1)')
    folder.project(bonus, BY_REGION, to_table())
    folder.runs("2026-01..2026-02")

    with folder.around() as around:
        found = bridge(around, BridgeRequest("p@2026-01", "p@2026-02", "total", by=("region",)))

    # 150.00 and 1.00 for each of three orders; 70.00 and 1.00; 70.00 and 5.00.
    assert (str(found.before), str(found.after)) == ("153.00", "75.00")
    assert shares(found) == {"data:orders": "-82.00", "period:2026-02": "4.00"}
    assert found.causes[0].rows == RowCounts(added=1, removed=3, changed=0)
    assert found.by is not None
    assert {group.key["region"]: [str(share) for share in group.shares] for group in found.by} == {
        "EMEA": ["-152.00", "0.00"],
        "APAC": ["70.00", "4.00"],
    }


def test_loaded_rows_are_measured_and_an_output_without_versions_is_computed_again(folder: Folder) -> None:
    folder.project(assign("amount", "amount * 2"), to_path("out/x.csv"))
    before = folder.run().run_id
    folder.project(assign("amount", "amount * 3"), to_path("out/x.csv"))
    after = folder.run().run_id

    with folder.around() as around:
        found = bridge(around, BridgeRequest(before, after, "amount"))

    assert [(str(cause.share), cause.kind) for cause in found.causes] == [("150.00", "definition")]
    # One for each state: the fingerprint of what was written and the total come of one pass.
    assert found.computations == 2
    assert found.operation.name == "loaded rows"


@pytest.mark.slow
def test_another_as_of_is_a_cause_of_its_own(ledger: Ledger) -> None:
    rates = [
        {"currency": "USD", "rate": "0.9000", "valid_from": "2025-12-01", "valid_to": "2026-01-10"},
        {"currency": "USD", "rate": "0.9500", "valid_from": "2026-01-10", "valid_to": ""},
        {"currency": "EUR", "rate": "1.0000", "valid_from": "2025-12-01", "valid_to": ""},
    ]
    before = _run_bitemporal(ledger, rates)
    # A correction of what was known then comes first, the later day after it.
    rates[0]["rate"] = "0.9100"
    after = _run_bitemporal(ledger, rates, as_of=datetime.date(2026, 1, 15))

    found = ledger.bridge(before, after)

    assert shares(found) == {"data:rates": "1.10", "as_of:rates": "4.40"}


def _run_bitemporal(ledger: Ledger, rates: list[dict[str, str]], **wish: Any) -> str:
    folder = ledger.folder
    ledger.write(*CLOSE)
    folder.write_csv("data/rates.csv", rates)
    columns = [{"name": "currency", "type": "string"}, {"name": "rate", "type": "decimal(10,4)"}]
    table = {"name": "rates", "temporal_mode": "bitemporal", "columns": columns, "location": {"path": "data/rates.csv"}}
    folder.define("dataset", {"id": "rates", "natural_key_columns": ["currency"], "main_table": table})
    return folder.run(**wish).run_id


def test_a_parameter_is_a_cause(ledger: Ledger) -> None:
    scaled = (convert("ROUND(amount * rates.rate * param.factor, 2)"), totals(), output())
    parameters = {"factor": {"type": "decimal(4,2)", "default": "1.00"}}
    before = ledger.run(*scaled, parameters=parameters)
    after = ledger.run(*scaled, parameters=parameters, wish={"parameters": {"factor": "2.00"}})

    assert shares(ledger.bridge(before, after)) == {"parameter:factor": "149.25"}


def test_a_run_that_computes_something_else_ends_a_bridge(
    closed: tuple[Ledger, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger, run = closed
    read = compared_output.written_slice

    def other(*arguments: Any) -> DataFrame | None:
        df = read(*arguments)
        return df.withColumn("total", F.col("total") + 1) if df is not None else None

    monkeypatch.setattr(measured_state, "written_slice", other)
    with pytest.raises(DaybookError) as found:
        ledger.bridge(run, run)
    assert found.value.code == "RUN_068"


@pytest.fixture(scope="module")
def two_projects(closed_folder: tuple[Folder, str]) -> tuple[Ledger, str]:
    """A run of each of two projects, and the id of the first one's."""
    folder, run = closed_folder
    ledger = Ledger(folder)
    ledger.write(*CLOSE)
    other = {"destination": {"datasource_id": "lake", "table": "other"}}
    ledger.folder.project(convert(), totals(), {**output(), "arguments": other}, id_="q", input_="journal")
    ledger.folder.run(project="q")
    return ledger, run


@pytest.mark.parametrize(
    ("wish", "code"),
    [
        ({"measure": "totl"}, "RUN_079"),
        ({"measure": "account"}, "RUN_079"),
        ({"by": ("regoin",)}, "RUN_064"),
        ({"order": ("defintion",)}, "RUN_078"),
        ({"b": "q@2026-01"}, "RUN_069"),
    ],
)
def test_wrong_questions_are_refused(two_projects: tuple[Ledger, str], wish: dict[str, Any], code: str) -> None:
    ledger, run = two_projects

    with pytest.raises(DaybookError) as found:
        ledger.bridge(**{"a": run, "b": run, **wish})
    assert found.value.code == code


def test_operations_of_two_runs_that_contradict_each_other_are_swapped_together(folder: Folder) -> None:
    """Each version of the project declares one type of a column, twice."""
    runs = []
    for type_, factor in (("integer", 1), ("decimal(18,2)", 2)):
        operations = [
            {
                "type": "update",
                "id": id_,
                "seq": seq,
                "arguments": {"assignments": [{"column": "fee", "expression": expression, "type": type_}]},
            }
            for id_, seq, expression in (("one", 10, str(factor)), ("two", 20, f"fee + {factor}"))
        ]
        folder.project(*operations, {**to_table(f"fees{factor}"), "seq": 90})
        runs.append(folder.run().run_id)

    with folder.around() as around:
        found = bridge(around, BridgeRequest(runs[0], runs[1], "fee"))

    (cause,) = (each for each in found.causes if each.is_together)
    assert cause_text(cause) == "definition:one + definition:two"
    assert cause.reason is not None
    assert cause.reason.startswith(CODES["RUN_073"].message.format(reason=""))
