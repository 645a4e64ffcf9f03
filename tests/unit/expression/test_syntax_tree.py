"""Canonical text: parsing it gives the tree it was printed from."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from daybook.expression.parser import parse_expression
from daybook.expression.syntax_tree import (
    Between,
    BooleanLiteral,
    Call,
    Case,
    Chain,
    Column,
    Comparison,
    DecimalLiteral,
    IntegerLiteral,
    Like,
    Logical,
    Membership,
    Negation,
    NodeSpan,
    Not,
    NullCheck,
    NullLiteral,
    SelectorReference,
    SyntaxNode,
    TextLiteral,
    Window,
    format_tree,
)

P = NodeSpan(0, 0)

_TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
_NAMES = st.one_of(
    st.sampled_from(["amount", "net amount", "case", "AND", "größe", "a`b", "1a", "_x", "over", "order", "by", "desc"]),
    _TEXTS,
)
_SELECTORS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="{}"), max_size=8).map(str.strip)
_DECIMALS = st.decimals(-(10**12), 10**12, places=4)

_LEAVES: st.SearchStrategy[SyntaxNode] = st.one_of(
    st.integers(-(10**30), 10**30).map(lambda value: IntegerLiteral(P, value)),
    _DECIMALS.map(lambda value: DecimalLiteral(P, value)),
    _TEXTS.map(lambda value: TextLiteral(P, value)),
    st.booleans().map(lambda value: BooleanLiteral(P, value)),
    st.just(NullLiteral(P)),
    st.builds(Column, st.just(P), st.one_of(st.none(), _NAMES), _NAMES),
    _SELECTORS.map(lambda name: SelectorReference(P, name)),
)


def _grown(parts: st.SearchStrategy[SyntaxNode]) -> st.SearchStrategy[SyntaxNode]:
    place = st.just(P)
    several = st.lists(parts, min_size=1, max_size=3).map(tuple)
    sums = st.lists(st.tuples(st.sampled_from("+-"), parts), min_size=1, max_size=3).map(tuple)
    calls = st.builds(Call, place, st.sampled_from(["SUM", "IF", "AND", "OR", "NOTHING"]), several, st.just(0))
    products = st.lists(st.tuples(st.sampled_from("*/%"), parts), min_size=1, max_size=3).map(tuple)
    return st.one_of(
        parts.filter(lambda part: not isinstance(part, IntegerLiteral | DecimalLiteral)).map(
            lambda part: Negation(P, part)
        ),
        st.builds(Not, place, parts),
        st.builds(Chain, place, parts, sums),
        st.builds(Chain, place, parts, products),
        st.builds(Logical, place, st.sampled_from(["AND", "OR"]), st.lists(parts, min_size=2, max_size=4).map(tuple)),
        st.builds(Comparison, place, st.sampled_from(["=", "<>", "<", "<=", ">", ">="]), parts, parts),
        st.builds(Membership, place, parts, several, st.booleans()),
        st.builds(Between, place, parts, parts, parts, st.booleans()),
        st.builds(Like, place, parts, parts, st.booleans()),
        st.builds(NullCheck, place, parts, st.booleans()),
        st.builds(
            Case,
            place,
            st.lists(st.tuples(parts, parts), min_size=1, max_size=3).map(tuple),
            st.one_of(st.none(), parts),
        ),
        calls,
        st.builds(
            Window,
            place,
            calls,
            st.lists(parts, max_size=2).map(tuple),
            st.lists(st.tuples(parts, st.booleans()), max_size=2).map(tuple),
        ),
    )


TREES = st.recursive(_LEAVES, _grown, max_leaves=25)


@given(TREES)
def test_parsing_the_printed_tree_gives_the_tree(tree: SyntaxNode) -> None:
    assert parse_expression(format_tree(tree)) == tree


@given(TREES)
def test_canonical_text_is_its_own_canonical_text(tree: SyntaxNode) -> None:
    text = format_tree(tree)
    assert format_tree(parse_expression(text)) == text


@pytest.mark.parametrize(
    ("written", "canonical"),
    [
        ("a+b*c", "a + b * c"),
        ("(a+b)*c", "(a + b) * c"),
        ("((a)) + (b + c)", "a + (b + c)"),
        ("(a + b) + c", "(a + b) + c"),
        ("a and not b or c", "a AND NOT b OR c"),
        ("a and (b or c)", "a AND (b OR c)"),
        ("(a and b) or c", "a AND b OR c"),
        ("not (a = 1)", "NOT a = 1"),
        ("a != 'it''s'", 'a <> "it\'s"'),
        ("sum ( x )", "SUM(x)"),
        ("sum(x) over(a,b order  by c desc, d ASC)", "SUM(x) OVER (a, b ORDER BY c DESC, d)"),
        ("rank() over (order by order)", "RANK() OVER (ORDER BY order)"),
        ("over + desc * asc - order", "over + desc * asc - order"),
        ("- - a", "- -a"),
        ("a - -5", "a - -5"),
        ("-(5)", "-5"),
        ("007.50", "7.50"),
        ("`amount`", "amount"),
        ("`case`", "`case`"),
        ("{{ active }}", "{{active}}"),
        ("case when a then 1 else 2 end", "CASE WHEN a THEN 1 ELSE 2 END"),
        ("a not in (1,2)", "a NOT IN (1, 2)"),
        ("a between 1 and 2 and b", "a BETWEEN 1 AND 2 AND b"),
        ("a is not null", "a IS NOT NULL"),
        ("NOT(a)", "NOT a"),
        ("and(a,b)", "AND(a, b)"),
    ],
)
def test_canonical_text(written: str, canonical: str) -> None:
    assert format_tree(parse_expression(written)) == canonical


def test_digits_after_the_point_are_kept() -> None:
    tree = parse_expression("1.50")
    assert isinstance(tree, DecimalLiteral)
    assert str(tree.value) == str(Decimal("1.50"))
