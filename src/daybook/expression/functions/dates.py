"""Functions for dates and timestamps; timestamps are in UTC."""

import datetime
import re

from daybook.expression.functions.function import (
    Arguments,
    Example,
    Function,
    FunctionParameter,
    OperandError,
    ParameterKind,
    as_shift_sql,
)
from daybook.expression.type_rules import describe_type
from daybook.expression.typed_tree import ConstantValue, Conversion, LiteralValue, TypedNode
from daybook.model.types import DATE, INTEGER, TIMESTAMP, DateType, StringType, TimestampType

_TIMESTAMP = re.compile(
    r"\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d{1,6})?)?(?:Z|[+-]\d{2}:\d{2})?)?", re.ASCII
)
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)

_MOMENT = (FunctionParameter("date", ParameterKind.DATE_OR_TIMESTAMP),)


def _date(arguments: tuple[TypedNode, ...]) -> TypedNode | None:
    if len(arguments) == 2:
        raise OperandError("EXPR_015", name="DATE", expected="one argument or three", found="2")
    first, *rest = arguments
    if rest:
        for position, argument in enumerate(arguments):
            _require_integer(argument, position)
        return None
    match first:
        case LiteralValue(str() as text):
            return LiteralValue(_parsed_date(text), DATE)
        case _ if isinstance(first.type, DateType):
            return first
        case _ if isinstance(first.type, TimestampType):
            return Conversion(first, DATE)
        case _ if isinstance(first.type, StringType):
            raise OperandError(
                "EXPR_026",
                position=0,
                hint="TO_DATE reads a date from a text column",
                name="DATE",
                expected="a date written out",
            )
        case _:
            raise OperandError(
                "EXPR_015",
                name="DATE",
                expected="a date written out, a timestamp, or year, month and day",
                found="a number",
            )


def _require_integer(argument: TypedNode, position: int) -> None:
    if isinstance(argument.type, StringType | TimestampType | DateType):
        raise OperandError(
            "EXPR_020", position=position, name="DATE", expected="an integer", found=describe_type(argument.type)
        )


def _parsed_date(text: str) -> datetime.date:
    try:
        if not _DATE.fullmatch(text):
            raise ValueError(text)
        return datetime.date.fromisoformat(text)
    except ValueError:
        raise OperandError(
            "EXPR_027", position=0, hint='write it as in DATE("2026-01-31")', text=f'"{text}"', expected="a date"
        ) from None


def _timestamp(arguments: tuple[TypedNode, ...]) -> TypedNode:
    (first,) = arguments
    match first:
        case LiteralValue(str() as text):
            return LiteralValue(_parsed_timestamp(text), TIMESTAMP)
        case _ if isinstance(first.type, TimestampType):
            return first
        case _ if isinstance(first.type, DateType):
            return Conversion(first, TIMESTAMP)
        case _:
            raise OperandError("EXPR_026", position=0, name="TIMESTAMP", expected="a timestamp written out")


def _parsed_timestamp(text: str) -> datetime.datetime:
    try:
        if not _TIMESTAMP.fullmatch(text):
            raise ValueError(text)
        moment = datetime.datetime.fromisoformat(text)
        return (moment if moment.tzinfo else moment.replace(tzinfo=datetime.UTC)).astimezone(datetime.UTC)
    except (ValueError, OverflowError):
        hint = 'write it as in TIMESTAMP("2026-01-31T23:59:59Z")'
        raise OperandError("EXPR_027", position=0, hint=hint, text=f'"{text}"', expected="a timestamp") from None


def _make_date_sql(arguments: Arguments) -> str:
    """Uses a cast, because it reports which value failed and where, and MAKE_DATE of Spark does not."""
    numbers = ", ".join(argument.sql for argument in arguments)
    date = f"CAST(FORMAT_STRING('%04d-%02d-%02d', {numbers}) AS DATE)"
    checks = " OR ".join(f"ISNULL({argument.sql})" for argument in arguments if argument.literal is None)
    return f"IF({checks}, NULL, {date})" if checks else date


def _part(name: str, sentence: str, value: int) -> Function:
    return Function(
        name=name,
        parameters=_MOMENT,
        returns=INTEGER,
        sql=f"CAST({name}({{0}}) AS BIGINT)",
        sentence=sentence,
        example=Example(f'{name}(DATE("2026-05-31"))', value),
    )


def _end_of_month_sql(arguments: Arguments) -> str:
    date, *months = arguments
    return f"LAST_DAY(ADD_MONTHS({date.sql}, {as_shift_sql(months[0])}))" if months else f"LAST_DAY({date.sql})"


FUNCTIONS = (
    Function(
        name="DATE",
        parameters=(
            FunctionParameter("value", ParameterKind.DATE_SOURCE, repeats=2),
            FunctionParameter("month", ParameterKind.INTEGER, is_optional=True, repeats=2),
            FunctionParameter("day", ParameterKind.INTEGER, is_optional=True, repeats=2),
        ),
        returns=DATE,
        sql=_make_date_sql,
        rewrite=_date,
        sentence=(
            'A date: written out as "2026-01-31", the day of a timestamp in UTC, or from year, month and day; '
            "a day that does not exist fails the run."
        ),
        example=Example("DATE(2026, 1, 31)", datetime.date(2026, 1, 31)),
    ),
    Function(
        name="TIMESTAMP",
        parameters=(FunctionParameter("value", ParameterKind.TIMESTAMP_SOURCE),),
        returns=TIMESTAMP,
        sql="",
        rewrite=_timestamp,
        sentence=(
            'A timestamp: written out as "2026-01-31T23:59:59Z" (without an offset it is UTC), '
            "or the start of a date's day in UTC."
        ),
        example=Example(
            'TIMESTAMP("2026-01-31T12:00:00+02:00")', datetime.datetime(2026, 1, 31, 10, tzinfo=datetime.UTC)
        ),
    ),
    Function(
        name="TODAY",
        parameters=(),
        returns=DATE,
        sql="",
        rewrite=lambda _: ConstantValue("today", DATE),
        sentence="The date of the run in UTC, the same in every row and every retry.",
        example=Example("TODAY()", datetime.date(2026, 1, 31)),
    ),
    Function(
        name="NOW",
        parameters=(),
        returns=TIMESTAMP,
        sql="",
        rewrite=lambda _: ConstantValue("now", TIMESTAMP),
        sentence="The timestamp of the run, the same in every row and every retry.",
        example=Example("NOW()", datetime.datetime(2026, 1, 31, 12, 30, tzinfo=datetime.UTC)),
    ),
    _part("YEAR", "The year of a date.", 2026),
    _part("QUARTER", "The quarter of a date, 1 to 4.", 2),
    _part("MONTH", "The month of a date, 1 to 12.", 5),
    _part("DAY", "The day of the month of a date, 1 to 31.", 31),
    Function(
        name="DATEDIFF",
        parameters=(FunctionParameter("end", ParameterKind.DATE), FunctionParameter("start", ParameterKind.DATE)),
        returns=INTEGER,
        sql="CAST(DATEDIFF({0}, {1}) AS BIGINT)",
        sentence="The days from start to end, negative when the end comes first.",
        example=Example('DATEDIFF(DATE("2026-03-01"), DATE("2026-02-01"))', 28),
    ),
    Function(
        name="DATEADD",
        parameters=(FunctionParameter("date", ParameterKind.DATE), FunctionParameter("days", ParameterKind.INTEGER)),
        returns=DATE,
        sql=lambda arguments: f"DATE_ADD({arguments[0].sql}, {as_shift_sql(arguments[1])})",
        sentence="The date so many days later, or earlier when negative.",
        example=Example('DATEADD(DATE("2026-01-31"), 1)', datetime.date(2026, 2, 1)),
    ),
    Function(
        name="ADD_MONTHS",
        parameters=(FunctionParameter("date", ParameterKind.DATE), FunctionParameter("months", ParameterKind.INTEGER)),
        returns=DATE,
        sql=lambda arguments: f"ADD_MONTHS({arguments[0].sql}, {as_shift_sql(arguments[1])})",
        sentence="The same day so many months later, or the last day of that month where it has no such day.",
        example=Example('ADD_MONTHS(DATE("2026-01-31"), 1)', datetime.date(2026, 2, 28)),
    ),
    Function(
        name="EOMONTH",
        parameters=(
            FunctionParameter("date", ParameterKind.DATE),
            FunctionParameter("months", ParameterKind.INTEGER, is_optional=True),
        ),
        returns=DATE,
        sql=_end_of_month_sql,
        sentence="The last day of the date's month, or of the month so many months later.",
        example=Example('EOMONTH(DATE("2026-02-10"))', datetime.date(2026, 2, 28)),
    ),
)
