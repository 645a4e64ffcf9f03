"""Values of text files are exactly what is written, or refused; compared with Python's own decimals, floats, dates."""

import csv
import datetime as dt
import decimal
import json
import random
import re
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from daybook.errors import DaybookError
from daybook.io.column_types import BadValueError, parse_texts
from daybook.model.types import DATE, FLOAT, INTEGER, TIMESTAMP, ColumnType, DecimalType, parse_type
from tests.attacks.landed import csv_rows, dataset, json_rows
from tests.attacks.tables import numbers


def short(value: object) -> str:
    return ascii(value)[:40]


@pytest.mark.parametrize(("type_", "text", "value"), numbers.CASES, ids=short)
def test_in_csv(tmp_path: Path, type_: str, text: str, value: Any) -> None:
    path = tmp_path / "in.csv"
    with path.open("w", newline="", encoding="utf-8") as stream:
        csv.writer(stream, quoting=csv.QUOTE_ALL).writerows([["v"], [text]])
    if value is not numbers.REFUSED:
        assert csv_rows(path, dataset(v=type_)) == [{"v": value}]
        return
    with pytest.raises(DaybookError) as caught:
        csv_rows(path, dataset(v=type_))
    assert (caught.value.code, caught.value.parameters["place"]) == ("IO_004", "line 2")
    assert len(caught.value.message) < 300


@pytest.mark.parametrize(
    ("type_", "text", "value"), [case for case in numbers.CASES if "decimal" in case[0]], ids=short
)
def test_in_json(tmp_path: Path, type_: str, text: str, value: Any) -> None:
    path = tmp_path / "in.json"
    path.write_text(json.dumps({"v": text}), encoding="utf-8")
    if value is not numbers.REFUSED:
        assert json_rows(path, dataset(v=type_)) == [{"v": value}]
        return
    with pytest.raises(DaybookError) as caught:
        json_rows(path, dataset(v=type_))
    assert (caught.value.code, caught.value.parameters["place"]) == ("IO_004", "line 1")


@pytest.mark.parametrize("number", ["1" * 5000, "1e999999", "-1e-999999", "1e999999999999", "0." + "0" * 5000 + "1"])
@pytest.mark.parametrize("type_", ["string", "decimal(38,10)", "integer", "date", "boolean"])
def test_a_bare_json_number_is_refused_at_once(tmp_path: Path, number: str, type_: str) -> None:
    path = tmp_path / "in.json"
    path.write_text(f'{{"v": {number}}}\n')
    with pytest.raises(DaybookError) as caught:
        json_rows(path, dataset(v=type_))
    assert caught.value.code == "IO_004"


DECIMAL_TYPES = (DecimalType(38, 10), DecimalType(18, 2), DecimalType(38, 38), DecimalType(38, 0), DecimalType(1, 0))
LENGTHS = (0, 1, 1, 2, 2, 3, 5, 17, 18, 19, 28, 36, 37, 38, 39, 40, 75, 76, 77, 200, 999, 1001, 5000)
EXPONENTS = (0, 1, 2, 5, 10, 20, 37, 38, 39, 40, 308, 324, 400, 15727, 2**31 - 1, 2**31, 2**32, 2**63, 2**64, 10**30)
ODD = ("", "", "", " ", "_", ",", "\n", "\0", "\u0663", "\uff11", "\u00b2", "e", ".", "-", "+", "x", "NaN", "Infinity")
GRAMMAR = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
LONGEST = 1000


def digits(source: random.Random) -> str:
    length = source.choice(LENGTHS)
    kind = source.random()
    if kind < 0.2:
        return "0" * length
    if kind < 0.4:
        return "0" * length + str(source.randrange(100)) + "0" * source.choice(LENGTHS[:12])
    return "".join(source.choices("0123456789", k=length))


def number_texts(source: random.Random, count: int) -> Iterator[str]:
    """Texts of the shape of numbers, most of them odd in some way."""
    for _ in range(count):
        text = source.choice(("", "", "-", "+")) + digits(source)
        if source.random() < 0.6:
            text += "." + digits(source)
        if source.random() < 0.5:
            exponent = source.choice(EXPONENTS) + source.randrange(3)
            text += source.choice("eE") + source.choice(("", "+", "-")) + str(exponent)
        if source.random() < 0.15:
            place = source.randrange(len(text) + 1)
            text = text[:place] + source.choice(ODD) + text[place:]
        yield text


def exact_decimal(text: str, type_: DecimalType) -> Decimal | None:
    """By Python's decimals in a context that loses nothing."""
    if len(text) > LONGEST or not GRAMMAR.fullmatch(text):
        return None
    with decimal.localcontext(decimal.Context(prec=3000, traps=[])) as context:
        # Exponents beyond what even this context has lead to infinity or, with digits, to nothing.
        number = context.create_decimal(text)
        if not re.search("[1-9]", re.split("[eE]", text)[0]):
            return Decimal(0)
        if not number.is_finite() or not number:
            return None
        rounded = number.quantize(Decimal(1).scaleb(-type_.scale), context=context)
        fits = rounded == number and abs(number) < Decimal(10) ** (type_.precision - type_.scale)
        return number if fits else None


def exact_integer(text: str) -> int | None:
    if len(text) > LONGEST or not re.fullmatch("[+-]?[0-9]+", text):
        return None
    return int(text) if -(2**63) <= int(text) < 2**63 else None


def exact_float(text: str) -> float | None:
    if text in ("NaN", "Infinity", "+Infinity", "-Infinity"):
        return float(text)
    if len(text) > LONGEST or not GRAMMAR.fullmatch(text):
        return None
    return None if abs(float(text)) == float("inf") else float(text)


def day_texts(source: random.Random, count: int) -> Iterator[str]:
    for _ in range(count):
        year = source.choice((0, 1, 999, 1582, 1900, 2000, 2024, 2026, 9999, 10000))
        text = f"{year:04}-{source.randrange(15):02}-{source.randrange(34):02}"
        if source.random() < 0.7:
            text += source.choice("T T_") + f"{source.randrange(26):02}:{source.randrange(62):02}"
        if source.random() < 0.5:
            text += f":{source.randrange(62):02}" + source.choice(("", ".1", ".123456", ".1234567", "."))
        if source.random() < 0.5:
            text += source.choice(("Z", "+00:00", "+14:00", "-1200", "+25:00", "-00:60", "z", "+1", " UTC"))
        if source.random() < 0.05:
            text = text.replace(source.choice(text), source.choice(ODD), 1)
        yield text


def exact_day(text: str) -> dt.date | None:
    if not re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", text):
        return None
    try:
        return dt.date(*map(int, text.split("-")))
    except ValueError:
        return None


MOMENT = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})(?:[T ]([0-9]{2}):([0-9]{2})(?::([0-9]{2})(?:\.([0-9]{1,6}))?)?"
    r"(?:(Z)|([+-])([0-9]{2}):?([0-9]{2}))?)?"
)


def exact_moment(text: str) -> dt.datetime | None:
    match = MOMENT.fullmatch(text)
    day = exact_day(match[1]) if match else None
    if match is None or day is None:
        return None
    hour, minute, second, zone_hour, zone_minute = (int(match[n] or 0) for n in (2, 3, 4, 8, 9))
    if zone_hour > 23 or zone_minute > 59:
        return None
    try:
        microsecond = int((match[5] or "0").ljust(6, "0"))
        moment = dt.datetime(day.year, day.month, day.day, hour, minute, second, microsecond, dt.UTC)
        offset = dt.timedelta(hours=zone_hour, minutes=zone_minute)
        return moment + offset if match[7] == "-" else moment - offset
    except (ValueError, OverflowError):
        return None


def compare(texts: list[str], type_: ColumnType, values: list[Any]) -> None:
    """What has a value is read with it all at once, everything else refused one by one."""
    readable = [text for text, value in zip(texts, values, strict=True) if value is not None]
    expected = [value for value in values if value is not None]
    found = parse_texts(pa.array(readable, pa.string()), type_).to_pylist()
    wrong = [(t, f, e) for t, f, e in zip(readable, found, expected, strict=True) if f != e and f == f]
    assert wrong == []
    for text in {text for text, value in zip(texts, values, strict=True) if value is None}:
        with pytest.raises(BadValueError):
            parse_texts(pa.array([text], pa.string()), type_)


def compare_all(count: int, seed: int) -> None:
    source = random.Random(seed)
    texts = list(number_texts(source, count))
    for type_ in DECIMAL_TYPES:
        compare(texts, type_, [exact_decimal(text, type_) for text in texts])
    compare(texts, INTEGER, [exact_integer(text) for text in texts])
    compare(texts, FLOAT, [exact_float(text) for text in texts])
    days = list(day_texts(source, count))
    compare(days, DATE, [exact_day(text) for text in days])
    compare(days, TIMESTAMP, [exact_moment(text) for text in days])


def test_odd_texts_have_the_value_that_python_gives_them_or_none() -> None:
    compare_all(500, seed=1)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(24))
def test_millions_of_odd_texts(seed: int) -> None:
    """24 times nine times 10,000 conversions."""
    compare_all(10_000, seed=1000 + seed)


def test_the_readers_take_odd_texts_as_they_are(tmp_path: Path) -> None:
    type_ = DecimalType(38, 10)
    texts = [text for text in number_texts(random.Random(7), 20_000) if exact_decimal(text, type_) is not None]
    assert len(texts) > 2000
    expected = [{"v": exact_decimal(text, type_)} for text in texts]
    (tmp_path / "in.csv").write_text("v\n" + "\n".join(texts) + "\n")
    assert csv_rows(tmp_path / "in.csv", dataset(v=str(type_))) == expected
    (tmp_path / "in.json").write_text("".join(f'{{"v": "{text}"}}\n' for text in texts))
    assert json_rows(tmp_path / "in.json", dataset(v=str(type_))) == expected


def test_types_are_read_as_they_are_written() -> None:
    assert [parse_type(str(type_)) for type_ in DECIMAL_TYPES] == list(DECIMAL_TYPES)
