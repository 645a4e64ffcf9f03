"""For every function: the argument types it is tried with, and the values that probe its edges."""

import datetime
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from random import Random
from typing import Any

from daybook.model.types import BOOLEAN, DATE, FLOAT, INTEGER, STRING, TIMESTAMP, ColumnType, DecimalType
from daybook.recompute.arithmetic import round_to
from daybook.recompute.tree import Column, Node
from tests.reference import literals

MONEY, WIDE, HUGE = DecimalType(18, 2), DecimalType(38, 10), DecimalType(38, 0)


@dataclass(frozen=True)
class Values:
    """A column of a type that takes these values, and NULL."""

    type: ColumnType
    values: tuple[Any, ...]


Argument = Values | Node
Signature = tuple[Argument, ...]


def utc(*parts: int) -> datetime.datetime:
    return datetime.datetime(*parts, tzinfo=datetime.UTC)  # type: ignore[arg-type, misc]


def decimals(type_: DecimalType, *written: str) -> Values:
    return Values(type_, tuple(round_to(Decimal(each), type_.scale) for each in written))


INTEGERS = Values(INTEGER, (0, 1, -1, 3, -7, 2**63 - 1, -(2**63)))
SMALL = Values(INTEGER, (-(2**63), -2, -1, 0, 1, 2, 5, 2**31 + 5, 2**63 - 1))
AMOUNTS = decimals(MONEY, "0", "0.01", "2.50", "-2.50", "2.49", "9999999999999999.99", "-9999999999999999.99")
WIDES = decimals(
    WIDE, "0", "1.5", "-0.0000000001", "1234567890123456789012345678.9012345678", "-" + "9" * 27 + "8." + "9" * 10
)
HUGES = decimals(HUGE, "0", "-1", "9" * 38, "-12345678901234567890123456789012345678")
ALL_FLOATS = Values(FLOAT, (0.0, -0.0, 1.5, -2.5, math.nan, math.inf, -math.inf))
FLOATS = Values(FLOAT, (0.0, 1.5, -2.5, 0.1, 1e300, -5e-324))
TEXTS = Values(STRING, ("", "a", "EMEA", "emea", "  pad ", "\ttab\t", "ä日本😀x", "it's", "aaa", "100%"))
PARTS = Values(STRING, ("", "a", "E", "aa", "😀", "%", "'"))
FLAGS = Values(BOOLEAN, (True, False))
DATES = Values(
    DATE,
    tuple(datetime.date(*day) for day in ((1970, 1, 1), (2024, 2, 29), (2026, 1, 31), (1582, 10, 15), (9999, 12, 31))),
)
TIMES = Values(
    TIMESTAMP,
    (utc(1970, 1, 1), utc(2026, 1, 31, 23, 59, 59, 999999), utc(1969, 12, 31, 23, 59, 59), utc(2024, 2, 29, 0, 30)),
)
NUMBER_TEXTS = Values(
    STRING,
    (
        *("12", "-12.50", " 7 ", "+3", "abc", "", " ", "1e5", "1 2", "\uff11\uff12", "0.1234567890", "0.12345678901"),
        *("9" * 28, "9" * 29, "1,000", "NaN", "0x10", "--1", "-0", "007", "\t7"),
    ),
)
DATE_TEXTS = Values(
    STRING,
    ("2026-02-28", "2026-02-29", "2026-2-3", "20260228", "", "9999-12-31", "2026-02-28T00:00:00", "x", "28.02.2026"),
)


def written(*values: int | str) -> tuple[Node, ...]:
    return tuple(literals.integer(v) if isinstance(v, int) else literals.text(v) for v in values)


NUMBERS: tuple[Values, ...] = (INTEGERS, AMOUNTS, WIDES, HUGES, FLOATS)
KINDS: tuple[Values, ...] = (INTEGERS, AMOUNTS, FLOATS, TEXTS, FLAGS, DATES, TIMES)
ORDERED: tuple[Values, ...] = (INTEGERS, AMOUNTS, WIDES, ALL_FLOATS, TEXTS, DATES, TIMES)


def each(*argument_lists: Sequence[Argument]) -> tuple[Signature, ...]:
    return tuple(itertools.product(*argument_lists))


def twice(kinds: Sequence[Values]) -> tuple[Signature, ...]:
    return tuple((kind, kind) for kind in kinds)


SIGNATURES: dict[str, tuple[Signature, ...]] = {
    "IF": (*((FLAGS, kind, kind) for kind in KINDS), (FLAGS, INTEGERS, AMOUNTS), (FLAGS, literals.null(), AMOUNTS)),
    "AND": ((FLAGS, FLAGS), (FLAGS, FLAGS, FLAGS)),
    "OR": ((FLAGS, FLAGS), (FLAGS, FLAGS, FLAGS)),
    "NOT": ((FLAGS,),),
    "ISNULL": each(KINDS),
    "COALESCE": (*twice(KINDS), (INTEGERS, AMOUNTS), (AMOUNTS, *written(0)), (TEXTS, TEXTS, TEXTS)),
    "NULLIF": (*twice((*KINDS, ALL_FLOATS)), (INTEGERS, AMOUNTS), (AMOUNTS, WIDES), (AMOUNTS, *written(0))),
    "ABS": each((*NUMBERS, ALL_FLOATS)),
    "ROUND": (*each(NUMBERS), *each((INTEGERS, AMOUNTS, WIDES), written(-2, 0, 1, 2, 5))),
    "FLOOR": each((*NUMBERS, ALL_FLOATS)),
    "CEIL": each((*NUMBERS, ALL_FLOATS)),
    "MOD": (*twice((*NUMBERS, ALL_FLOATS)), (INTEGERS, AMOUNTS), (AMOUNTS, WIDES), (AMOUNTS, FLOATS)),
    "MIN": (*twice(ORDERED), (INTEGERS, AMOUNTS), (FLOATS, AMOUNTS), (TEXTS, TEXTS, TEXTS), (DATES, DATES, DATES)),
    "MAX": (*twice(ORDERED), (INTEGERS, AMOUNTS), (FLOATS, AMOUNTS), (TEXTS, TEXTS, TEXTS), (TIMES, TIMES, TIMES)),
    "POWER": (
        (Values(INTEGER, (0, 1, -2, 10)), Values(INTEGER, (0, 1, 2, -1))),
        (decimals(MONEY, "0", "2.25", "-8"), decimals(MONEY, "0.50", "2", "-1")),
        (FLOATS, Values(FLOAT, (0.0, 1.0, 2.0, 0.5))),
    ),
    "SIGN": each(NUMBERS),
    "CONCAT": ((TEXTS, PARTS), (PARTS, TEXTS, PARTS)),
    "UPPER": ((TEXTS,),),
    "LOWER": ((TEXTS,),),
    "TRIM": ((TEXTS,),),
    "LEFT": ((TEXTS, SMALL),),
    "RIGHT": ((TEXTS, SMALL),),
    "SUBSTRING": ((TEXTS, SMALL), (TEXTS, SMALL, SMALL)),
    "LEN": ((TEXTS,),),
    "CONTAINS": ((TEXTS, PARTS),),
    "STARTS_WITH": ((TEXTS, PARTS),),
    "ENDS_WITH": ((TEXTS, PARTS),),
    "REPLACE": ((TEXTS, PARTS, PARTS),),
    "LPAD": (*each((TEXTS,), written(0, 1, 4, 9)), *each((TEXTS,), written(4, 9), (PARTS,))),
    "RPAD": (*each((TEXTS,), written(0, 1, 4, 9)), *each((TEXTS,), written(4, 9), (PARTS,))),
    "DATE": (
        (TIMES,),
        (Values(INTEGER, (1970, 2024, 2026)), Values(INTEGER, (0, 1, 2, 12, 13)), Values(INTEGER, (0, 1, 29, 31))),
    ),
    "TIMESTAMP": ((DATES,),),
    "TODAY": ((),),
    "NOW": ((),),
    "YEAR": ((DATES,), (TIMES,)),
    "QUARTER": ((DATES,), (TIMES,)),
    "MONTH": ((DATES,), (TIMES,)),
    "DAY": ((DATES,), (TIMES,)),
    "DATEDIFF": ((DATES, DATES),),
    "DATEADD": ((Values(DATE, DATES.values[:3]), Values(INTEGER, (0, 1, -1, 366, -400, 2**40, -(2**63)))),),
    "ADD_MONTHS": ((Values(DATE, DATES.values[:3]), Values(INTEGER, (0, 1, -1, 12, -13, 2**40, -(2**63)))),),
    "EOMONTH": ((DATES,), (Values(DATE, DATES.values[:3]), Values(INTEGER, (0, 1, -1, 12, -13)))),
    "TO_STRING": (
        *each((INTEGERS, AMOUNTS, WIDES, HUGES, FLAGS, DATES, TIMES, TEXTS)),
        *each((DATES, TIMES), written("yyyy-MM", "dd.MM.yy", "yyyyMMdd")),
        *each((TIMES,), written("HH:mm:ss", "yyyy-MM-dd HH:mm")),
    ),
    "TO_NUMBER": ((NUMBER_TEXTS,), *each((NUMBER_TEXTS,), written(0, 2, 37))),
    "TO_DATE": ((DATE_TEXTS,), *each((DATE_TEXTS,), written("dd.MM.yyyy", "yyyyMMdd"))),
}
AGGREGATES: dict[str, tuple[Values, ...]] = {
    "SUM": NUMBERS,
    "AVG": NUMBERS,
    "COUNT": KINDS,
    "COUNT_ALL": KINDS,
    "MIN_AGG": ORDERED,
    "MAX_AGG": ORDERED,
}


def arguments(signature: Signature, prefix: str) -> tuple[Node, ...]:
    """The arguments; columns are named by the prefix and their position."""
    return tuple(Column(f"{prefix}{i}", a.type) if isinstance(a, Values) else a for i, a in enumerate(signature))


def rows(signature: Signature, prefix: str, limit: int = 60) -> list[dict[str, Any]]:
    """Every combination of values where there are few, NULL in each argument in any case."""
    pools = {f"{prefix}{i}": (None, *a.values) for i, a in enumerate(signature) if isinstance(a, Values)}
    combined = [dict(zip(pools, values, strict=True)) for values in itertools.product(*pools.values())]
    if len(combined) <= limit:
        return combined
    typical = {name: pool[2] for name, pool in pools.items()}
    nulls = [typical | {name: None} for name in pools]
    return nulls + Random(len(combined)).sample(combined, limit)
