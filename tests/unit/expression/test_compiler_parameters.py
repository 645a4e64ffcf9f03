"""param.NAME in expressions: typed by its declaration, a literal of that type in the SQL."""

from dataclasses import replace
from decimal import Decimal

import pytest

from daybook.errors import DaybookError
from daybook.expression import Scope, compile_expression
from daybook.model.types import STRING, DecimalType
from tests.unit.expression.world import CONSTANTS, SCOPE

WITH_PARAMETERS = replace(SCOPE, parameters={"threshold": DecimalType(18, 2), "label": STRING})
VALUES = replace(CONSTANTS, parameters={"threshold": Decimal("250"), "label": "it's \\ ${x} `y`"})


def sql(text: str) -> str:
    return compile_expression(text, WITH_PARAMETERS).sql(VALUES)


def error(text: str, scope: Scope) -> DaybookError:
    with pytest.raises(DaybookError) as caught:
        compile_expression(text, scope)
    return caught.value


def test_a_parameter_is_a_literal_of_its_declared_type() -> None:
    assert sql("amount > param.threshold") == "`amount` > CAST(250BD AS DECIMAL(18,2))"


def test_whatever_a_text_holds_it_is_one_literal() -> None:
    assert sql("param.label") == "'it\\'s \\\\ \\u0024{x} `y`'"


def test_one_compiled_expression_serves_every_value() -> None:
    compiled = compile_expression("param.threshold", WITH_PARAMETERS)
    other = replace(CONSTANTS, parameters={"threshold": Decimal("1.5")})
    assert (compiled.sql(VALUES), compiled.sql(other)) == (
        "CAST(250BD AS DECIMAL(18,2))",
        "CAST(1.5BD AS DECIMAL(18,2))",
    )


def test_a_type_that_does_not_fit_is_an_error_as_for_a_column() -> None:
    assert error("param.label > 5", WITH_PARAMETERS).code == "EXPR_022"


def test_an_unknown_parameter_is_an_error_with_the_one_that_was_meant() -> None:
    found = error("amount > param.treshold", WITH_PARAMETERS)
    assert (found.code, found.message) == ("EXPR_077", "The project has no parameter treshold")
    assert found.hint == "did you mean param.threshold?"
    assert found.span is not None
    assert (found.span.start, found.span.end) == (9, 23)


def test_in_a_project_without_parameters_the_way_out_is_to_declare_it() -> None:
    found = error("amount > param.threshold", SCOPE)
    assert (found.code, found.message) == ("EXPR_077", "The project has no parameter threshold")
    assert found.hint == "declare it in the project: `parameters: {threshold: {type: decimal, default: 0}}`"


def test_a_project_without_parameters_may_call_a_join_param() -> None:
    scope = replace(
        SCOPE, qualifiers={**SCOPE.qualifiers, "param": {"rate": DecimalType(5, 4)}}, aliases=frozenset({"param"})
    )
    assert compile_expression("param.rate", scope).sql(CONSTANTS) == "`param.rate`"
