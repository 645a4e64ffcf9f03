"""A table of every type with NULLs, duplicates, boundary values and text of several scripts."""

import datetime
import math
from decimal import Decimal
from random import Random
from typing import Any

from daybook.model.types import BOOLEAN, DATE, FLOAT, INTEGER, STRING, TIMESTAMP, ColumnType, DecimalType
from daybook.recompute.arithmetic import EXACT
from daybook.recompute.tree import Column

MAIN, ALIAS = "orders", "other"
COLUMNS: dict[str, ColumnType] = {
    "n1": INTEGER,
    "n2": INTEGER,
    "d1": DecimalType(18, 2),
    "d2": DecimalType(9, 4),
    "net amount": DecimalType(12, 3),
    "wide": DecimalType(38, 10),
    "huge": DecimalType(38, 0),
    "f1": FLOAT,
    "f2": FLOAT,
    "s1": STRING,
    "s2": STRING,
    "b1": BOOLEAN,
    "b2": BOOLEAN,
    "t1": DATE,
    "t2": DATE,
    "ts1": TIMESTAMP,
    "ts2": TIMESTAMP,
}
ALIAS_COLUMNS: dict[str, ColumnType] = {"rate": DecimalType(5, 3), "code": STRING}
TEXTS = ("", "a", "EMEA", "emea", "it's", " pad ", "ä日本", "😀x", "100%", "A_B", "back\\slash", "-12.50", "2026-02-28")


def references(random: Random) -> list[Column]:
    """The columns as an expression may write them: bare, with the main table, with the alias."""
    main = [Column(name, type_, MAIN if random.random() < 0.2 else None) for name, type_ in COLUMNS.items()]
    return main + [Column(name, type_, ALIAS, alias=True) for name, type_ in ALIAS_COLUMNS.items()]


def all_types() -> dict[str, ColumnType]:
    return {**COLUMNS, **{f"{ALIAS}.{name}": type_ for name, type_ in ALIAS_COLUMNS.items()}}


def boundaries(type_: ColumnType) -> tuple[Any, Any, Any, Any]:
    """The neutral, the greatest and the least value, and one whose digits all differ."""
    match type_:
        case DecimalType(precision, scale):
            greatest = Decimal(10**precision - 1).scaleb(-scale, EXACT)
            digits = Decimal(("1234567890" * 4)[:precision]).scaleb(-scale, EXACT)
            return Decimal(0).scaleb(-scale, EXACT), greatest, greatest.copy_negate(), digits
    values: dict[ColumnType, tuple[Any, Any, Any, Any]] = {
        INTEGER: (0, 2**63 - 1, -(2**63), 1234567890123456789),
        FLOAT: (0.0, 1.7976931348623157e308, -5e-324, 0.1),
        STRING: ("", "😀" * 20, "\t", "Straße İ ﬁ"),
        BOOLEAN: (False, True, False, True),
        DATE: (
            datetime.date(1970, 1, 1),
            datetime.date(9999, 12, 31),
            datetime.date(1582, 10, 15),
            datetime.date(2024, 2, 29),
        ),
        TIMESTAMP: (
            datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC),
            datetime.datetime(9999, 12, 31, 23, 59, 59, 999999, tzinfo=datetime.UTC),
            datetime.datetime(1582, 10, 15, tzinfo=datetime.UTC),
            datetime.datetime(2024, 2, 29, 1, 2, 3, 456789, tzinfo=datetime.UTC),
        ),
    }
    return values[type_]


def ordinary(type_: ColumnType, random: Random) -> Any:
    match type_:
        case DecimalType(precision, scale):
            digits = random.randint(1, min(precision, 8))
            return Decimal(random.choice((1, -1)) * random.randint(0, 10**digits - 1)).scaleb(-scale, EXACT)
    makers: dict[ColumnType, Any] = {
        INTEGER: random.choice((0, 1, 2, 3, -1, -7, 10, random.randint(-1000, 1000))),
        FLOAT: random.choice(
            (0.0, 1.5, -2.25, 0.1, 1e10, -0.0, math.nan, math.inf, -math.inf, random.uniform(-100, 100))
        ),
        STRING: random.choice(TEXTS),
        BOOLEAN: random.random() < 0.5,
        DATE: datetime.date(2024, 1, 1)
        + datetime.timedelta(days=random.choice((0, 30, 59, 365, random.randint(0, 900)))),
        TIMESTAMP: datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
        + datetime.timedelta(microseconds=random.choice((0, 1, 86_400_000_000, random.randint(0, 10**13)))),
    }
    return makers[type_]


def rows(random: Random, count: int = 20) -> list[dict[str, Any]]:
    types = all_types()
    first = [dict.fromkeys(types)]
    first += [{name: boundaries(type_)[place] for name, type_ in types.items()} for place in range(4)]
    made = [
        {name: None if random.random() < 0.15 else ordinary(type_, random) for name, type_ in types.items()}
        for _ in range(count - len(first) - 1)
    ]
    return [*first, *made, dict(made[0])]
