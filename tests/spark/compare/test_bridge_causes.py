"""Each kind of cause by itself: named, swapped, and with the share that a calculation by hand gives."""

import datetime
import math
from typing import Any

import pytest

from daybook.compare import measured_state, shared_rows
from daybook.compare.bridge import BridgeRequest, bridge
from daybook.compare.bridge_result import BridgeResult, RowCounts
from daybook.compare.compared_run import RepeatedRowKeys
from daybook.compare.diff import DiffRequest, diff
from daybook.errors import DaybookError
from daybook.runs.attempt.run_request import RunRequest
from daybook.runs.environment import open_run_environment
from tests.spark.compare.journals import (
    BY_REGION,
    CLOSE,
    JOURNAL_COLUMNS,
    RATE_COLUMNS,
    Ledger,
    cause_text,
    change,
    convert,
    output,
    shares,
    totals,
)
from tests.workspaces import ORDERS, Folder, assign, run_files, to_path, to_table


def ask(folder: Folder, a: str, b: str, measure: str, **wish: Any) -> BridgeResult:
    with folder.around() as around:
        return bridge(around, BridgeRequest(a, b, measure, **wish))


def resolve_journal(ledger: Ledger, path: str, resolver: str = "monthly", rule: str = "files") -> None:
    """The journal is found by a resolver, at this path."""
    ledger.folder.datasource("files", "csv", path="data")
    table = {"name": "journal", "columns": JOURNAL_COLUMNS}
    ledger.folder.define(
        "dataset",
        {"id": "journal", "natural_key_columns": ["line"], "resolver_id": resolver, "main_table": table},
    )
    strategy = {"type": "path", "datasource_id": "files", "path": path}
    rules = [{"name": rule, "data_level": "any", "strategy": strategy}]
    ledger.folder.define("resolver", {"id": resolver, "rules": rules})


def correct_journal(ledger: Ledger, path: str = "data/corrected.csv") -> None:
    """A second file in which line J-2 is 60.25 instead of 50.25."""
    text = (ledger.folder.root / "data/journal.csv").read_text()
    (ledger.folder.root / path).write_text(text.replace("50.25", "60.25"))


def test_a_changed_resolver_is_swapped_together_with_the_data_it_leads_to(ledger: Ledger) -> None:
    ledger.write(*CLOSE)
    correct_journal(ledger)
    resolve_journal(ledger, "journal.csv")
    before = ledger.folder.run().run_id
    resolve_journal(ledger, "corrected.csv")
    after = ledger.folder.run().run_id
    resolve_journal(ledger, "corrected.csv", rule="renamed")
    same = ledger.folder.run().run_id

    found = ledger.bridge(before, after)

    assert shares(found) == {"data:journal + dataset:journal": "10.00"}
    (cause,) = found.causes
    assert cause.reason == "the resolver of journal says where its data is"
    assert cause.members[1].label == "journal by resolver monthly version 2 instead of resolver monthly version 1"
    assert cause.rows == RowCounts(added=0, removed=0, changed=1)
    assert [(row.key["line"], str(row.effect)) for row in cause.largest or ()] == [("J-2", "10.00")]
    # A resolver that leads to the same place is no cause.
    assert ledger.bridge(after, same).is_same


def test_another_version_of_a_dataset_is_a_cause_of_its_own(ledger: Ledger) -> None:
    """The same rates, of which version 2 of the dataset keeps one digit: 0.95 becomes 1.0."""
    ledger.rates["USD"] = "0.9500"
    before = ledger.run(*CLOSE)
    columns = [RATE_COLUMNS[0], {"name": "rate", "type": "decimal(10,1)"}]
    table = {"name": "rates", "columns": columns, "location": {"path": "data/rates.csv"}}
    ledger.folder.define("dataset", {"id": "rates", "natural_key_columns": ["currency"], "main_table": table})
    ledger.folder.write_csv("data/rates.csv", [{"currency": "USD", "rate": "1.0"}, {"currency": "EUR", "rate": "1.0"}])
    after = ledger.folder.run().run_id

    found = ledger.bridge(before, after)

    # 110.00 dollars at 0.05 more; of a file that was landed with other types, data and definition go together.
    assert (str(found.before), str(found.after)) == ("154.75", "160.25")
    assert shares(found) == {"data:rates + dataset:rates": "5.50"}


@pytest.mark.slow
def test_a_version_of_a_dataset_that_the_project_pins(ledger: Ledger) -> None:
    """Version 1 lies in one file, version 2 in another; nothing but the number in the project changes."""
    ledger.write(*CLOSE)
    correct_journal(ledger)
    before = ledger.folder.run().run_id
    table = {"name": "journal", "columns": JOURNAL_COLUMNS, "location": {"path": "data/corrected.csv"}}
    ledger.folder.define("dataset", {"id": "journal", "natural_key_columns": ["line"], "main_table": table})
    after = ledger.folder.run().run_id

    found = ledger.bridge(before, after)

    snapshots = [ledger.folder.snapshot(run_id) for run_id in (before, after)]
    assert [each.source("input").dataset_version for each in snapshots] == [1, 2]
    assert shares(found) == {"data:journal": "10.00"}


@pytest.mark.slow
def test_another_dataset_version_written_in_the_project_is_the_data_of_that_version(ledger: Ledger) -> None:
    """Version 1 lies in one file and version 2 in another; nothing but the number in the project changes."""
    ledger.write(*CLOSE)
    ledger.folder.apply()
    correct_journal(ledger)
    table = {"name": "journal", "columns": JOURNAL_COLUMNS, "location": {"path": "data/corrected.csv"}}
    ledger.folder.define("dataset", {"id": "journal", "natural_key_columns": ["line"], "main_table": table})
    runs = []
    for version in (1, 2):
        pinned = {"dataset_id": "journal", "dataset_version": version}
        ledger.folder.project(*CLOSE, input=pinned)
        ledger.folder.apply()
        ledger.folder.activate()
        runs.append(ledger.folder.run().run_id)

    found = ledger.bridge(*runs)

    assert [ledger.folder.snapshot(run_id).source("input").dataset_version for run_id in runs] == [1, 2]
    # J-2 is 60.25 instead of 50.25 euros.
    assert (str(found.before), str(found.after)) == ("149.25", "159.25")
    assert shares(found) == {"data:journal": "10.00"}


def test_the_time_of_the_run_is_a_cause_where_an_expression_asks_for_it(ledger: Ledger) -> None:
    folder = ledger.folder
    ledger.write(convert("ROUND(amount * rates.rate, 2) + DAY(TODAY())"), totals(), output())
    runs = []
    for day in (3, 10):
        workspace = folder.load()
        now = datetime.datetime(2026, 2, day, tzinfo=datetime.UTC)
        with open_run_environment(workspace, folder.session, clock=lambda now=now: now) as around:  # type: ignore[misc]
            runs += [each.run_id for each in run_files(workspace, around, RunRequest("p", "2026-01"))]

    found = ledger.bridge(*runs)

    # Three lines, each with seven days more.
    assert shares(found) == {"timestamp:2026-02-10T00:00:00+00:00": "21.00"}
    assert found.causes[0].label == "time of the run, 2026-02-10 00:00 instead of 2026-02-03 00:00"


def other_input(ledger: Ledger, *operations: dict[str, Any], table: str = "journal") -> str:
    correct_journal(ledger)
    definition = {"name": table, "columns": JOURNAL_COLUMNS, "location": {"path": "data/corrected.csv"}}
    ledger.folder.define("dataset", {"id": "corrected", "natural_key_columns": ["line"], "main_table": definition})
    ledger.folder.project(*operations, input_="corrected")
    return ledger.folder.run().run_id


def test_another_input_is_the_data_of_the_new_one(closed: tuple[Ledger, str]) -> None:
    ledger, before = closed
    ledger.write(*CLOSE)
    after = other_input(ledger, convert("ROUND(amount * rates.rate, 0)"), totals(), output())

    found = ledger.bridge(before, after)

    # 149.25, with line J-2 of 60.25 159.25, rounded 90 + 60 + 9.
    assert shares(found) == {"data:corrected": "10.00", "definition:convert": "-0.25"}
    assert found.causes[0].label == "input corrected instead of journal"
    assert found.causes[0].rows is None


@pytest.mark.slow
def test_another_input_and_the_operations_that_name_its_table_go_together(ledger: Ledger) -> None:
    before = ledger.run(convert("ROUND(journal.amount * rates.rate, 2)"), totals(), output())
    operations = (convert("ROUND(other.amount * rates.rate, 0)"), totals(), output())
    after = other_input(ledger, *operations, table="other")

    found = ledger.bridge(before, after)

    assert shares(found) == {"data:corrected + definition:convert": "9.75"}
    assert found.causes[0].reason is not None
    assert "journal" in found.causes[0].reason


@pytest.mark.slow
def test_an_input_that_was_joined_before_is_one_cause(ledger: Ledger) -> None:
    """The rates become the input, and what is read of them changed, too."""
    before = ledger.run(*CLOSE)
    ledger.folder.write_csv("data/rates.csv", [{"currency": "USD", "rate": "0.9500"}])
    other = {**output(), "arguments": {"destination": {"datasource_id": "lake", "table": "by_currency"}}}
    ledger.folder.project({**convert(), "arguments": _account_of_currency()}, totals(), other, input_="rates")
    after = ledger.folder.run().run_id

    found = ledger.bridge(before, after)

    assert [str(found.before), str(found.after)] == ["149.25", "95.00"]
    assert sum(cause.share for cause in found.causes) + found.before == found.after  # type: ignore[operator]
    assert [each.text for each in found.order].count("data:rates") == 1


def _account_of_currency() -> dict[str, Any]:
    values = {"account": "currency", "eur": "ROUND(100 * rate, 2)"}
    return {"assignments": [{"column": name, "expression": text} for name, text in values.items()]}


def everything_at_once(ledger: Ledger) -> tuple[str, str]:
    """A late line, another rate, other rounding, a moved operation and another base of an allocation."""

    def operations(digits: int, fee: tuple[int, int], weight: str) -> tuple[dict[str, Any], ...]:
        bonus, double = fee
        allocated = change("share", 40, f"eur + ALLOCATE(100.00, {weight}) OVER ()")
        return (
            convert(f"ROUND(amount * rates.rate, {digits})"),
            change("bonus", bonus, "eur + 1"),
            change("double", double, "eur * 2"),
            allocated,
            totals(),
            output(),
        )

    before = ledger.run(*operations(2, (20, 30), "1"))
    ledger.lines["J-4"] = ("5000", "USD", "20.00")
    ledger.rates["USD"] = "0.9550"
    return before, ledger.run(*operations(0, (30, 20), "amount"))


@pytest.mark.slow
def test_five_causes_at_once_in_the_usual_order(ledger: Ledger) -> None:
    found = ledger.bridge(*everything_at_once(ledger), by=("account",))

    # A: (149.25 + 3) * 2 + 100.00. The line: 18.00 + 1, doubled. The rate: 130 dollars at 0.055 more, doubled.
    # Rounded: 95.50 + 50.25 + 9.55 + 19.10 = 174.40 becomes 96 + 50 + 10 + 19 = 175, doubled. Moved: 4 instead of 8.
    # The base of the allocation moves nothing in total.
    assert (str(found.before), str(found.after)) == ("404.50", "454.00")
    assert [(cause_text(cause), str(cause.share)) for cause in found.causes] == [
        ("data:journal", "38.00"),
        ("data:rates", "14.30"),
        ("definition:convert", "1.20"),
        (next(cause_text(each) for each in found.causes if each.label.endswith("(moved)")), "-4.00"),
        ("definition:share", "0.00"),
    ]
    assert found.by is not None
    # Weights are 100.00, 50.25, 10.00 and 20.00 of 180.25: 55.48 + 27.88 for 4000, 5.55 + 11.09 for 5000;
    # before, four lines with 25.00 each.
    assert {group.key["account"]: str(group.shares[-1]) for group in found.by} == {"4000": "33.36", "5000": "-33.36"}


@pytest.mark.slow
def test_five_causes_at_once_with_definitions_first(ledger: Ledger) -> None:
    found = ledger.bridge(*everything_at_once(ledger), order=("definition", "data"))

    # Rounded 90 + 50 + 9 instead of 149.25, doubled; moved: 3 instead of 6; the line: 18 doubled and 1;
    # the rate: 96 + 10 + 19 instead of 90 + 9 + 18, doubled.
    by_name = {cause.label.split(" (")[0]: str(cause.share) for cause in found.causes}
    assert (by_name["10 Convert"], by_name["data of journal"], by_name["data of rates"]) == ("-0.50", "37.00", "16.00")
    assert next(str(each.share) for each in found.causes if each.label.endswith("(moved)")) == "-3.00"
    assert sum(cause.share for cause in found.causes) == found.difference


def float_run(folder: Folder, value: str, expression: str) -> str:
    columns = [{"name": "id", "type": "string"}, {"name": "x", "type": "float"}]
    folder.define(
        "dataset",
        {
            "id": "floats",
            "natural_key_columns": ["id"],
            "main_table": {"name": "floats", "columns": columns, "location": {"path": "data/floats.csv"}},
        },
    )
    folder.write_csv("data/floats.csv", [{"id": "1", "x": value}, {"id": "2", "x": "0"}])
    folder.project(assign("y", expression), to_table("floats"), input_="floats")
    return folder.run().run_id


def test_what_floats_leave_over_is_said_with_the_reason(folder: Folder) -> None:
    before = float_run(folder, "0.5", "x * 1")
    after = float_run(folder, "1e16", "x * 0 + IF(x > 1, 0.25, 0)")

    found = ask(folder, before, after, "y")

    # 1e16 less 0.5 is 1e16 in a float, and 0.25 less 1e16 is -1e16: the shares add up to 0 instead of -0.25.
    assert [cause.share for cause in found.causes] == [1e16, -1e16]
    assert found.residual == -0.25
    (said,) = found.notices
    assert said.code == "RUN_074"
    assert "-0.25 of the difference remains unexplained" in said.message


@pytest.mark.slow
def test_totals_that_are_no_numbers_are_compared_like_others(folder: Folder) -> None:
    before = float_run(folder, "NaN", "x * 1")
    after = float_run(folder, "Infinity", "x * 1")

    found = ask(folder, before, after, "y")

    assert math.isnan(float(found.before))
    assert found.after == math.inf
    assert [cause_text(cause) for cause in found.causes] == ["data:floats"]
    assert ask(folder, after, after, "y").is_same


def test_more_groups_than_can_be_read_are_refused(folder: Folder) -> None:
    rows = [dict(ORDERS[0], order_id=f"O-{number}") for number in range(10_001)]
    folder.write_csv("data/orders.csv", rows)
    folder.project(assign("amount", "amount * 1"), to_table())
    before = folder.run().run_id

    with pytest.raises(DaybookError) as found:
        ask(folder, before, before, "amount", by=("order_id",))
    assert found.value.code == "RUN_075"
    assert "10,000" in str(found.value)


def test_what_other_runs_appended_to_is_compared_by_the_number_of_rows_alone(folder: Folder) -> None:
    folder.project(BY_REGION, to_table("log", mode="append"))
    before = folder.run().run_id
    folder.project(assign("amount", "amount + 1"), BY_REGION, to_table("log", mode="append"))
    after = folder.run().run_id

    found = ask(folder, before, after, "total")

    assert [each.code for each in found.notices] == ["RUN_076", "RUN_076"]
    assert [str(cause.share) for cause in found.causes] == ["3.00"]
    assert found.computations == 2


def test_rows_that_share_a_key_have_one_effect_and_are_counted(ledger: Ledger) -> None:
    """Line J-1 stands twice: 10.00 and 20.00 before, 10.00 and 25.00 after."""
    ledger.write(*CLOSE)
    journal = ledger.folder.root / "data/journal.csv"
    journal.write_text("line,account,currency,amount\nJ-1,4000,EUR,10.00\nJ-1,4000,EUR,20.00\nJ-2,4000,EUR,1.00\n")
    before = ledger.folder.run().run_id
    journal.write_text("line,account,currency,amount\nJ-1,4000,EUR,10.00\nJ-1,4000,EUR,25.00\nJ-2,4000,EUR,2.00\n")
    after = ledger.folder.run().run_id

    (cause,) = ledger.bridge(before, after).causes

    assert str(cause.share) == "6.00"
    assert cause.repeated == RepeatedRowKeys(1, 1)
    assert [(row.key["line"], str(row.effect), row.rows_a, row.rows_b) for row in cause.largest or ()] == [
        ("J-1", "5.00", 2, 2),
        ("J-2", "1.00", 1, 1),
    ]


@pytest.mark.slow
def test_a_draft_against_the_active_version(ledger: Ledger) -> None:
    settings = ledger.folder.root / "daybook.yaml"
    settings.write_text(settings.read_text() + "sandbox: sandbox\n")
    ledger.write(*CLOSE)
    ledger.folder.apply()
    ledger.folder.activate()
    active = ledger.folder.run().run_id
    ledger.folder.project(convert("ROUND(amount * rates.rate, 0)"), totals(), output(), input_="journal")
    draft = ledger.folder.run(is_draft=True).run_id

    found = ledger.bridge(active, draft)

    assert (found.a.is_draft, found.b.is_draft) == (False, True)
    assert shares(found) == {"definition:convert": "-0.25"}


@pytest.mark.slow
def test_an_output_without_versions_takes_one_computation_for_each_state(ledger: Ledger) -> None:
    """The fingerprint of what was written, the total and what single rows did come of one pass."""
    file = {**output(), "arguments": {"destination": {"location": "out/totals.csv"}}}
    before = ledger.run(convert(), totals(), file)
    ledger.lines["J-4"] = ("5000", "USD", "20.00")
    after = ledger.run(convert("ROUND(amount * rates.rate, 0)"), totals(), file)

    found = ledger.bridge(before, after)

    assert shares(found) == {"data:journal": "18.00", "definition:convert": "-0.25"}
    assert [str(row.effect) for row in found.causes[0].largest or ()] == ["18.00"]
    assert found.computations <= 3


def test_a_file_with_another_fingerprint_than_is_computed_again_ends_a_bridge(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder.project(assign("amount", "amount * 1"), to_path("out/x.csv"))
    run_id = folder.run().run_id
    monkeypatch.setattr(measured_state, "format_parts", lambda *_: "another")

    with pytest.raises(DaybookError) as found:
        ask(folder, run_id, run_id, "amount")
    assert found.value.code == "RUN_068"
    assert "3 rows" in str(found.value)


def test_of_inputs_that_are_gone_it_is_said_what_can_still_be_compared(folder: Folder) -> None:
    folder.project(assign("amount", "amount * 1"), to_table())
    before = folder.run().run_id
    folder.write_csv("data/orders.csv", ORDERS[:1])
    after = folder.run().run_id
    for manifest in folder.root.glob(".daybook/landing/files/*/manifest.json"):
        manifest.unlink()

    with pytest.raises(DaybookError) as found:
        ask(folder, before, after, "amount")

    assert (found.value.code, found.value.hint) == ("RUN_012", "`daybook diff` can still compare what was written")
    with folder.around() as around:
        still = diff(around, DiffRequest(before, after))
    assert (still.rows.removed, still.a.is_computed, still.b.is_computed) == (2, False, False)


def test_states_with_an_expensive_beginning_share_it(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three joins come before the two operations that changed, so that only the first state computes them."""
    monkeypatch.setattr(shared_rows, "_COST_OF_KEEPING", 1)
    joins = [
        {
            **convert(f"rates{number}.rate", id=f"join{number}", seq=number),
            "arguments": {
                "joins": [
                    {"alias": f"rates{number}", "dataset_id": "rates", "on": f"rates{number}.currency = currency"}
                ],
                "assignments": [{"column": f"rate{number}", "expression": f"rates{number}.rate"}],
            },
        }
        for number in (1, 2)
    ]

    def operations(added: int) -> tuple[dict[str, Any], ...]:
        return (
            *joins,
            convert(),
            change("first", 20, f"eur + {added}"),
            change("second", 30, f"eur * {added + 1}"),
            totals(),
            output(),
        )

    before, after = ledger.run(*operations(1)), ledger.run(*operations(2))

    found = ledger.bridge(before, after)

    # (149.25 + 3) * 2, each with one more: 3 lines doubled, 155.25 once more.
    assert shares(found) == {"definition:first": "6.00", "definition:second": "155.25"}
    assert found.computations == 1
    assert ledger.folder.staged() == []
