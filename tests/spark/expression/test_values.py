"""What expressions give, worked out by hand."""

import datetime
from decimal import Decimal

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from daybook.expression import Grouping
from tests.spark.expression.world import SCOPE, frame, sql, values, values_of_null

D = Decimal
DAY = datetime.date

pytestmark = pytest.mark.usefixtures("product_settings")


def _moment(*parts: int) -> datetime.datetime:
    """As Spark hands timestamps to Python: without a zone, here in UTC."""
    return datetime.datetime(*parts)  # type: ignore[arg-type]  # noqa: DTZ001


# n=7 m=0 x=2.5 y=-0.5 s=EMEA t=me b=true d=2026-01-31 e=2024-02-29 ts=2026-01-31 23:59:59.12
# d18_2=10.25 d10_0=-3 d5_5=0.00005 d38_10=1.0000000001 d38_0=12345678901234567890123456789012345678 d38_2=100.50
EXPECTED: dict[str, object] = {
    # arithmetic
    "n + 1 * 2": 9,
    "(n + 1) * 2": 16,
    "n - 2 - 3": 2,
    "-n": -7,
    "- -n": 7,
    "n % 4": 3,
    "-n % 4": -3,
    "n % -4": 3,
    "MOD(-7, 4)": -3,
    "d18_2 % 3": D("1.25"),
    "d10_0 % 2": D("-1"),
    "n / 2": D("3.500000"),
    "7 / 2": D("3.500000"),
    "2 / 3": D("0.666667"),
    "-2 / 3": D("-0.666667"),
    "d18_2 * d18_2": D("105.0625"),
    "d18_2 + 0.005": D("10.255"),
    "d18_2 - d5_5": D("10.24995"),
    "0.1 + 0.2": D("0.3"),
    "0.1 + 0.2 = 0.3": True,
    "x + 1": 3.5,
    "x * d18_2": 25.625,
    "x / y": -5.0,
    "10 - 4 / 2": D("8.000000"),
    "9223372036854775806 + 1": 9223372036854775807,
    "-9223372036854775808": -9223372036854775808,
    "12345678901234567890": D("12345678901234567890"),
    # division by zero is NULL, of every type of divisor, written out or computed
    "n / m": None,
    "n / 0": None,
    "n % m": None,
    "n % 0": None,
    "MOD(n, m)": None,
    "d18_2 / d20_4": None,
    "d18_2 / 0.00": None,
    "d18_2 / (n - 7)": None,
    "d18_2 % (d18_2 - 10.25)": None,
    "x / (y + 0.5)": None,
    "x / 0": None,
    "COALESCE(n / m, -1)": D("-1.0000000000000000000"),
    # rounding is half away from zero
    "ROUND(2.5)": D("3"),
    "ROUND(-2.5)": D("-3"),
    "ROUND(0.5)": D("1"),
    "ROUND(1.005, 2)": D("1.01"),
    "ROUND(-1.005, 2)": D("-1.01"),
    "ROUND(1.004, 2)": D("1.00"),
    "ROUND(1250, -2)": 1300,
    "ROUND(-1250, -2)": -1300,
    "ROUND(1249.99, -2)": D("1200"),
    "ROUND(d18_2, 5)": D("10.25"),
    "ROUND(x)": 3.0,
    "ROUND(y)": -1.0,
    "FLOOR(d18_2)": D("10"),
    "FLOOR(-10.25)": D("-11"),
    "CEIL(d18_2)": D("11"),
    "CEIL(-10.25)": D("-10"),
    "FLOOR(y)": -1.0,
    "CEIL(x)": 3.0,
    "FLOOR(n)": 7,
    "FLOOR(x * 1000000000000000000000)": 2.5e21,
    "ABS(d10_0)": D("3"),
    "ABS(y)": 0.5,
    "-d38_0": D("-12345678901234567890123456789012345678"),
    "ABS(-d38_0)": D("12345678901234567890123456789012345678"),
    "ABS(d38_0 - 1)": D("12345678901234567890123456789012345677"),
    "-(d18_2 * d18_2)": D("-105.0625"),
    "ABS(d10_0 * d18_2 * 0.001 * 0.0000001)": D("0.000000003075"),
    "SIGN(d10_0)": -1,
    "SIGN(m)": 0,
    "SIGN(d38_0)": 1,
    "POWER(n, 2)": 49.0,
    "POWER(4, 0.5)": 2.0,
    "MIN(n, 3, d18_2)": D("3.00"),
    "MAX(n, 3, d18_2)": D("10.25"),
    "MIN(n, NULL)": None,
    "MAX(NULL, n, 100)": None,
    "MIN(s, t)": "EMEA",
    "MAX(d, e)": DAY(2026, 1, 31),
    "MAX(0, MIN(n, 5))": 5,
    # comparisons across number types are exact
    "d38_0 > d38_38": True,
    "d38_38 < 1": True,
    "d38_38 = 0.5": True,
    "d38_38 < 100000000000000000000000000000": True,
    "d38_0 = d38_38": False,
    "d38_0 <> d38_10": True,
    "-d38_0 < -d38_38": True,
    "d38_10 > 1.00000000005": True,
    "d38_0 IN (d38_38, 0.5, d38_0)": True,
    "d38_38 BETWEEN -d38_0 AND d38_0": True,
    "d38_0 = NULLIF(d38_38, 0.5)": None,
    "NULLIF(d38_0, d38_38)": D("12345678901234567890123456789012345678"),
    "n = 7.0": True,
    "n < 7.5": True,
    "n IN (1, 7.00)": True,
    "n NOT IN (1, 2)": True,
    "n IN (1, NULL)": None,
    "n IN (7, NULL)": True,
    "n NOT IN (1, NULL)": None,
    "n BETWEEN 7 AND 7": True,
    "n BETWEEN 8 AND 6": False,
    "n NOT BETWEEN 1 AND 6.99": True,
    "n + 1 BETWEEN 8 AND 9": True,
    "d BETWEEN DATE('2026-01-01') AND period.end_date": True,
    "x > d18_2": False,
    "s < t": True,
    "s = 'emea'": False,
    "b = TRUE": True,
    "b <> FALSE": True,
    "n = NULL": None,
    # three-valued logic
    "NULL AND FALSE": False,
    "NULL AND TRUE": None,
    "NULL OR TRUE": True,
    "NULL OR FALSE": None,
    "NOT NULL": None,
    "AND(b, n > 1, NULL)": None,
    "OR(n > 10, NULL, b)": True,
    "NOT b OR b": True,
    "NOT (b AND n > 10)": True,
    "TRUE OR FALSE AND FALSE": True,
    "IF(NULL, 1, 2)": 2,
    "IF(n > m, 'more', 'less')": "more",
    "IF(b, d18_2 * 0.9, d18_2)": D("9.225"),
    "CASE WHEN n < 5 THEN 'small' WHEN n < 10 THEN 'medium' ELSE 'large' END": "medium",
    "CASE WHEN n < 5 THEN 1 END": None,
    "CASE WHEN NULL THEN 1 ELSE 2.5 END": D("2.5"),
    "ISNULL(s)": False,
    "COALESCE(NULL, s, t)": "EMEA",
    "NULLIF(n, 7)": None,
    "NULLIF(n, 7.5)": 7,
    # texts
    "CONCAT(s, '-', t)": "EMEA-me",
    "CONCAT(s, NULL)": None,
    "UPPER('straße')": "STRASSE",
    "LOWER('ÄÖÜ')": "äöü",
    "TRIM('  a b  ')": "a b",
    "TRIM('\ta ')": "\ta",
    "LEFT(s, 2)": "EM",
    "LEFT(s, 9)": "EMEA",
    "LEFT(s, 0)": "",
    "LEFT(s, 9223372036854775807)": "EMEA",
    "LEFT(s, n * 1000000000000)": "EMEA",
    "LEFT(s, n * -1000000000000)": "",
    "SUBSTRING(s, n * 1000000000000)": "",
    "SUBSTRING(s, n * -1000000000000)": "EMEA",
    "SUBSTRING(s, 2, n * 1000000000000)": "MEA",
    "UPPER(LOWER('ß'))": "SS",
    "LOWER(UPPER('ß'))": "ss",
    "LEFT(s, m - 1)": "",
    "RIGHT(s, 2)": "EA",
    "RIGHT(s, 9)": "EMEA",
    "RIGHT(s, 0)": "",
    "RIGHT(s, -1)": "",
    "RIGHT(s, 9223372036854775807)": "EMEA",
    "RIGHT(s, n * 1000000000000)": "EMEA",
    "RIGHT(s, n - 5)": "EA",
    "RIGHT('a😀b', n - 5)": "😀b",
    "SUBSTRING(s, 2)": "MEA",
    "SUBSTRING(s, 2, 2)": "ME",
    "SUBSTRING(s, 0, 2)": "EM",
    "SUBSTRING(s, -2)": "EA",
    "SUBSTRING(s, -6, 3)": "E",
    "SUBSTRING(s, 9)": "",
    "SUBSTRING(s, 2, -1)": "",
    "LEN('a😀b')": 3,
    "LEN('')": 0,
    "CONTAINS(s, UPPER(t))": True,
    "CONTAINS(s, '')": True,
    "STARTS_WITH(s, 'EM')": True,
    "ENDS_WITH(s, 'em')": False,
    "REPLACE('aaa', 'a', 'bb')": "bbbbbb",
    "REPLACE('abc', '', 'x')": "abc",
    "LPAD('12345', 3, '0')": "123",
    "LPAD('7', 4, 'ab')": "aba7",
    "RPAD('7', 3)": "7  ",
    "LPAD('7', 0)": "",
    # only % and _ are special in LIKE
    "s LIKE 'E%'": True,
    "s LIKE '_ME_'": True,
    "s LIKE 'e%'": False,
    "s NOT LIKE '%X%'": True,
    "'50%' LIKE '50\\%'": False,
    "'50\\%' LIKE '50\\%'": True,
    "'50\\x' LIKE '50\\%'": True,
    "'a.c' LIKE 'a.c'": True,
    "'abc' LIKE 'a.c'": False,
    "'a[b' LIKE 'a[_'": True,
    "'a\\b' LIKE CONCAT('a', '\\', '_')": True,
    "'a\nb' LIKE 'a%b'": True,
    "'' LIKE '%'": True,
    "'' LIKE '_'": False,
    # dates
    "YEAR(d)": 2026,
    "QUARTER(e)": 1,
    "MONTH(ts)": 1,
    "DAY(e)": 29,
    "DATEDIFF(d, e)": 702,
    "DATEDIFF(e, d)": -702,
    "DATEADD(e, 1)": DAY(2024, 3, 1),
    "DATEADD(e, -60)": DAY(2023, 12, 31),
    "DATEADD(d, n)": DAY(2026, 2, 7),
    "ADD_MONTHS(d, 1)": DAY(2026, 2, 28),
    "ADD_MONTHS(e, 12)": DAY(2025, 2, 28),
    "ADD_MONTHS(e, -12)": DAY(2023, 2, 28),
    "ADD_MONTHS(DATE('2026-02-28'), 1)": DAY(2026, 3, 28),
    "EOMONTH(e)": DAY(2024, 2, 29),
    "EOMONTH(d, 1)": DAY(2026, 2, 28),
    "EOMONTH(d, -11)": DAY(2025, 2, 28),
    "DATE(ts)": DAY(2026, 1, 31),
    "DATE(2024, 2, 29)": DAY(2024, 2, 29),
    "DATE('0001-01-01')": DAY(1, 1, 1),
    "DATE('9999-12-31')": DAY(9999, 12, 31),
    "TIMESTAMP(d)": _moment(2026, 1, 31),
    "TIMESTAMP('2026-01-31T23:59:59.12Z') = ts": True,
    "TIMESTAMP('2026-01-31 22:59:59.12-01:00') = ts": True,
    "TIMESTAMP('2026-01-31')": _moment(2026, 1, 31),
    "TODAY()": DAY(2026, 1, 31),
    "NOW()": _moment(2026, 1, 31, 12, 30),
    "period.identifier": "2026-01",
    "period.level": "month",
    "DATEDIFF(period.end_date, period.start_date) + 1": 31,
    # conversions
    "TO_STRING(n)": "7",
    "TO_STRING(d18_2)": "10.25",
    "TO_STRING(d20_4)": "0.0000",
    "TO_STRING(0.0000001)": "0.0000001",
    "TO_STRING(d38_0)": "12345678901234567890123456789012345678",
    "TO_STRING(b)": "true",
    "TO_STRING(d)": "2026-01-31",
    "TO_STRING(ts)": "2026-01-31 23:59:59.12",
    "TO_STRING(TIMESTAMP('2026-01-31T10:00:00Z'))": "2026-01-31 10:00:00",
    "TO_STRING(x)": "2.5",
    "TO_STRING(d, 'dd.MM.yyyy')": "31.01.2026",
    "TO_STRING(d, 'yy/MM')": "26/01",
    "TO_STRING(ts, 'yyyy-MM-ddTHH:mm:ss')": "2026-01-31T23:59:59",
    "TO_NUMBER('12.50', 2)": D("12.50"),
    "TO_NUMBER(' -12 ')": D("-12.0000000000"),
    "TO_NUMBER('+0.5', 1)": D("0.5"),
    "TO_NUMBER('99999999999999999999999999999999999999', 0)": D("99999999999999999999999999999999999999"),
    "TO_DATE('2024-02-29')": DAY(2024, 2, 29),
    "TO_DATE('29/02/2024', 'dd/MM/yyyy')": DAY(2024, 2, 29),
}

FAILS: dict[str, str] = {
    "9223372036854775807 + n": "ARITHMETIC_OVERFLOW",
    "n * 9223372036854775807": "ARITHMETIC_OVERFLOW",
    "d38_0 * 100": "NUMERIC_VALUE_OUT_OF_RANGE",
    "d38_0 + d38_0 * 9": "NUMERIC_VALUE_OUT_OF_RANGE",
    "COALESCE(d38_0, d38_38)": "NUMERIC_VALUE_OUT_OF_RANGE",
    "TO_NUMBER(s)": "CAST_INVALID_INPUT",
    "TO_NUMBER('1e5')": "CAST_INVALID_INPUT",
    "TO_NUMBER('1.234', 2)": "CAST_INVALID_INPUT",
    "TO_NUMBER('1,000')": "CAST_INVALID_INPUT",
    "TO_NUMBER('')": "CAST_INVALID_INPUT",
    "TO_NUMBER('1 2')": "CAST_INVALID_INPUT",
    "TO_NUMBER('.5')": "CAST_INVALID_INPUT",
    "TO_NUMBER('5.')": "CAST_INVALID_INPUT",
    "TO_NUMBER('5\n')": "CAST_INVALID_INPUT",
    "TO_NUMBER('1.5', 0)": "CAST_INVALID_INPUT",
    "TO_NUMBER('NaN')": "CAST_INVALID_INPUT",
    "TO_NUMBER('99999999999999999999999999999')": "NUMERIC_VALUE_OUT_OF_RANGE",
    "TO_DATE(s)": "CAST_INVALID_INPUT",
    "TO_DATE('2026-2-3')": "CAST_INVALID_INPUT",
    "TO_DATE('2026-02-30')": "CAST_INVALID_INPUT",
    "TO_DATE('2026-01-31 ')": "CAST_INVALID_INPUT",
    "DATE(2026, 2, 30)": "CAST_INVALID_INPUT",
    "DATEADD(d, n * 2000000)": "NUMERIC_VALUE_OUT_OF_RANGE",
}


def test_values(spark: SparkSession) -> None:
    found = dict(zip(EXPECTED, map(_shown, values(spark, list(EXPECTED))), strict=True))
    assert found == {text: _shown(value) for text, value in EXPECTED.items()}


def test_null_in_every_operand_gives_null(spark: SparkSession) -> None:
    texts = [
        "n + 1", "1 - n", "n * m", "n / m", "n % m", "-n", "d18_2 * 2", "x / y", "n = 1", "s < t", "n BETWEEN 1 AND 2",
        "1 BETWEEN n AND 2", "s LIKE t", "'a' LIKE t", "n IN (1, 2)", "NOT b", "ABS(n)", "ROUND(x, 1)", "FLOOR(d18_2)",
        "FLOOR(x)", "CEIL(x)", "MOD(n, 2)", "MOD(2, n)", "MIN(n, 1)", "MAX(1, 2, n)", "POWER(n, 2)", "POWER(2, n)",
        "SIGN(x)",
        "CONCAT(s, 'x')", "CONCAT('x', s)", "UPPER(s)", "LOWER(s)", "TRIM(s)", "LEFT(s, 2)", "LEFT('abc', n)",
        "RIGHT(s, 2)",
        "RIGHT('abc', n)", "SUBSTRING(s, 1)", "SUBSTRING('abc', n)", "SUBSTRING('abc', 1, n)", "LEN(s)",
        "CONTAINS(s, 'a')",
        "CONTAINS('a', s)", "STARTS_WITH('a', s)", "ENDS_WITH(s, 'a')", "REPLACE(s, 'a', 'b')", "REPLACE('a', s, 'b')",
        "REPLACE('a', 'a', s)", "LPAD(s, 3)", "RPAD('a', 3, s)", "DATE(ts)", "DATE(n, 1, 1)", "DATE(2026, n, 1)",
        "DATE(2026, 1, n)", "TIMESTAMP(d)", "YEAR(d)", "QUARTER(d)", "MONTH(d)", "DAY(ts)", "DATEDIFF(d, TODAY())",
        "DATEDIFF(TODAY(), d)", "DATEADD(d, 1)", "DATEADD(TODAY(), n)", "ADD_MONTHS(d, 1)", "ADD_MONTHS(TODAY(), n)",
        "EOMONTH(d)", "EOMONTH(TODAY(), n)", "TO_STRING(n)", "TO_STRING(d, 'yyyy')", "TO_NUMBER(s)", "TO_DATE(s)",
        "NULLIF(n, 1)", "COALESCE(n, m)", "CASE WHEN b THEN 1 END", "NULLIF(s, t)",
    ]  # fmt: skip
    found = dict(zip(texts, values_of_null(spark, texts), strict=True))
    assert found == dict.fromkeys(texts)


def test_null_is_taken_where_a_function_says_so(spark: SparkSession) -> None:
    expected: dict[str, object] = {
        "ISNULL(n)": True,
        "n IS NULL": True,
        "n IS NOT NULL": False,
        "IF(b, 1, 2)": 2,
        "COALESCE(n, 5)": 5,
        "CASE WHEN b THEN 1 ELSE 2 END": 2,
        "b OR TRUE": True,
        "b AND FALSE": False,
        "NULLIF(5, n)": 5,
    }
    assert dict(zip(expected, values_of_null(spark, list(expected)), strict=True)) == expected


@pytest.mark.parametrize(("text", "condition"), FAILS.items())
def test_values_that_cannot_be_fail(spark: SparkSession, text: str, condition: str) -> None:
    with pytest.raises(PySparkException) as failure:
        values(spark, [text])
    assert (failure.value.getCondition() or "").startswith(condition)


def test_aggregates(spark: SparkSession) -> None:
    df = spark.createDataFrame(
        [
            ("a", 1, D("0.10"), 0.5, "x"),
            ("a", 2, D("0.20"), 1.5, None),
            ("a", None, None, None, "y"),
            (None, 5, None, None, None),
        ],
        "s string, n bigint, d18_2 decimal(18,2), x double, t string",
    )
    expected: dict[str, dict[str | None, object]] = {
        "SUM(n)": {"a": D("3"), None: D("5")},
        "SUM(d18_2)": {"a": D("0.30"), None: None},
        "SUM(x)": {"a": 2.0, None: None},
        "AVG(n)": {"a": D("1.5000000000"), None: D("5.0000000000")},
        "AVG(d18_2)": {"a": D("0.150000000000"), None: None},
        "AVG(x)": {"a": 1.0, None: None},
        "COUNT(n)": {"a": 2, None: 1},
        "COUNT(*)": {"a": 3, None: 1},
        "COUNT_ALL()": {"a": 3, None: 1},
        "COUNT_ALL(t)": {"a": 3, None: 1},
        "COUNT(t)": {"a": 2, None: 0},
        "MIN_AGG(t)": {"a": "x", None: None},
        "MAX_AGG(n)": {"a": 2, None: 5},
        "SUM(n) / COUNT(*)": {"a": D("1.0000000000"), None: D("5.0000000000")},
        "SUM(d18_2) / SUM(n - n)": {"a": None, None: None},
        "CONCAT(s, MAX_AGG(t))": {"a": "ay", None: None},
        "SUM(IF(n > 1, n, 0))": {"a": D("2"), None: D("5")},
    }
    columns = [F.expr(sql(text, Grouping(("s",)))).alias(f"v{position}") for position, text in enumerate(expected)]
    rows = {row.s: row for row in df.groupBy("s").agg(*columns).collect()}
    found = {
        text: {key: _shown(row[f"v{position}"]) for key, row in rows.items()} for position, text in enumerate(expected)
    }
    assert found == {text: {key: _shown(value) for key, value in by_key.items()} for text, by_key in expected.items()}


def test_a_sum_over_38_digits_fails(spark: SparkSession) -> None:
    df = spark.sql("SELECT CAST(repeat('9', 38) AS DECIMAL(38,0)) AS d38_0 FROM range(2)")
    with pytest.raises(PySparkException, match=r"ARITHMETIC_OVERFLOW|NUMERIC_VALUE_OUT_OF_RANGE"):
        df.groupBy().agg(F.expr(sql("SUM(d38_0)", Grouping(())))).collect()


def test_the_table_has_the_columns_of_the_scope(spark: SparkSession) -> None:
    assert frame(spark).columns == list(SCOPE.columns)


def _shown(value: object) -> object:
    return f"decimal {value}" if isinstance(value, Decimal) else (type(value).__name__, value)
