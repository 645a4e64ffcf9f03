"""From a number to the lines of its sources, through the runs of several projects, by values computed by hand."""

import shutil
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import daybook
from daybook.errors import DaybookError
from daybook.runs.explain.levels import NumberExplanation, OperationExplanation
from daybook.workspace.result_json import as_json
from tests.workspaces import Folder, assign, to_path, to_table

JOURNAL_COLUMNS: list[dict[str, Any]] = [
    {"name": "journal_id", "type": "string", "nullable": False},
    {"name": "line", "type": "integer", "nullable": False},
    {"name": "account", "type": "string"},
    {"name": "cost_centre", "type": "string"},
    {"name": "amount", "type": "decimal(18,2)"},
    {"name": "text", "type": "string"},
]
JOURNAL = [
    ("J-1", "1", "4000", "CC-1", "-100.00", "Invoice 17"),
    ("J-1", "2", "1200", "CC-1", "100.00", "Invoice 17"),
    ("J-2", "1", "4000", "CC-2", "-50.50", "Invoice 18"),
    ("J-2", "2", "1200", "CC-2", "50.50", "Invoice 18"),
    ("J-3", "1", "4100", "", "-20.00", "Maintenance"),
    ("J-3", "2", "1200", "", "20.00", "Maintenance"),
    ("J-4", "1", "6000", "CC-1", "30.25", "Rent"),
    ("J-4", "2", "1200", "CC-1", "-30.25", "Rent"),
]


def total(column: str, expression: str, *group_by: str, **more: Any) -> dict[str, Any]:
    aggregations = [{"column": column, "expression": expression}]
    return {"type": "aggregate", "arguments": {"group_by": list(group_by), "aggregations": aggregations}, **more}


def with_close(folder: Folder) -> str:
    """Journal lines become a ledger, the ledger a trial balance, the trial balance a profit and loss statement."""
    names = [column["name"] for column in JOURNAL_COLUMNS]
    rows = [{**dict(zip(names, row, strict=True)), "_period": "2026-01"} for row in JOURNAL]
    folder.write_csv("data/journal.csv", rows)
    table = {"name": "journal", "temporal_mode": "period", "columns": JOURNAL_COLUMNS}
    location = {"path": "data/journal.csv"}
    keyed = {"natural_key_columns": ["journal_id", "line"], "main_table": {**table, "location": location}}
    folder.define("dataset", {"id": "journal", **keyed})
    # Without system columns: nobody knows which operation made a row of it.
    written = ["account", "cost_centre", "balance"]
    folder.project(
        total("balance", "SUM(amount)", "account", "cost_centre"),
        {**to_table("ledger", register_as_dataset="ledger", columns=written), "selector": "_operation_seq = 1"},
        id_="ledger",
        input_="journal",
    )
    folder.run(project="ledger")
    folder.project(
        total("balance", "SUM(balance)", "account"),
        {**to_table("trial", register_as_dataset="trial-balance"), "selector": "_operation_seq = 1"},
        id_="trial-balance",
        input_="ledger",
    )
    folder.run(project="trial-balance")
    folder.project(
        assign("line", 'IF(STARTS_WITH(account, "4"), "Revenue", IF(account = "6000", "Costs", "Balance sheet"))'),
        assign("balance", "0 - balance"),
        total("amount", "SUM(balance)", "line"),
        {**to_table("statement"), "selector": "_operation_seq = 3"},
        id_="statement",
        input_="trial-balance",
    )
    return folder.run(project="statement").run_id


@pytest.fixture(scope="module")
def closed(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> tuple[Folder, str]:
    folder = Folder.new(tmp_path_factory.mktemp("levels") / "w", lambda: spark)
    return folder, with_close(folder)


@pytest.fixture(scope="module")
def revenue(closed: tuple[Folder, str]) -> NumberExplanation:
    """The revenue of the statement, followed to the lines of the journal."""
    folder, run_id = closed
    return folder.explain_number(run_id, 3, {"line": "Revenue"}, columns=("text",))


def operations(found: NumberExplanation) -> list[tuple[int, str, int]]:
    return [(level.depth, each.project_id, each.operation.seq) for level in found.levels for each in level.explanations]


def values(found: OperationExplanation, *columns: str) -> list[tuple[Any, ...]]:
    return sorted((tuple(row[column] for column in columns) for row in found.rows.rows), key=repr)


def money(text: str) -> Decimal:
    return Decimal(text)


def test_a_number_is_followed_through_three_projects_to_journal_lines(revenue: NumberExplanation) -> None:
    found = revenue
    assert found.first.summary_rows is not None
    assert [row["amount"] for row in found.first.summary_rows.rows] == [money("170.50")]
    assert values(found.first, "account", "balance") == [("4000", money("150.50")), ("4100", money("20.00"))]
    assert operations(found) == [(2, "trial-balance", 1), (3, "ledger", 2), (4, "ledger", 1)]
    trial, written, ledger = (level.explanations[0] for level in found.levels)
    assert values(trial, "account", "cost_centre", "balance") == [
        ("4000", "CC-1", money("-100.00")),
        ("4000", "CC-2", money("-50.50")),
        ("4100", None, money("-20.00")),
    ]
    assert values(written, "account", "cost_centre", "balance") == values(trial, "account", "cost_centre", "balance")
    assert values(ledger, "journal_id", "line", "amount", "text") == [
        ("J-1", 1, money("-100.00"), "Invoice 17"),
        ("J-2", 1, money("-50.50"), "Invoice 18"),
        ("J-3", 1, money("-20.00"), "Maintenance"),
    ]
    assert found.is_complete
    assert {origin.dataset_id for origin in ledger.rows.origins} == {"journal"}
    assert [origin.next for origin in ledger.rows.origins] == [None, None, None]


def test_each_level_sums_to_the_one_above(revenue: NumberExplanation) -> None:
    sums = [
        (each.column, each.above, each.value, each.rows, each.is_equal)
        for level in revenue.levels
        for explanation in level.explanations
        for each in explanation.sums
    ]
    whole = money("-170.50")
    assert sums == [
        ("balance", whole, whole, whole, True),
        ("balance", whole, None, whole, True),
        ("balance", whole, whole, whole, True),
    ]
    (top,) = revenue.first.sums
    assert (top.above, top.value, top.rows) == (None, money("170.50"), money("170.50"))


def test_one_level_says_of_every_row_what_to_ask_next(closed: tuple[Folder, str]) -> None:
    folder, run_id = closed
    found = folder.explain(run_id, 3, {"line": "Costs"})
    (origin,) = found.rows.origins
    assert origin.next is not None
    assert (origin.key, origin.dataset_id) == ({"account": "6000"}, "trial-balance")
    assert (origin.next.project_id, origin.next.period, origin.next.seq) == ("trial-balance", "2026-01", 1)
    assert origin.next.keys == {"account": "6000"}
    behind = folder.explain(origin.next.run_id, origin.next.seq, dict(origin.next.keys))
    assert values(behind, "account", "cost_centre", "balance") == [("6000", "CC-1", money("30.25"))]


def test_a_column_that_no_level_has(closed: tuple[Folder, str]) -> None:
    folder, run_id = closed
    with pytest.raises(DaybookError) as refused:
        folder.explain_number(run_id, 3, {"line": "Costs"}, columns=("txt",))
    assert (refused.value.code, refused.value.parameters["column"]) == ("RUN_045", "txt")


def test_the_depth_ends_the_way(closed: tuple[Folder, str]) -> None:
    folder, run_id = closed
    alone = folder.explain_number(run_id, 3, {"line": "Revenue"}, depth=1)
    assert (alone.levels, alone.is_complete) == ((), False)
    two = folder.explain_number(run_id, 3, {"line": "Revenue"}, depth=2)
    assert (operations(two), two.is_complete) == ([(2, "trial-balance", 1)], False)


def test_of_several_groups_the_first_is_followed(closed: tuple[Folder, str]) -> None:
    folder, run_id = closed
    found = folder.explain_number(run_id, 3)
    assert found.first.summary_rows is not None
    assert found.first.summary_rows.count == 3
    assert (found.levels[0].depth, found.levels[0].explanations[0].keys) == (1, {"line": "Balance sheet"})
    last = found.levels[-1].explanations[0]
    assert values(last, "journal_id", "amount") == [
        ("J-1", money("100.00")),
        ("J-2", money("50.50")),
        ("J-3", money("20.00")),
        ("J-4", money("-30.25")),
    ]


def test_programs_get_all_levels_with_their_sums(revenue: NumberExplanation) -> None:
    data = as_json(revenue)
    assert data["operation"]["seq"] == 3
    assert [level["depth"] for level in data["levels"]] == [2, 3, 4]
    (one,) = data["levels"][0]["explanations"]
    assert one["sums"] == [
        {"column": "balance", "above": "-170.50", "value": "-170.50", "rows": "-170.50", "is_equal": True}
    ]
    assert [origin["next"]["seq"] for origin in one["rows"]["origins"]] == [2, 2, 2]


def test_rows_that_were_left_out_are_no_part_of_the_sums_below(closed: tuple[Folder, str]) -> None:
    """Only the shown rows are followed, and the level below sums up to them."""
    folder, run_id = closed
    found = folder.explain_number(run_id, 3, {"line": "Revenue"}, limit=1)
    assert found.first.rows.count == 2
    (shown,) = found.first.rows.rows
    (below,) = found.levels[0].explanations
    (each,) = below.sums
    assert (each.above, each.is_equal) == (-shown["balance"], True)


def test_opening_balances_lead_into_the_run_of_the_month_before(folder: Folder) -> None:
    columns = [{"name": "account", "type": "string"}, {"name": "amount", "type": "decimal(18,2)"}]
    rows = [
        {"account": "1200", "amount": "10.00", "_period": "2026-01"},
        {"account": "1200", "amount": "5.00", "_period": "2026-01"},
        {"account": "1200", "amount": "2.50", "_period": "2026-02"},
        {"account": "4000", "amount": "7.00", "_period": "2026-02"},
    ]
    folder.write_csv("data/movements.csv", rows)
    folder.dataset("movements", columns, {"path": "data/movements.csv"}, temporal_mode="period")
    folder.dataset("closing", columns, {"datasource_id": "lake", "table": "closing"}, temporal_mode="period")
    view = {"of": "closing", "window": "previous", "missing": "empty", "period": "run"}
    folder.define("dataset", {"id": "opening", "view": view})
    balances = total("amount", "SUM(amount)", "account")
    folder.project(
        {"type": "append", "arguments": {"source": {"dataset_id": "opening"}}},
        balances,
        {
            **to_table("closing", register_as_dataset="closing", columns=["account", "amount"]),
            "selector": "_operation_seq = 2",
        },
        id_="roll",
        input_="movements",
    )
    january = folder.run("2026-01", project="roll").run_id
    february = folder.run("2026-02", project="roll").run_id
    found = folder.explain_number(february, 2, {"account": "1200"})
    assert found.first.sums[0].value == money("17.50")
    path = [(level.depth, each.run_id, each.operation.seq) for level in found.levels for each in level.explanations]
    assert path == [(2, february, 1), (3, january, 3), (4, january, 2)]
    assert values(found.levels[-1].explanations[0], "amount") == [(money("10.00"),), (money("5.00"),)]
    assert all(level.is_equal for level in found.levels)


def test_a_run_whose_data_is_gone_leaves_a_gap(closed: tuple[Folder, str], tmp_path: Path) -> None:
    """In a copy of the workspace."""
    whole, run_id = closed
    shutil.copytree(whole.root, tmp_path / "w")
    folder = Folder(tmp_path / "w", whole.session)
    (folder.root / "data/journal.csv").unlink()
    for manifest in folder.root.glob(".daybook/landing/files/*/manifest.json"):
        manifest.unlink()
    found = folder.explain_number(run_id, 3, {"line": "Revenue"})
    assert operations(found) == [(2, "trial-balance", 1)]
    (gap,) = found.levels[-1].gaps
    assert (gap.seq, gap.error.code) == (2, "RUN_012")


def test_a_group_whose_values_were_changed_since_is_known_by_its_id(folder: Folder) -> None:
    folder.project(
        total("sum", "SUM(amount)", "region"),
        assign("region", '"World"', selector="_operation_seq = 1"),
        total("sum", "SUM(sum)", "region", selector="_operation_seq = 1"),
        to_table(),
    )
    run = folder.run()
    found = folder.explain_number(run.run_id, 3, {"region": "World"})
    assert found.first.sums[0].value == money("150.00")
    assert {tuple(origin.next.keys) for origin in found.first.rows.origins if origin.next} == {("_row_id",)}
    (below,) = found.levels[0].explanations
    assert values(below, "region", "amount") == [
        ("APAC", money("0.00")),
        ("EMEA", money("100.00")),
        ("EMEA", money("50.00")),
    ]
    assert found.levels[0].is_equal
    with pytest.raises(DaybookError) as unknown:
        folder.explain(run.run_id, 1, {"_row_id": "019b76da-a800-7253-8ca8-e220f8eebd13"})
    assert unknown.value.code == "RUN_044"


@pytest.mark.parametrize("dataset", ["to-date", pytest.param("whole", marks=pytest.mark.slow)])
def test_rows_of_several_periods_lead_into_several_runs(folder: Folder, dataset: str) -> None:
    """Through a view to date, and from a table that is read as a whole."""
    written = ["region", "sum"]
    folder.project(
        total("sum", "SUM(amount)", "region"),
        {**to_table("sales", columns=written), "selector": "_operation_seq = 1"},
        id_="monthly",
    )
    january, february = (run.run_id for run in folder.runs("2026-01..2026-02", project="monthly"))
    columns = [{"name": "region", "type": "string"}, {"name": "sum", "type": "decimal(38,2)"}]
    location = {"datasource_id": "lake", "table": "sales"}
    folder.dataset("sales", columns, location, temporal_mode="period")
    folder.define("dataset", {"id": "to-date", "view": {"of": "sales", "window": {"to_date": "year"}}})
    folder.dataset("whole", columns, location)
    folder.project(total("year", "SUM(sum)", "region"), to_table(dataset), id_=dataset, input_=dataset)
    run = folder.run("2026-02", project=dataset)
    found = folder.explain_number(run.run_id, 1, {"region": "APAC"})
    assert found.first.sums[0].value == money("70.00")
    asked = {origin.next.run_id for origin in found.first.rows.origins if origin.next}
    assert asked == {january, february}
    last = found.levels[-1]
    amounts = sorted(row["amount"] for each in last.explanations for row in each.rows.rows)
    assert amounts == [money("0.00"), money("70.00")]
    assert all(level.is_equal for level in found.levels)


def test_files_that_a_run_wrote_lead_to_that_run(folder: Folder) -> None:
    folder.project(
        total("sum", "SUM(amount)", "region"),
        {**to_path("out/{{identifier}}.csv", columns=["region", "sum"]), "selector": "_operation_seq = 1"},
        id_="files",
    )
    first = folder.run(project="files").run_id
    second = folder.run(project="files").run_id
    columns = [{"name": "region", "type": "string"}, {"name": "sum", "type": "decimal(38,2)"}]
    folder.dataset("written", columns, {"path": "out/{{identifier}}.csv"}, temporal_mode="period")
    folder.project(total("all", "SUM(sum)", "_period"), to_table("all"), id_="all", input_="written")
    found = folder.explain_number(folder.run(project="all").run_id, 1, {"_period": "2026-01"})
    assert found.first.sums[0].value == money("150.00")
    assert {origin.next.run_id for origin in found.first.rows.origins if origin.next} == {second}
    assert first != second
    assert [level.is_equal for level in found.levels] == [True, True]


def test_a_notebook_follows_a_number(closed: tuple[Folder, str], spark: SparkSession) -> None:
    folder, run_id = closed
    found = daybook.Workspace(folder.root, spark=spark).explain(run_id, 3, line="Costs").follow(columns=["text"])
    (lines,) = found.levels[-1].explanations
    assert values(lines, "journal_id", "line", "amount", "text") == [("J-4", 1, money("30.25"), "Rent")]


def test_rows_that_an_append_mapped_are_found_in_its_source(folder: Folder) -> None:
    rows = [
        {"area": "EMEA", "planned": "10.00"},
        {"area": "EMEA", "planned": "5.00"},
        {"area": "APAC", "planned": "1.00"},
    ]
    folder.write_csv("data/plan.csv", rows)
    columns = [{"name": "area", "type": "string"}, {"name": "planned", "type": "decimal(18,2)"}]
    folder.dataset("plan", columns, {"path": "data/plan.csv"})
    mapped = {"source": {"dataset_id": "plan"}, "columns": {"amount": "planned", "region": "area"}}
    folder.project(
        {"type": "append", "arguments": mapped},
        total("sum", "SUM(amount)", "region", selector="_operation_seq = 1"),
        to_table(),
    )
    found = folder.explain_number(folder.run().run_id, 2, {"region": "EMEA"})
    assert found.first.sums[0].value == money("15.00")
    (below,) = found.levels[0].explanations
    assert values(below, "area", "planned") == [("EMEA", money("10.00")), ("EMEA", money("5.00"))]
    assert [(each.column, each.above, each.rows) for each in below.sums] == [
        ("planned", money("15.00"), money("15.00"))
    ]


def with_details_and_totals(folder: Folder) -> None:
    """A table with EMEA 100, 50 and their total 150, and with APAC 0 and its total 0, which keeps no ids."""
    folder.project(
        total("amount", "SUM(amount)", "region"),
        to_table("mixed", columns=["region", "amount"]),
        id_="mixed",
    )
    folder.run(project="mixed")
    columns = [{"name": "region", "type": "string"}, {"name": "amount", "type": "decimal(38,2)"}]
    folder.dataset("mixed", columns, {"datasource_id": "lake", "table": "mixed"}, temporal_mode="period")


def test_a_total_among_its_details_is_followed_alone(folder: Folder) -> None:
    with_details_and_totals(folder)
    folder.project(total("sum", "SUM(amount)", "region", selector="amount = 150.00"), to_table(), input_="mixed")
    explained = folder.explain_number(folder.run().run_id, 1, {"region": "EMEA"})
    written, summed = (level.explanations[0] for level in explained.levels)
    assert values(written, "region", "amount", "_operation_seq") == [("EMEA", money("150.00"), 1)]
    assert values(summed, "amount") == [(money("100.00"),), (money("50.00"),)]
    assert [level.is_equal for level in explained.levels] == [True, True]


def test_rows_that_are_alike_are_followed_together_or_not_at_all(folder: Folder) -> None:
    with_details_and_totals(folder)
    folder.project(total("sum", "COUNT(*)", "region"), to_table(), input_="mixed")
    run_id = folder.run().run_id
    both = folder.explain_number(run_id, 1, {"region": "APAC"})
    assert values(both.levels[0].explanations[0], "_operation_seq") == [(0,), (1,)]
    one = folder.explain_number(run_id, 1, {"region": "APAC"}, limit=1)
    (gap,) = one.first.gaps
    assert (gap.seq, gap.error.code, gap.error.parameters["rows"]) == (2, "RUN_053", 1)
    assert one.levels == ()


def test_one_of_two_alike_rows_that_were_appended(folder: Folder) -> None:
    rows = [{"region": "EMEA", "amount": "10.00", "note": note} for note in ("a", "b")]
    folder.write_csv("data/plan.csv", rows)
    columns = [{"name": name, "type": "string"} for name in ("region", "note")]
    folder.dataset("plan", [*columns, {"name": "amount", "type": "decimal(18,2)"}], {"path": "data/plan.csv"})
    carried = {"region": "region", "amount": "amount"}
    folder.project(
        {"type": "append", "arguments": {"source": {"dataset_id": "plan"}, "columns": carried}},
        total("sum", "SUM(amount)", "region", selector="_operation_seq = 1"),
        to_table(),
    )
    run_id = folder.run().run_id
    notes = set()
    for note in ("a", "b"):
        (source,) = folder.explain(run_id, 1, {"note": note}).rows.rows
        (again,) = folder.explain(run_id, 1, {"_row_id": source["_row_id"]}).rows.rows
        assert again == source
    for appended in folder.explain(run_id, 2, {"region": "EMEA"}).rows.rows:
        (source,) = folder.explain(run_id, 1, {"_row_id": appended["_row_id"]}).rows.rows
        notes.add(source["note"])
    assert notes == {"a", "b"}
    first = folder.explain_number(run_id, 2, {"region": "EMEA"}, limit=1)
    assert first.levels[0].explanations[0].rows.count == 1
    assert first.levels[0].is_equal


def test_averages_are_shown_but_not_added_up(folder: Folder) -> None:
    """EMEA has 100 and 50; the average is no amount that rows of other groups could be added to."""
    values_of_group = [
        {"column": "sum", "expression": "SUM(amount)"},
        {"column": "mean", "expression": "AVG(amount)"},
    ]
    aggregate = {"type": "aggregate", "arguments": {"group_by": ["region"], "aggregations": values_of_group}}
    folder.project(aggregate, total("all", "SUM(sum)", "_period", selector="_operation_seq = 1"), to_table())
    run_id = folder.run().run_id
    group = folder.explain(run_id, 1, {"region": "EMEA"})
    assert [each.column for each in group.sums] == ["sum"]
    assert group.summary_rows is not None
    assert [row["mean"] for row in group.summary_rows.rows] == [money("75.00")]
    assert [each.column for each in folder.explain(run_id, 1).sums] == ["sum"]
