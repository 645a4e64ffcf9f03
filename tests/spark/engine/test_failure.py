"""Failures at run time."""

import datetime
import re

import pytest

from daybook.errors import DaybookError, render
from daybook.model.types import parse_type
from tests.spark.engine.executed import OUTPUT, World, customer, order
from tests.unit.plan.planned import plan_of


def fails(world: World, operations: str, *rows: dict[str, object]) -> DaybookError:
    with pytest.raises(DaybookError) as caught:
        # Rows of a local relation are computed while Spark optimises, before columns that nobody needs are left out.
        world.run(operations + OUTPUT, rows, customers=[customer("C-1", "x", "0.5")], partitions=1)
    return caught.value


def update(column: str, expression: str, more: str = "") -> str:
    value = f"{{column: {column}, expression: '{expression}'}}"
    return f"- {{type: update, name: Step, {more}arguments: {{assignments: [{value}]}}}}\n"


FINE = update("status", '"fine"', "selector: 'quantity = 99', ")


def test_what_is_no_failure_of_spark_keeps_its_cause(world: World) -> None:
    """A run finds out by the cause that Java has ended."""
    refused = ConnectionRefusedError(111, "Connection refused")
    with pytest.raises(DaybookError) as caught, world.pipeline(plan_of(OUTPUT), {}):
        raise DaybookError("OUTPUT_006", target="t") from refused
    assert caught.value.__cause__ is refused


@pytest.mark.parametrize(
    ("operations", "column", "expression", "condition", "value"),
    [
        (update("n", "TO_NUMBER(status)"), "n", "TO_NUMBER(status)", "CAST_INVALID_INPUT", "'text'"),
        (
            update("quantity", "quantity + 9223372036854775807"),
            "quantity",
            "quantity + 9223372036854775807",
            "ARITHMETIC_OVERFLOW",
            None,
        ),
        (
            update("region", '"x"', "selector: 'TO_NUMBER(status) > 1', "),
            "its selector",
            "TO_NUMBER(status) > 1",
            "CAST_INVALID_INPUT",
            "'text'",
        ),
    ],
)
def test_operation_column_expression_value_and_condition_are_named(
    world: World, operations: str, column: str, expression: str, condition: str, value: str | None
) -> None:
    error = fails(world, FINE + operations, order("O-1", amount="12345678901234.56", status="text", quantity=5))
    assert (error.code, error.operation_seq) == ("PROJECT_033", 2)
    assert error.parameters["column"] == column
    assert error.parameters["expression"] == expression
    assert str(error.parameters["condition"]).startswith(condition)
    if value:
        assert error.parameters["value"] == value
    assert "java" not in render(error).lower()


@pytest.mark.parametrize(
    ("column", "expression", "expected", "value"),
    [
        ("amount", "amount * 1000000", "decimal(18,2)", "12345678901234560000.00"),
        ("quantity", "amount * 1000000", "integer", "'12345678901234560000'"),
        ("quantity", "POWER(10, 30)", "integer", "'1000000000000000000000000000000'"),
    ],
)
def test_a_value_that_the_column_cannot_take_has_the_rule_of_the_seed(
    world: World, column: str, expression: str, expected: str, value: str
) -> None:
    error = fails(world, FINE + update(column, expression), order("O-1", amount="12345678901234.56", quantity=5))
    assert (error.code, error.operation_seq) == ("UPDATE_007", 2)
    assert error.parameters == {"column": column, "expected": parse_type(expected), "actual": value}
    (cause,) = error.causes
    assert (cause.code, cause.parameters["expression"]) == ("PROJECT_033", expression)


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("TO_DATE(status)", "'text'"),
        ('TO_DATE(status, "dd.MM.yyyy")', "'text'"),
        ('TO_DATE(CONCAT("31.02.", TO_STRING(quantity + 2018)), "dd.MM.yyyy")', "'2023-02-31'"),
        ("DATE(quantity + 2018, quantity + 8, 1)", "'2023-13-01'"),
        ("DATEADD(day, quantity * 100000000)", "500000000"),
        ("ADD_MONTHS(day, quantity * 100000000)", "500000000"),
        ("EOMONTH(day, quantity * 100000000)", "500000000"),
        ("-(quantity - 9223372036854775807 - 6)", None),
        ("ABS(quantity - 9223372036854775807 - 6)", None),
        ("LEFT(status, quantity * 9223372036854775807)", None),
        ("LEN(CONCAT(status, status, status, status, status, RIGHT(status, quantity * 9223372036854775807)))", None),
    ],
)
@pytest.mark.parametrize("is_selector", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_a_function_that_fails_names_its_operation_and_value(
    world: World, expression: str, value: str | None, is_selector: bool
) -> None:
    if is_selector:
        expression = f"{expression} IS NULL"
    operation = update("region", '"x"', f"selector: '{expression}', ") if is_selector else update("n", expression)
    row = order("O-1", status="text", quantity=5, day=datetime.date(2026, 1, 31))
    error = fails(world, FINE + operation, row)
    assert (error.code, error.operation_seq) == ("PROJECT_033", 2)
    assert error.parameters["column"] == ("its selector" if is_selector else "n")
    assert error.parameters["expression"] == expression
    assert error.parameters["value"] == value
    assert not re.search("try_|ansi|necessary", render(error))


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ('DATEADD(DATE("0001-01-01"), -1)', "'0000-12-31'"),
        ('DATEADD(DATE("9999-12-31"), quantity - 4)', "'+10000-01-01'"),
        ("ADD_MONTHS(day, 12 * 8000)", "'+10026-01-31'"),
        ("TIMESTAMP(ADD_MONTHS(day, 12 * 8000))", "'+10026-01-31 00:00:00'"),
        ("DATE(quantity - 5, 1, 1)", "'0000-01-01'"),
    ],
)
def test_a_date_that_not_every_format_can_hold_is_not_written(world: World, expression: str, value: str) -> None:
    row = order("O-1", quantity=5, day=datetime.date(2026, 1, 31))
    error = fails(world, update("n", expression), row)
    assert (error.code, error.operation_seq, error.parameters["column"]) == ("PROJECT_033", 2, "n")
    assert error.parameters["value"] == value


def test_the_first_and_the_last_date_are_written(world: World) -> None:
    expressions = {
        "a": 'DATE("0001-01-01")',
        "b": 'DATE("9999-12-31")',
        "c": 'TIMESTAMP("9999-12-31T23:59:59.999999Z")',
    }
    operations = "".join(update(name, f"IF(quantity = 5, {text}, NULL)") for name, text in expressions.items())
    (first, empty) = world.run(operations + OUTPUT, [order("O-1", quantity=5), order("O-2")]).rows
    assert [str(first[name]) for name in "abc"] == ["0001-01-01", "9999-12-31", "9999-12-31 23:59:59.999999+00:00"]
    assert [empty[name] for name in "abc"] == [None, None, None]


def test_a_sum_that_overflows(world: World) -> None:
    operations = update("big", 'TO_NUMBER(CONCAT("9999999999999999999999999999", ".0")) * 9999999999.0') + (
        "- {type: aggregate, arguments: {group_by: [region], aggregations: [{column: total, expression: SUM(big)}]}}\n"
    )
    rows = [order(f"O-{n}") for n in range(3)]
    error = fails(world, operations, *rows)
    assert (error.code, error.operation_seq) in {("PROJECT_033", 1), ("PROJECT_033", 2)}


def test_a_join_condition_that_fails(world: World) -> None:
    operations = (
        "- {type: update, arguments: {joins: [{alias: c, dataset_id: customers, "
        "on: 'TO_NUMBER(status) = c.discount'}], assignments: [{column: tier, expression: c.tier}]}}\n"
    )
    error = fails(world, operations, order("O-1", status="text"))
    assert (error.code, error.parameters["column"]) == ("PROJECT_033", "the join c")


def test_an_error_in_a_value_that_no_output_needs_does_not_exist(world: World) -> None:
    only = "- {type: output, arguments: {destination: {location: o.csv}, columns: [order_id]}}\n"
    executed = world.run(update("n", "TO_NUMBER(status)") + only, [order("O-1", status="text")], partitions=1)
    assert executed.rows == [{"order_id": "O-1"}]
