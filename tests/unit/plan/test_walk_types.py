"""The types of columns that a project makes, found over the whole project."""

import pytest

from daybook.model.types import DecimalType
from tests.unit.plan.planned import codes, findings, plan_of, types


def assign(*pairs: tuple[str, str], selector: str | None = None) -> str:
    lines = ["- type: update"]
    if selector:
        lines.append(f"  selector: '{selector}'")
    lines += ["  arguments:", "    assignments:"]
    lines += [f"    - {{column: {column}, expression: '{expression}'}}" for column, expression in pairs]
    return "\n".join(lines) + "\n"


OUTPUT = "- {type: output, arguments: {destination: {location: out.csv}}}\n"


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["0.1", "0.25"], "decimal(2,2)"),
        (["0.25", "0.1"], "decimal(2,2)"),
        (["12.5", "0.125"], "decimal(5,3)"),
        (["1", "2"], "integer"),
        # An integer that is written out needs its own digits only, any other has up to 20 for Spark.
        (["1", "0.25"], "decimal(3,2)"),
        (["0.25", "1", "-120"], "decimal(5,2)"),
        (["quantity", "0.25"], "decimal(22,2)"),
        (["NULL", "0.5"], "decimal(1,1)"),
        (["0.5", "NULL"], "decimal(1,1)"),
        (["NULL"], "string"),
        (["NULL", "TRUE"], "boolean"),
        (['"a"', "NULL"], "string"),
        (["amount"], "decimal(18,2)"),
        (["day", "NULL"], "date"),
    ],
)
def test_a_column_has_the_narrowest_type_that_holds_every_value(values: list[str], expected: str) -> None:
    plan = plan_of("".join(assign(("x", value)) for value in values) + OUTPUT)
    assert types(plan.types)["x"] == expected
    # It has that type from its first assignment on, so nothing is rounded and texts of it do not change.
    assert types(plan.steps[0].schema)["x"] == expected
    assert types(plan.outputs[0].columns)["x"] == expected


def test_text_here_and_a_number_there_is_an_error_at_the_second_place() -> None:
    (found,) = findings(assign(("x", '"a"')) + assign(("x", "1")) + OUTPUT)
    assert (found.code, found.operation_seq) == ("UPDATE_007", 2)
    assert (str(found.parameters["expected"]), str(found.parameters["actual"])) == ("string", "integer")


def test_widening_reaches_columns_that_were_computed_earlier() -> None:
    plan = plan_of(assign(("x", "0.1")) + assign(("y", "x")) + assign(("x", "0.125")) + OUTPUT)
    assert types(plan.types)["y"] == "decimal(3,3)"


def test_a_column_that_feeds_itself_has_the_type_of_what_was_assigned_so_far() -> None:
    # Each walk would make x one digit wider: x is amount, then amount * 0.9, which has three digits after the point.
    plan = plan_of(assign(("x", "amount")) + assign(("x", "x * 0.9")) + OUTPUT)
    assert types(plan.steps[0].schema)["x"] == "decimal(18,2)"
    assert types(plan.steps[1].schema)["x"] == "decimal(20,3)"
    assert types(plan.outputs[0].columns)["x"] == "decimal(20,3)"


def test_an_integer_that_counts_up_stays_an_integer() -> None:
    plan = plan_of(assign(("n", "0")) + assign(("n", "n + 1")) * 3 + OUTPUT)
    assert types(plan.types)["n"] == "integer"


@pytest.mark.parametrize(("factor", "times", "scale"), [("1.1234567", 1, 9), ("1.12345678", 2, 18), ("1.01", 15, 32)])
def test_a_growing_column_is_refused_only_for_digits_it_has(factor: str, times: int, scale: int) -> None:
    plan = plan_of(assign(("x", "amount")) + assign(("x", f"x * {factor}")) * times + OUTPUT)
    found = plan.types["x"]
    assert isinstance(found, DecimalType)
    assert found.scale == scale


def test_an_early_output_of_a_growing_column_has_its_final_type() -> None:
    early = "- {type: output, arguments: {destination: {location: early.csv}}}\n"
    plan = plan_of(assign(("x", "amount")) + early + assign(("x", "x * 0.9")) + OUTPUT)
    assert types(plan.outputs[0].columns)["x"] == "decimal(20,3)"


def test_a_declared_column_keeps_its_type() -> None:
    plan = plan_of(assign(("amount", "amount * 1.123456")) + OUTPUT)
    assert types(plan.types)["amount"] == "decimal(18,2)"


@pytest.mark.parametrize(
    ("column", "value"), [("amount", '"1"'), ("region", "1"), ("day", "NOW()"), ("quantity", "TRUE")]
)
def test_a_kind_that_does_not_fit_a_declared_column_is_an_error(column: str, value: str) -> None:
    assert codes(assign((column, value)) + OUTPUT) == ["UPDATE_007"]


def test_aggregates_take_part() -> None:
    aggregate = """\
- type: aggregate
  arguments:
    group_by: [region]
    aggregations: [{column: x, expression: SUM(amount)}]
"""
    plan = plan_of(assign(("x", "0.125")) + aggregate + OUTPUT)
    # SUM(decimal(18,2)) is decimal(38,2); with three digits after the point 38 are still the most there are.
    assert types(plan.types)["x"] == "decimal(38,3)"
    assert codes(assign(("x", '"a"')) + aggregate + OUTPUT) == ["AGGREGATE_021"]


def test_appended_values_take_part() -> None:
    results = "[{column: x, expression: MAX_AGG(amount)}]"
    aggregation = f"{{group_by: [region], aggregations: {results}}}"
    append = f"- {{type: append, arguments: {{source: {{dataset_id: budget}}, aggregation: {aggregation}}}}}\n"
    plan = plan_of(assign(("x", "0.5")) + append + OUTPUT)
    assert types(plan.types)["x"] == "decimal(20,4)"


def test_one_mistake_is_one_finding() -> None:
    assert codes(assign(("x", "nonsense + 1")) + assign(("y", "x * 2")) + OUTPUT) == ["UPDATE_006"]


def test_names_that_differ_only_in_case_are_mistaken_for_each_other() -> None:
    (found,) = findings(assign(("Amount", "1")) + OUTPUT)
    assert (found.code, found.parameters["existing"]) == ("PROJECT_023", "amount")


@pytest.mark.parametrize("name", ["_metadata", "__place", "__daybook_fault"])
def test_names_of_the_engine_cannot_be_taken(name: str) -> None:
    assert codes(assign((name, "1")) + OUTPUT) == ["PROJECT_027"]


def typed(column: str, expression: str, column_type: str) -> str:
    value = f"{{column: {column}, expression: '{expression}', type: '{column_type}'}}"
    return f"- {{type: update, arguments: {{assignments: [{value}]}}}}\n"


def test_a_given_type_holds_in_every_operation() -> None:
    plan = plan_of(assign(("x", "0.125")) + typed("x", "amount * 0.9", "decimal(18,2)") + assign(("y", "x")) + OUTPUT)
    assert types(plan.types)["x"] == types(plan.types)["y"] == "decimal(18,2)"
    assert types(plan.steps[0].schema)["x"] == "decimal(18,2)"


def test_an_aggregate_may_give_the_type_of_its_result() -> None:
    value = "{column: total, expression: SUM(amount), type: 'decimal(20,2)'}"
    plan = plan_of(f"- {{type: aggregate, arguments: {{group_by: [region], aggregations: [{value}]}}}}\n" + OUTPUT)
    assert types(plan.types)["total"] == "decimal(20,2)"


def test_what_does_not_fit_a_given_type_is_an_error() -> None:
    (found,) = findings(typed("x", '"a"', "decimal(18,2)") + OUTPUT)
    assert found.code == "UPDATE_007"
    assert (str(found.parameters["expected"]), str(found.parameters["actual"])) == ("decimal(18,2)", "string")


def test_a_column_of_the_input_keeps_its_type() -> None:
    (found,) = findings(typed("amount", "1.5", "decimal(20,4)") + OUTPUT)
    assert (found.code, found.operation_seq, found.parameters["column"]) == ("PROJECT_029", 1, "amount")
    assert found.span is not None
    assert codes(typed("amount", "1.5", "decimal(18,2)") + OUTPUT) == []


def test_a_column_that_is_an_average_alone_has_four_places_more() -> None:
    results = {"alone": "AVG(amount)", "of_integers": "(AVG(quantity))", "part": "AVG(amount) * 1"}
    results |= {"quantity": "AVG(amount)"}
    listed = ", ".join(f"{{column: {column}, expression: {text}}}" for column, text in results.items())
    operations = f"- {{type: aggregate, arguments: {{group_by: [region], aggregations: [{listed}]}}}}\n"
    plan = plan_of(operations + OUTPUT)
    found = types(plan.types)
    assert (found["alone"], found["of_integers"]) == ("decimal(22,6)", "decimal(24,4)")
    # The type of SUM(amount) / COUNT(amount), which is decimal(38,12), times decimal(1,0).
    assert found["part"] == "decimal(38,12)"
    assert found["quantity"] == "integer"
