"""Warnings of a plan."""

import pytest

from daybook.errors import DaybookError
from tests.unit.plan.planned import BUDGET, ORDERS, datasets, plan_of

OUTPUT = "- {type: output, arguments: {destination: {location: out.csv}}}\n"


def aggregate(column: str, expression: str, group_by: str = "region", selector: str = "") -> str:
    picked = f"selector: '{selector}', " if selector else ""
    return (
        f"- {{type: aggregate, {picked}arguments: {{group_by: [{group_by}], "
        f"aggregations: [{{column: {column}, expression: '{expression}'}}]}}}}\n"
    )


def noticed(operations: str) -> list[tuple[str, int | None]]:
    return [(notice.code, notice.operation_seq) for notice in plan_of(operations).notices]


def test_a_total_in_the_column_it_sums_up_is_counted_again() -> None:
    twice = aggregate("amount", "SUM(amount)") + aggregate("amount", "SUM(amount)", "status")
    assert noticed(twice + OUTPUT)[0] == ("PROJECT_024", 2)


def test_the_notice_says_how_to_leave_summary_rows_out() -> None:
    plan = plan_of(aggregate("amount", "SUM(amount)") + OUTPUT)
    (notice,) = plan.notices
    assert notice.operation_seq == 2
    assert notice.hint is not None
    assert "_operation_seq = 0" in notice.hint


@pytest.mark.parametrize("selector", ["_operation_seq = 0", "amount > 0 AND _operation_seq <> 1"])
def test_a_selector_that_tells_them_apart_is_not_warned_of(selector: str) -> None:
    plan = aggregate("amount", "SUM(amount)") + aggregate("total", "SUM(amount)", "status", selector)
    assert ("PROJECT_024", 2) not in noticed(plan + OUTPUT)


def test_a_measure_of_its_own_is_not_warned_of() -> None:
    assert noticed(aggregate("total", "SUM(amount)") + aggregate("largest", "MAX_AGG(amount)") + OUTPUT) == []


def test_two_totals_in_one_column_are_warned_of_when_they_are_summed_up() -> None:
    totals = aggregate("total", "SUM(amount)") + aggregate("total", "SUM(amount)", "status")
    assert ("PROJECT_024", 3) in noticed(totals + aggregate("grand", "SUM(total)", "day") + OUTPUT)


def test_what_follows_the_last_output_has_no_effect() -> None:
    assert noticed(OUTPUT + "- {type: delete}\n") == [("PROJECT_025", 2)]


@pytest.mark.parametrize(("selector", "is_told"), [("_operation_seq = 3", True), ("_operation_seq = 2", False)])
def test_a_selector_for_rows_that_no_operation_adds(selector: str, is_told: bool) -> None:
    made = "- {type: update, arguments: {assignments: [{column: x, expression: '1'}]}}\n"
    output = f"- {{type: output, selector: {selector}, arguments: {{destination: {{location: out.csv}}}}}}\n"
    found = noticed(made + aggregate("total", "SUM(amount)") + output)
    assert found == ([("PROJECT_035", 3)] if is_told else [])


def test_the_rows_of_an_operation_are_there_after_it_only() -> None:
    early = aggregate("total", "SUM(amount)", selector="_operation_seq = 1")
    assert noticed(early + OUTPUT) == [("PROJECT_035", 1)]


NARROW = "- {type: output, arguments: {destination: {location: out.csv}, columns: [region, total]}}\n"


def test_a_column_that_nobody_looks_at() -> None:
    plan = plan_of(aggregate("total", "SUM(amount)") + aggregate("totl", "SUM(quantity)", "region, status") + NARROW)
    (found,) = plan.notices
    assert (found.code, found.operation_seq) == ("PROJECT_036", 2)
    assert "totl" in found.message
    assert found.hint == "did you mean total?"


JOINING = """
- type: update
  arguments:
    joins: [{alias: c, dataset_id: customers, on: c.id = x}]
    assignments: [{column: amount, expression: "1"}]
"""


@pytest.mark.parametrize(
    "reader",
    [
        "- {type: delete, selector: x IS NULL}\n",
        "- {type: update, arguments: {assignments: [{column: region, expression: x}]}}\n",
        JOINING,
        "- {type: aggregate, arguments: {group_by: [x], aggregations: [{column: total, expression: COUNT(*)}]}}\n",
        "- {type: output, arguments: {destination: {location: all.csv}}}\n",
    ],
)
def test_a_column_that_something_reads_is_not_warned_of(reader: str) -> None:
    made = "- {type: update, arguments: {assignments: [{column: x, expression: 'region'}]}}\n"
    total = aggregate("total", "SUM(amount)", selector="_operation_seq = 0")
    assert "PROJECT_036" not in [code for code, _ in noticed(made + reader + total + NARROW)]


def test_a_column_that_an_append_needs_is_not_unused() -> None:
    made = "- {type: update, arguments: {assignments: [{column: planned, expression: '0.00'}]}}\n"
    append = (
        "- {type: append, arguments: {source: {dataset_id: budget}, aggregation: {group_by: [region], "
        "aggregations: [{column: planned, expression: SUM(amount)}]}}}\n"
    )
    output = "- {type: output, arguments: {destination: {location: out.csv}, columns: [region, amount]}}\n"
    assert noticed(made + append + output) == []
    assert noticed(made + output) == [("PROJECT_036", 1)]


def test_a_warning_that_its_operation_accepts_is_counted_and_not_repeated() -> None:
    first, second = aggregate("amount", "SUM(amount)"), aggregate("amount", "SUM(amount)", "status")
    before = plan_of(first + second + OUTPUT)
    after = plan_of(first + second.replace("aggregate,", "aggregate, accept: [PROJECT_024],") + OUTPUT)
    assert [(each.code, each.operation_seq) for each in before.notices] == [
        ("PROJECT_024", 2),
        ("PROJECT_024", 3),
        ("PROJECT_024", 3),
    ]
    # Those of the output are others, and stand.
    assert [(each.code, each.operation_seq) for each in after.notices] == [("PROJECT_024", 3)] * 2
    assert (before.accepted, after.accepted) == (0, 1)


@pytest.mark.parametrize("code", ["UPDATE_001", "PROJECT_02", "everything"])
def test_only_warnings_about_operations_can_be_accepted(code: str) -> None:
    with pytest.raises(DaybookError) as refused:
        plan_of(f"- {{type: delete, accept: [PROJECT_024, {code}]}}\n" + OUTPUT)
    assert (refused.value.code, refused.value.parameters) == ("PROJECT_045", {"warning": code})


@pytest.mark.parametrize(
    ("expression", "is_told"),
    [
        ("SUM(amount) OVER (ORDER BY day)", True),
        ("1 + RANK() OVER (ORDER BY amount)", True),
        ("SUM(amount) OVER ()", False),
        ("SUM(amount) OVER (region ORDER BY day)", False),
    ],
)
def test_all_rows_in_one_order_are_warned_of(expression: str, is_told: bool) -> None:
    made = f"- {{type: update, arguments: {{assignments: [{{column: x, expression: '{expression}'}}]}}}}\n"
    assert noticed(made + OUTPUT) == ([("PROJECT_046", 1)] if is_told else [])


def view_of_budget(window: str, **more: str) -> str:
    keys = "".join(f", {key}: {value}" for key, value in more.items())
    return f"dataset: {{id: before, view: {{of: budget, window: {window}{keys}}}}}"


GROUPED = (
    "- {type: append, arguments: {source: {dataset_id: before}}}\n"
    "- {type: aggregate, arguments: {group_by: [region, GROUP], "
    "aggregations: [{column: total, expression: 'SUM(amount)'}]}}\n" + OUTPUT
)


def split_periods(view: str, group: str = "_period") -> list[int | None]:
    notices = plan_of(GROUPED.replace("GROUP", group), definitions=datasets(ORDERS, BUDGET, view)).notices
    return [notice.operation_seq for notice in notices if notice.code == "PROJECT_060"]


def test_grouping_by_the_period_of_an_appended_view_splits_its_balances() -> None:
    assert split_periods(view_of_budget("previous")) == [2]
    assert split_periods(view_of_budget("{offset: -12}")) == [2]


def test_rows_that_get_the_period_of_the_run_are_not_split() -> None:
    assert split_periods(view_of_budget("previous", period="run")) == []
    assert split_periods(view_of_budget("previous"), "status") == []


def test_a_view_of_several_periods_is_grouped_by_them_on_purpose() -> None:
    assert split_periods(view_of_budget("{last: 3}")) == []


@pytest.mark.parametrize(
    ("arguments", "is_noticed"),
    [
        ("include_deleted: true, columns: [region, amount], register_as_dataset: kept", True),
        ("include_deleted: true, system_columns: false, register_as_dataset: kept", True),
        ("include_deleted: true, columns: [region, _deleted], register_as_dataset: kept", False),
        ("include_deleted: true, register_as_dataset: kept", False),
        ("include_deleted: true, columns: [region, amount]", False),
        ("columns: [region, amount], register_as_dataset: kept", False),
    ],
)
def test_deleted_rows_that_readers_would_take_for_live_ones(arguments: str, is_noticed: bool) -> None:
    delete = "- {type: delete, selector: amount < 0}\n"
    output = f"- {{type: output, arguments: {{destination: {{location: out.parquet}}, {arguments}}}}}\n"
    assert (("OUTPUT_024", 2) in noticed(delete + output)) == is_noticed
