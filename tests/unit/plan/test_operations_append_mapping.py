"""The column mapping of an append: its types, its codes, and where they point."""

import pytest

from daybook.plan.steps import AppendStep
from tests.unit.plan.planned import OUTPUT, append, codes, findings, plan_of, types


def mapped(columns: str, more: str = "") -> str:
    return append(more=f", columns: {{{columns}}}{more}")


def step_of(operations: str) -> AppendStep:
    (step, _) = plan_of(operations + OUTPUT).steps
    assert isinstance(step, AppendStep)
    return step


def test_exactly_the_mapped_columns_are_taken_over() -> None:
    step = step_of(mapped("amount: amount * 2, status: region"))
    assert step.made_columns == ("amount", "status")
    assert {value.column: str(value.type) for value in step.mapped} == {"amount": "decimal(18,2)", "status": "string"}
    assert step.carried == {"status": "region"}


def test_only_columns_that_the_mapping_reads_are_used() -> None:
    plan = plan_of(mapped("status: region") + OUTPUT)
    assert {each.column for each in plan.usage if each.dataset_id == "budget"} == {"region"}


def test_a_column_that_the_project_made_widens_with_what_arrives() -> None:
    made = "- {type: update, arguments: {assignments: [{column: planned, expression: '0.1'}]}}\n"
    assert types(plan_of(made + mapped("planned: amount") + OUTPUT).types)["planned"] == "decimal(20,4)"


@pytest.mark.parametrize(
    ("columns", "code"),
    [
        ("nothing: amount", "APPEND_003"),
        ("_period: region", "APPEND_003"),
        ("amount: region", "APPEND_003"),
        ("amount: order_id", "APPEND_006"),
        ("amount: SUM(amount)", "APPEND_004"),
        ("amount: amount +", "APPEND_004"),
    ],
)
def test_what_is_wrong_has_the_code_of_the_seed(columns: str, code: str) -> None:
    (error,) = findings(mapped(columns) + OUTPUT)
    assert (error.code, error.operation_seq) == (code, 1)


def test_an_unknown_target_is_marked_and_has_the_column_that_was_meant() -> None:
    (error,) = findings(mapped("ammount: amount") + OUTPUT)
    assert error.hint == "add the column with an update first, or did you mean amount?"
    assert error.span is not None
    assert error.span.text[error.span.start : error.span.end] == "ammount"


def test_an_expression_and_its_column_may_both_be_wrong() -> None:
    assert codes(mapped("nothing: order_id") + OUTPUT) == ["APPEND_006", "APPEND_003"]


def test_a_mapping_and_an_aggregation_exclude_each_other() -> None:
    more = ", aggregation: {group_by: [region], aggregations: [{column: amount, expression: SUM(amount)}]}"
    assert codes(mapped("amount: amount", more) + OUTPUT) == ["APPEND_021"]


def test_a_mapping_names_a_column() -> None:
    assert len(codes(mapped("") + OUTPUT)) == 1
