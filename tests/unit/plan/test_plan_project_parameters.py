"""Parameters of a project in the expressions of its operations."""

import pytest

from tests.unit.plan.planned import DELETE, OUTPUT, UPDATE, aggregate, append, codes, findings, join

HEAD = "parameters: {threshold: {type: 'decimal(18,2)', default: 100}}\n"


@pytest.mark.parametrize(
    "operations",
    [
        UPDATE % ("amount > param.threshold", "amount - param.threshold"),
        DELETE % "amount > param.threshold",
        aggregate(expression="SUM(IF(amount > param.threshold, 1, 0))", selector="amount < param.threshold"),
        append(more=", source_selector: 'amount > param.threshold'"),
        join(on="customer_id = c.id AND amount > param.threshold"),
        "- {type: check, arguments: {condition: 'amount < param.threshold'}}\n",
        "- {type: output, selector: 'amount > param.threshold', arguments: {destination: {location: other.csv}}}\n",
    ],
)
def test_a_parameter_may_stand_wherever_an_expression_may(operations: str) -> None:
    assert codes(operations + OUTPUT, head=HEAD) == []
    assert codes(operations + OUTPUT) != []


def test_a_parameter_is_typed_by_its_declaration() -> None:
    head = "parameters: {threshold: {type: string, default: x}}\n"
    (error,) = findings(DELETE % "amount > param.threshold" + OUTPUT, head=head)
    assert (error.code, error.causes[0].code) == ("PROJECT_052", "EXPR_022")


def test_a_named_selector_may_use_a_parameter() -> None:
    head = HEAD + "selectors: {large: amount > param.threshold}\n"
    assert codes(DELETE % "{{large}}" + OUTPUT, head=head) == []


def test_the_name_param_is_reserved_where_parameters_are_declared() -> None:
    operations = join(on="customer_id = param.id", alias="param") + OUTPUT
    assert codes(operations) == []
    (error,) = [found for found in findings(operations, head=HEAD) if found.code == "PROJECT_049"]
    assert error.operation_seq == 1
    assert error.span is not None
