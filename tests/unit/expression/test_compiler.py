"""What a compiled expression knows, and where it may stand."""

import datetime

import pytest

from daybook.errors import DaybookError, Span, flatten
from daybook.expression import ColumnUse, Constants, Grouping, NamedExpressions, Scope, compile_expression
from daybook.model.types import BOOLEAN, INTEGER, NULL, STRING, DecimalType
from tests.unit.expression.world import COLUMNS, CONSTANTS, SCOPE


def _codes(text: str, **options: object) -> list[str]:
    with pytest.raises(DaybookError) as refusal:
        compile_expression(text, SCOPE, **options)  # type: ignore[arg-type]
    return [finding.code for finding in flatten(refusal.value)]


def test_uses_name_working_columns_and_joined_columns() -> None:
    compiled = compile_expression('IF(customers.tier = "gold", orders.amount, quantity) + amount', SCOPE)
    assert compiled.uses == {
        ColumnUse("customers", "tier"),
        ColumnUse(None, "amount"),
        ColumnUse(None, "quantity"),
    }


def test_uses_go_through_selectors_and_synonyms() -> None:
    selectors = NamedExpressions({"a": "{{b}} OR is_open", "b": '_source_dataset = "x"'})
    compiled = compile_expression("{{a}}", SCOPE, names=selectors)
    assert compiled.uses == {ColumnUse(None, "is_open"), ColumnUse(None, "_source_dataset_id")}


def test_a_star_and_constants_use_no_column() -> None:
    assert compile_expression("COUNT(*)", SCOPE, grouping=Grouping(("status",))).uses == frozenset()
    assert compile_expression("period.identifier", SCOPE).uses == frozenset()


def test_a_main_table_named_period_is_the_table() -> None:
    scope = Scope({"start_date": STRING}, {"period": {"start_date": STRING}})
    assert compile_expression("period.start_date", scope).type == STRING


def test_without_a_period_there_are_no_period_variables() -> None:
    with pytest.raises(DaybookError) as refusal:
        compile_expression("period.identifier", Scope({}, {}, has_period=False))
    assert refusal.value.code == "EXPR_013"


def test_a_run_without_period_cannot_give_one() -> None:
    compiled = compile_expression("period.identifier", SCOPE)
    with pytest.raises(ValueError, match="no period"):
        compiled.sql(Constants(CONSTANTS.timestamp, None))


def test_now_is_the_instant_of_the_run_in_utc() -> None:
    zone = datetime.timezone(datetime.timedelta(hours=2))
    constants = Constants(datetime.datetime(2026, 2, 1, 1, 30, 0, 5, tzinfo=zone), None)
    assert compile_expression("NOW()", SCOPE).sql(constants) == "TIMESTAMP_LTZ'2026-01-31 23:30:00.000005Z'"
    assert compile_expression("TODAY()", SCOPE).sql(constants) == "DATE'2026-01-31'"


def test_types_of_literals() -> None:
    assert compile_expression("1", SCOPE).type == INTEGER
    assert compile_expression("0.25", SCOPE).type == DecimalType(2, 2)
    assert compile_expression("9223372036854775807", SCOPE).type == INTEGER
    assert compile_expression("9223372036854775808", SCOPE).type == DecimalType(19, 0)
    assert compile_expression("-9223372036854775808", SCOPE).type == INTEGER
    assert compile_expression("NULL", SCOPE).type == NULL


def test_a_condition_may_be_null() -> None:
    assert compile_expression("NULL", SCOPE, expect="boolean").type == BOOLEAN


@pytest.mark.parametrize("text", ["SUM(amount)", "1 + COUNT(*)", "IF(MAX_AGG(amount) > 1, 1, 2)", "COUNT_ALL()"])
def test_aggregates_need_a_grouping(text: str) -> None:
    assert _codes(text) == ["EXPR_040"]
    assert compile_expression(text, SCOPE, grouping=Grouping(("status",))).is_aggregate


def test_row_expressions_are_no_aggregates() -> None:
    assert not compile_expression("MIN(amount, 1)", SCOPE).is_aggregate


@pytest.mark.parametrize(
    "text", ["SUM(amount)", "sum( amount )", "COUNT(*)", "COUNT(orders.order_id)", "(AVG(amount))"]
)
def test_strict_aggregations(text: str) -> None:
    assert compile_expression(text, SCOPE, grouping=Grouping(("status",), strict=True)).is_aggregate


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("SUM(amount) + 1", "EXPR_043"),
        ("SUM(amount + 1)", "EXPR_043"),
        ("SUM(1)", "EXPR_043"),
        ("ROUND(SUM(amount), 2)", "EXPR_043"),
        ("COUNT_ALL()", "EXPR_043"),
        ("MEDIAN(amount)", "EXPR_014"),
        ("status", "EXPR_044"),
        ("SUM(nothing)", "EXPR_012"),
    ],
)
def test_not_a_strict_aggregation(text: str, code: str) -> None:
    assert _codes(text, grouping=Grouping(("status",), strict=True)) == [code]


def test_group_columns_stand_outside_aggregates() -> None:
    compiled = compile_expression("CONCAT(orders.status, MAX_AGG(region))", SCOPE, grouping=Grouping(("status",)))
    assert compiled.type == STRING
    assert _codes("CONCAT(region, MAX_AGG(status))", grouping=Grouping(("status",))) == ["EXPR_042"]


def test_all_errors_at_once_in_the_order_they_are_written() -> None:
    assert _codes('amout + 1 > stats AND UPER(region) = 5 AND LEN(amount) = 1 AND DATE("x") = order_date') == [
        "EXPR_012",
        "EXPR_012",
        "EXPR_014",
        "EXPR_020",
        "EXPR_027",
    ]


def test_one_error_stays_one() -> None:
    """An unknown column takes part in everything around it without a second finding."""
    assert _codes("IF(amout > 1, amout * 2, UPPER(amout)) + amout") == ["EXPR_012"] * 4
    assert _codes("ROUND(CONCAT(nothing, 1), 2)") == ["EXPR_012"]


def test_selector_errors_point_into_the_selector() -> None:
    text = "is_open AND amout > 1"
    span = Span(text, 0, len(text), "close.yaml", 12, 9)
    selectors = NamedExpressions({"open": text, "twice": "{{open}} OR {{open}}"}, {"open": span})
    with pytest.raises(DaybookError) as refusal:
        compile_expression("{{twice}}", SCOPE, names=selectors)
    assert [str(finding.span) for finding in flatten(refusal.value)] == ["close.yaml:12:21"]


def test_a_syntax_error_in_a_selector_points_into_the_selector() -> None:
    text = "is_open AND"
    selectors = NamedExpressions({"open": text}, {"open": Span(text, 0, len(text), "close.yaml", 12, 9)})
    with pytest.raises(DaybookError) as refusal:
        compile_expression("{{open}} OR {{open}}", SCOPE, names=selectors)
    assert [finding.code for finding in flatten(refusal.value)] == ["EXPR_002"]
    assert str(refusal.value.span) == "close.yaml:12:20"


def test_precedence_does_not_leak_out_of_a_selector() -> None:
    selectors = NamedExpressions({"either": "is_open OR quantity = 1"})
    compiled = compile_expression("{{either}} AND quantity = 2", SCOPE, names=selectors)
    spelled = compile_expression("(is_open OR quantity = 1) AND quantity = 2", SCOPE)
    assert compiled.sql(CONSTANTS) == spelled.sql(CONSTANTS)


@pytest.mark.parametrize(
    ("texts", "path"),
    [
        ({"a": "{{a}}"}, "a → a"),
        ({"a": "{{b}}", "b": "NOT {{a}}"}, "a → b → a"),
        ({"a": "is_open OR {{b}}", "b": "{{c}}", "c": "{{b}}"}, "b → c → b"),
    ],
)
def test_circles(texts: dict[str, str], path: str) -> None:
    with pytest.raises(DaybookError) as refusal:
        compile_expression("{{a}}", SCOPE, names=NamedExpressions(texts))
    assert refusal.value.code == "EXPR_051"
    assert refusal.value.parameters["path"] == path


def test_selectors_that_multiply_are_refused() -> None:
    texts = {f"s{level}": f"{{{{s{level + 1}}}}} AND {{{{s{level + 1}}}}}" for level in range(40)} | {"s40": "is_open"}
    assert "EXPR_008" in _codes("{{s0}}", names=NamedExpressions(texts))


def test_a_long_chain_of_selectors_is_refused_before_it_hurts() -> None:
    texts = {f"s{level}": f"NOT {{{{s{level + 1}}}}}" for level in range(900)} | {"s900": "is_open"}
    assert _codes("{{s0}}", names=NamedExpressions(texts)) == ["EXPR_007"]


def test_a_selector_is_a_text_inside_quotes() -> None:
    compiled = compile_expression('CONCAT(_labels, "{{active}}")', SCOPE)
    assert compiled.sql(CONSTANTS) == "CONCAT(`_labels`, '{{active}}')"


def test_system_columns_are_columns() -> None:
    assert compile_expression('_labels = ""', Scope({"_labels": STRING}, {})).type == BOOLEAN
    assert set(COLUMNS) >= {"_labels"}
