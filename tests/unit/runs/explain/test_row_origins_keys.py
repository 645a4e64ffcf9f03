"""COLUMN=VALUE: as it is written, and in the types of an operation's columns."""

import datetime
from decimal import Decimal
from typing import Any

import pytest

from daybook.errors import DaybookError, flatten
from daybook.plan.partial_plan import RowKey
from daybook.plan.steps import Plan
from daybook.runs.explain.row_origins import format_keys, parse_keys, typed_keys
from tests.unit.plan.planned import plan_of

PLAN = plan_of(
    """
    - {type: update, arguments: {assignments: [{column: net, expression: amount * 0.5}]}}
    - type: aggregate
      arguments: {group_by: [region, day, _period], aggregations: [{column: total, expression: SUM(net)}]}
    - type: append
      arguments:
        source: {dataset_id: budget}
        aggregation: {group_by: [region], aggregations: [{column: amount, expression: SUM(amount)}]}
    - {type: append, arguments: {source: {dataset_id: budget}}}
    - {type: delete, selector: amount = 0}
    - {type: output, arguments: {destination: {location: out.csv}}}
    """
)
UPDATE, AGGREGATE, APPEND_GROUPS, APPEND, DELETE, OUTPUT = range(6)


def typed(plan: Plan, index: int, **given: str | None) -> dict[str, Any]:
    return {key.column: key.value for key in typed_keys(plan, plan.steps[index], given)}


def refused(index: int, **given: str | None) -> list[tuple[str, object]]:
    with pytest.raises(DaybookError) as caught:
        typed_keys(PLAN, PLAN.steps[index], given)
    return [(error.code, error.hint) for error in flatten(caught.value)]


def test_words() -> None:
    words = ["region=EMEA", "day=", "note=a=b", "text=", 'name=""', "net amount=-1.50"]
    assert parse_keys(words) == {
        "region": "EMEA",
        "day": None,
        "note": "a=b",
        "text": None,
        "name": "",
        "net amount": "-1.50",
    }
    assert parse_keys([]) == {}


def test_what_is_written_again_is_read_the_same() -> None:
    keys = {"region": "a=b", "day": None, "note": "", "text": " x "}
    assert parse_keys(format_keys(keys)) == keys


@pytest.mark.parametrize("words", [["region"], ["region=EMEA", "region=APAC"]])
def test_words_that_name_nothing(words: list[str]) -> None:
    with pytest.raises(DaybookError) as caught:
        parse_keys(words)
    assert (caught.value.code, caught.value.parameters["text"]) == ("RUN_026", words[-1])


def test_values_have_the_types_of_their_columns() -> None:
    found = typed(PLAN, DELETE, region="EMEA", amount="7.5", quantity="3", day="2026-01-31", _deleted="false")
    assert found == {
        "region": "EMEA",
        "amount": Decimal("7.50"),
        "quantity": 3,
        "day": datetime.date(2026, 1, 31),
        "_deleted": False,
    }
    assert typed(PLAN, AGGREGATE, region=None, day="2026-01-31") == {"region": None, "day": datetime.date(2026, 1, 31)}
    (key,) = typed_keys(PLAN, PLAN.steps[DELETE], {"_created_at": "2026-01-31T10:00:00+02:00"})
    assert key.value == datetime.datetime(2026, 1, 31, 8, tzinfo=datetime.UTC)


@pytest.mark.parametrize(
    ("column", "text"),
    [("amount", "1.234"), ("amount", "much"), ("quantity", "1.5"), ("day", "2026-02-30"), ("_deleted", "no")],
)
def test_a_value_that_does_not_fit(column: str, text: str) -> None:
    assert [code for code, _ in refused(DELETE, **{column: text})] == ["RUN_025"]


def test_columns_are_those_the_operation_sees() -> None:
    assert refused(UPDATE, net="1") == [("RUN_023", None)]
    assert typed(PLAN, AGGREGATE, _period="2026-01") == {"_period": "2026-01"}
    assert typed(PLAN, DELETE, net="1", total="2") == {"net": Decimal(1), "total": Decimal(2)}
    assert typed(PLAN, OUTPUT, _source_dataset="orders") == {"_source_dataset_id": "orders"}
    assert refused(DELETE, regoin="EMEA") == [("RUN_023", "did you mean region?")]


def test_a_name_may_have_the_qualifier_of_its_table() -> None:
    assert typed(PLAN, AGGREGATE, **{"orders.region": "EMEA"}) == {"region": "EMEA"}
    assert typed(PLAN, APPEND, **{"budget.region": "EMEA"}) == {"region": "EMEA"}
    with pytest.raises(DaybookError) as caught:
        typed_keys(PLAN, PLAN.steps[AGGREGATE], {"orders.region": "EMEA", "region": "APAC"})
    assert caught.value.code == "RUN_026"


def test_groups_are_named_by_what_they_are_grouped_by() -> None:
    assert refused(AGGREGATE, amount="1") == [("RUN_024", "it groups by region, day, _period")]
    assert refused(APPEND_GROUPS, quantity="1") == [("RUN_024", "it groups by region")]
    assert typed_keys(PLAN, PLAN.steps[APPEND], {"amount": "1.2345"})[0] == RowKey(
        "amount", Decimal("1.2345"), PLAN.load("4.source").types["amount"]
    )


def test_all_that_is_wrong_is_told_together() -> None:
    assert [code for code, _ in refused(AGGREGATE, day="x", amount="1", nothing="1")] == [
        "RUN_025",
        "RUN_024",
        "RUN_023",
    ]
