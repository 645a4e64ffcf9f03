"""Functions that convert values explicitly from one type to another."""

import datetime
import re
from decimal import Decimal

from daybook.expression.functions.function import (
    Arguments,
    Example,
    Function,
    FunctionParameter,
    LiteralRule,
    OperandError,
    ParameterKind,
)
from daybook.expression.quoting import quote_text
from daybook.expression.type_rules import describe_type
from daybook.expression.typed_tree import LiteralValue, TypedNode
from daybook.model.types import DATE, MAX_DIGITS, STRING, ColumnType, DateType, DecimalType, TimestampType

_FORMAT_PART = re.compile(r"yyyy|yy|MM|dd|HH|mm|ss|[-/.:_, ]|T(?=HH)")
_DEFAULT_SCALE = DecimalType().scale

_DATE_FORMAT = "yyyy-MM-dd"
_DATE_PARTS = {"yyyy": "(?!0000)([0-9]{4})", "MM": "([0-9]{2})", "dd": "([0-9]{2})"}


def _is_format(value: object) -> bool:
    return isinstance(value, str) and value != "" and _FORMAT_PART.sub("", value) == ""


def _is_scale(value: object) -> bool:
    return isinstance(value, int) and 0 <= value < MAX_DIGITS


def _formattable(arguments: tuple[TypedNode, ...]) -> TypedNode | None:
    if len(arguments) == 2 and not isinstance(arguments[0].type, DateType | TimestampType):
        raise OperandError(
            "EXPR_020",
            position=0,
            name="TO_STRING with a format",
            expected="a date or timestamp",
            found=describe_type(arguments[0].type),
        )
    if len(arguments) == 2 and isinstance(arguments[0].type, DateType) and isinstance(arguments[1], LiteralValue):
        written = arguments[1].value
        if isinstance(written, str) and re.search("HH|mm|ss", written):
            raise OperandError(
                "EXPR_028", position=1, text=f'"{written}"', problem="a date has no hours, minutes and seconds"
            )
    return None


def _to_string_sql(arguments: Arguments) -> str:
    if len(arguments) == 2:
        written = _format(arguments).replace("T", "'T'")
        return f"DATE_FORMAT({arguments[0].sql}, {quote_text(written)})"
    return arguments[0].sql if arguments[0].type == STRING else f"CAST({arguments[0].sql} AS STRING)"


def _to_number_type(arguments: Arguments) -> ColumnType:
    return DecimalType(MAX_DIGITS, _scale(arguments))


def _to_number_sql(arguments: Arguments) -> str:
    """A plain cast takes exponents and rounds digits away; a text of another form gets a mark that no cast takes."""
    scale = _scale(arguments)
    fraction = f"([.][0-9]{{1,{scale}}})?" if scale else ""
    other_form = quote_text(f"^(?! *[+-]?[0-9]+{fraction} *\\z)")
    return f"CAST(REGEXP_REPLACE({arguments[0].sql}, {other_form}, '?') AS DECIMAL({MAX_DIGITS},{scale}))"


def _scale(arguments: Arguments) -> int:
    scale = arguments[1].literal if len(arguments) == 2 else _DEFAULT_SCALE
    assert isinstance(scale, int)
    return scale


def _to_date_sql(arguments: Arguments) -> str:
    """Uses a cast, which reports the value that failed; TO_DATE of Spark does not. A cast reads only ISO dates."""
    written = _format(arguments) if len(arguments) == 2 else _DATE_FORMAT
    form = "".join(_DATE_PARTS.get(part, re.escape(part)) for part in re.split("(yyyy|MM|dd)", written))
    this_form, other_form = quote_text(f"^{form}\\z"), quote_text(f"^(?!{form}\\z)")
    text = f"REGEXP_REPLACE({arguments[0].sql}, {other_form}, '?')"
    if written != _DATE_FORMAT:
        order = re.findall("yyyy|MM|dd", written)
        turned = "-".join(f"${order.index(part) + 1}" for part in _DATE_PARTS)
        text = f"REGEXP_REPLACE({text}, {this_form}, {quote_text(turned)})"
    return f"CAST({text} AS DATE)"


def _format(arguments: Arguments) -> str:
    written = arguments[1].literal
    assert isinstance(written, str)
    return written


def _is_date_format(value: object) -> bool:
    return _is_format(value) and sorted(re.findall("yyyy|[A-Za-z]{2}|T", str(value))) == sorted(_DATE_PARTS)


FUNCTIONS = (
    Function(
        name="TO_STRING",
        parameters=(
            FunctionParameter("value", ParameterKind.ANY),
            FunctionParameter(
                "format",
                ParameterKind.TEXT,
                is_optional=True,
                written=LiteralRule("a format of yyyy, yy, MM, dd, HH, mm, ss and separators, written out", _is_format),
            ),
        ),
        returns=STRING,
        sql=_to_string_sql,
        rewrite=_formattable,
        sentence=(
            "The value as text: decimals with all places of their type, dates as 2026-01-31, timestamps as "
            "2026-01-31 23:59:59 (fractions of a second without trailing zeros), booleans as true and false, "
            "floats as 2.5 or 1.0E8; "
            "dates and timestamps also in a format."
        ),
        example=Example('TO_STRING(DATE("2026-01-31"), "yyyy-MM")', "2026-01"),
    ),
    Function(
        name="TO_NUMBER",
        parameters=(
            FunctionParameter("text", ParameterKind.TEXT),
            FunctionParameter(
                "places",
                ParameterKind.INTEGER,
                is_optional=True,
                written=LiteralRule("a whole number from 0 to 37, written out", _is_scale),
            ),
        ),
        returns=_to_number_type,
        result="decimal(38,places), decimal(38,10) without places",
        sql=_to_number_sql,
        sentence=(
            "The number in a text: an optional sign, digits, optionally a point and digits, spaces around it; "
            "anything else, more digits after the point than places, or too many before it fails the run."
        ),
        example=Example('TO_NUMBER("-12.50", 2)', Decimal("-12.50")),
    ),
    Function(
        name="TO_DATE",
        parameters=(
            FunctionParameter("text", ParameterKind.TEXT),
            FunctionParameter(
                "format",
                ParameterKind.TEXT,
                is_optional=True,
                written=LiteralRule("a format with yyyy, MM and dd once each, written out", _is_date_format),
            ),
        ),
        returns=DATE,
        sql=_to_date_sql,
        sentence="The date in a text, as 2026-01-31 or in a format; a text that is not such a date fails the run.",
        example=Example('TO_DATE("31.01.2026", "dd.MM.yyyy")', datetime.date(2026, 1, 31)),
    ),
)
