"""Failed checks as they travel with rows, and the errors they become."""

import pytest

from daybook.engine.counters import (
    BrokenCondition,
    DoubleMatch,
    FailedCheck,
    FailedOperation,
    MalformedRowId,
    NullValue,
    failed_check_error,
    failed_check_sql,
    parse_failed_check,
)
from tests.unit.plan.planned import plan_of

PLAN = plan_of(
    "- {type: update, arguments: {assignments: [{column: amount, expression: amount + 1}]}}\n"
    "- {type: append, arguments: {source: {dataset_id: budget}}}\n"
    "- {type: output, arguments: {destination: {location: out.csv}}}\n"
)


def test_the_sql_names_every_field() -> None:
    sql = failed_check_sql(3, BrokenCondition, {"seq": 3}, {"row": "`order_id`"})
    assert sql == (
        "TO_JSON(NAMED_STRUCT('at', '0000000000000000003', 'kind', 'BrokenCondition', 'seq', '3', "
        "'row', COALESCE(CAST(`order_id` AS STRING), 'NULL')))"
    )


@pytest.mark.parametrize(
    ("text", "check"),
    [
        (
            '{"at":"3","kind":"BrokenCondition","seq":"3","row":"a \\u001f \\" b"}',
            BrokenCondition("3", 'a \x1f " b'),
        ),
        (
            '{"at":"3","kind":"DoubleMatch","seq":"3","alias":"c","key":"id = 1"}',
            DoubleMatch("3", "c", "id = 1"),
        ),
        (
            '{"at":"3","kind":"NullValue","load_key":"input","column":"amount","place":"a.csv","ordinal":"7"}',
            NullValue("input", "amount", "a.csv", "7"),
        ),
    ],
)
def test_a_text_is_read_by_the_names_of_its_fields(text: str, check: FailedCheck) -> None:
    assert parse_failed_check(text) == FailedOperation(3, check)


@pytest.mark.parametrize(
    ("check", "code", "seq"),
    [
        (NullValue("input", "amount", "a.csv", "7"), "PROJECT_030", None),
        (MalformedRowId("input", "x", "a.csv", "7"), "PROJECT_031", None),
        (NullValue("2.source", "amount", "a.csv", "7"), "APPEND_008", 2),
        (DoubleMatch("1", "c", "id = 1"), "UPDATE_024", 1),
        (BrokenCondition("1", "order_id = O-1"), "CHECK_020", 1),
    ],
)
def test_a_failed_check_becomes_an_error_with_its_operation(check: FailedCheck, code: str, seq: int | None) -> None:
    error = failed_check_error(PLAN, check)
    assert (error.code, error.operation_seq) == (code, seq)
