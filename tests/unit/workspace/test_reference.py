"""Codes, functions and expressions, looked up by a program."""

import pytest

from daybook.errors import DaybookError
from daybook.expression.functions.function_table import FUNCTIONS
from daybook.workspace.reference import check_expression, explain_code, list_functions


@pytest.mark.parametrize("written", ["IO_021", "[IO_021]", "io-021"])
def test_a_code_is_found_however_it_is_written(written: str) -> None:
    assert explain_code(written).code == "IO_021"


def test_every_function_is_listed_once() -> None:
    assert sorted(entry.name for entry in list_functions()) == sorted(FUNCTIONS)


def test_one_function() -> None:
    (entry,) = list_functions("sum")
    assert (entry.name, entry.is_aggregate) == ("SUM", True)
    assert entry.over


@pytest.mark.parametrize(("name", "code"), [("SUMM", "EXPR_014")])
def test_an_unknown_function(name: str, code: str) -> None:
    with pytest.raises(DaybookError) as caught:
        list_functions(name)
    assert (caught.value.code, caught.value.hint) == (code, "did you mean SUM?")


def test_an_expression_is_typed() -> None:
    checked = check_expression("round(amount*2, 1)", columns="amount decimal(18,2)")
    assert checked.columns == ("amount",)
    assert checked.type.startswith("decimal(")
    assert check_expression("SUM(amount)", columns="amount integer", group_by=[]).type == "decimal(38,0)"
