"""Trees and places."""

import pytest

from daybook.errors import DaybookError, Span
from daybook.expression.parser import parse_expression
from daybook.expression.syntax_tree import (
    Call,
    Chain,
    Column,
    Comparison,
    IntegerLiteral,
    Logical,
    Negation,
    Not,
    TextLiteral,
)


def test_multiplication_binds_tighter_than_addition() -> None:
    tree = parse_expression("1 + 2 * 3")
    assert isinstance(tree, Chain)
    assert [operator for operator, _ in tree.rest] == ["+"]
    assert isinstance(tree.rest[0][1], Chain)


def test_a_chain_is_evaluated_from_the_left() -> None:
    tree = parse_expression("10 - 4 - 3")
    assert isinstance(tree, Chain)
    assert isinstance(tree.first, IntegerLiteral)
    assert [operator for operator, _ in tree.rest] == ["-", "-"]


def test_parentheses_keep_their_own_chain() -> None:
    assert parse_expression("(a + b) + c") != parse_expression("a + b + c")
    assert parse_expression("(a AND b) AND c") != parse_expression("a AND b AND c")
    assert parse_expression("((a)) = (1)") == parse_expression("a = 1")


def test_and_binds_tighter_than_or_and_not_tighter_than_and() -> None:
    tree = parse_expression("a OR NOT b AND c")
    assert isinstance(tree, Logical)
    assert tree.operator == "OR"
    right = tree.operands[1]
    assert isinstance(right, Logical)
    assert isinstance(right.operands[0], Not)


def test_not_takes_the_whole_comparison() -> None:
    tree = parse_expression("NOT a = 1")
    assert isinstance(tree, Not)
    assert isinstance(tree.operand, Comparison)


def test_minus_binds_tighter_than_multiplication() -> None:
    tree = parse_expression("-a * b")
    assert isinstance(tree, Chain)
    assert isinstance(tree.first, Negation)


def test_keywords_and_functions_in_any_case() -> None:
    assert parse_expression("if(a Is nUll aNd NOT b, TrUe, nuLL)") == parse_expression(
        "IF(a IS NULL AND NOT b, TRUE, NULL)"
    )


def test_function_names_are_free_for_columns() -> None:
    assert parse_expression("left + date") == parse_expression("`left` + `date`")
    assert parse_expression("nullable OR android") == parse_expression("`nullable` OR `android`")


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ('"a"', "a"),
        ("'a'", "a"),
        ('"say ""hi"""', 'say "hi"'),
        ("'it''s'", "it's"),
        ('"it\'s"', "it's"),
        (r'"back\slash"', r"back\slash"),
        (r"'\n'", r"\n"),
        ('"{{not a selector}}"', "{{not a selector}}"),
        ("'a\nb'", "a\nb"),
        ("''", ""),
    ],
)
def test_texts(written: str, value: str) -> None:
    tree = parse_expression(written)
    assert isinstance(tree, TextLiteral)
    assert tree.value == value


def test_every_node_knows_its_place() -> None:
    text = 'IF(orders.amount > 1, "a", b + 1)'
    tree = parse_expression(text)
    assert isinstance(tree, Call)
    assert [text[part.span.start : part.span.end] for part in tree.arguments] == ["orders.amount > 1", '"a"', "b + 1"]
    assert text[: tree.name_end] == "IF"


def test_an_error_points_into_the_file() -> None:
    """The expression stands in line 7, column 20 of a file; its third line holds the error."""
    text = "amount\n  + 1\n  + ?"
    span = Span(text, 0, len(text), "projects/close.yaml", 7, 20)
    with pytest.raises(DaybookError) as refusal:
        parse_expression(text, span)
    assert refusal.value.span is not None
    assert str(refusal.value.span) == "projects/close.yaml:9:5"


def test_a_span_into_a_larger_text_is_kept() -> None:
    whole = "expression: amount ?"
    with pytest.raises(DaybookError) as refusal:
        parse_expression("amount ?", Span(whole, 12, 20, "a.yaml"))
    assert refusal.value.span == Span(whole, 19, 20, "a.yaml")


def test_column_takes_a_qualifier() -> None:
    assert parse_expression("orders.`net amount`") == Column(parse_expression("a").span, "orders", "net amount")


@pytest.mark.parametrize(
    ("text", "is_fine"),
    [
        ("(" * 64 + "1" + ")" * 64, True),
        ("(" * 65 + "1" + ")" * 65, False),
        ("ABS(" * 63 + "1" + ")" * 63, True),
        ("ABS(" * 64 + "1" + ")" * 64, False),
        ("NOT " * 63 + "a", True),
        ("NOT " * 64 + "a", False),
        (" + ".join(["a"] * 250), True),
        (" + ".join(["a"] * 251), False),
        (" AND ".join(["a"] * 1_999), True),
        (" AND ".join(["a"] * 2_000), False),
        (f"f({', '.join(['1'] * 1_999)})", True),
        (f"f({', '.join(['1'] * 2_000)})", False),
    ],
)
def test_limits(text: str, is_fine: bool) -> None:
    if is_fine:
        parse_expression(text)
    else:
        with pytest.raises(DaybookError) as refusal:
            parse_expression(text)
        assert refusal.value.code in {"EXPR_007", "EXPR_008"}
