"""Nothing a user writes reaches Spark but names that exist and texts that are quoted."""

import random
import string
import time

import pytest

from daybook.errors import CODES, DaybookError, flatten
from daybook.expression import Constants, Scope, compile_expression, quote_literal
from daybook.expression.functions.function_table import FUNCTIONS
from daybook.model.types import DATE, INTEGER, STRING, DecimalType
from tests.unit.expression.attacks import REFUSED, TEXTS
from tests.unit.expression.world import CONSTANTS

SCOPE = Scope({"amount": DecimalType(18, 2), "status": STRING, "qty": INTEGER, "d": DATE}, {})


def test_there_are_enough_attacks() -> None:
    assert len(REFUSED) + len(TEXTS) >= 60


@pytest.mark.parametrize(("text", "code"), REFUSED.items(), ids=range(len(REFUSED)))
def test_an_attack_is_refused_with_its_code(text: str, code: str) -> None:
    with pytest.raises(DaybookError) as refusal:
        compile_expression(text, SCOPE)
    assert code in {finding.code for finding in flatten(refusal.value)}


@pytest.mark.parametrize("text", TEXTS, ids=range(len(TEXTS)))
def test_a_text_is_one_quoted_literal(text: str) -> None:
    written = f'"{text.replace(chr(34), chr(34) * 2)}"'
    compiled = compile_expression(written, SCOPE)
    assert compiled.sql(CONSTANTS) == quote_literal(text, STRING)


@pytest.mark.parametrize("text", TEXTS, ids=range(len(TEXTS)))
def test_a_quoted_literal_ends_where_it_should(text: str) -> None:
    """Read as Spark's lexer reads it: a backslash takes the next character with it."""
    quoted = quote_literal(text, STRING)
    position = 1
    while quoted[position] != "'":
        position += 2 if quoted[position] == "\\" else 1
    assert position == len(quoted) - 1


_PIECES = (
    *FUNCTIONS,
    *("amount", "status", "qty", "d", "orders.amount", "`net amount`", "period.identifier", "{{x}}", "_labels"),
    *(
        "AND",
        "OR",
        "NOT",
        "IN",
        "BETWEEN",
        "LIKE",
        "IS",
        "NULL",
        "TRUE",
        "FALSE",
        "CASE",
        "WHEN",
        "THEN",
        "ELSE",
        "END",
    ),
    *("(", ")", "(", ")", ",", "+", "-", "*", "/", "%", "=", "<>", "<", ">=", "!=", ".", " ", "\n", "*", "''", '""'),
    *("1", "0", "0.5", "42", "99999999999999999999", '"text"', "'it''s'", '"2026-01-31"', "1e5", "==", "&&", "\\", "“"),
)


def _fuzzed(generator: random.Random) -> str:
    match generator.randrange(4):
        case 0:
            return "".join(generator.choices(string.printable, k=generator.randrange(60)))
        case 1:
            return "".join(chr(generator.randrange(0x110000)) for _ in range(generator.randrange(20)))
        case 2:
            return " ".join(generator.choices(_PIECES, k=generator.randrange(1, 40)))
        case _:
            text = list('IF(status = "gold" AND qty BETWEEN 1 AND 5, amount * 0.9, COALESCE(amount, 0) / qty)')
            for _ in range(generator.randrange(1, 5)):
                text[generator.randrange(len(text))] = generator.choice(_PIECES)
            return "".join(text)


def fuzz(count: int, seed: int) -> float:
    """Only coded errors come out; the seconds the slowest input took."""
    generator = random.Random(seed)
    slowest = 0.0
    for _ in range(count):
        text = _fuzzed(generator)
        start = time.perf_counter()
        try:
            compile_expression(text, SCOPE).sql(CONSTANTS)
        except DaybookError as error:
            for finding in flatten(error):
                assert finding.code in CODES
                assert finding.span is not None
                assert 0 <= finding.span.start <= finding.span.end
        slowest = max(slowest, time.perf_counter() - start)
    return slowest


def test_fuzzed_inputs_give_nothing_but_coded_errors() -> None:
    assert fuzz(3_000, seed=1) > 0


def test_constants_come_from_the_run_alone() -> None:
    compiled = compile_expression("CONCAT(TO_STRING(NOW()), TO_STRING(TODAY()))", SCOPE)
    assert compiled.sql(CONSTANTS) == compiled.sql(Constants(CONSTANTS.timestamp, CONSTANTS.period))
