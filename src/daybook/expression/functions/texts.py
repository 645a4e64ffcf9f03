"""Functions for texts; positions and lengths count characters (Unicode code points), the first is 1."""

from daybook.expression.functions.function import (
    Arguments,
    Example,
    Function,
    FunctionParameter,
    LiteralRule,
    ParameterKind,
    as_int32_sql,
)
from daybook.model.types import BOOLEAN, INTEGER, STRING

_TEXT = FunctionParameter("text", ParameterKind.TEXT)
_LENGTH = FunctionParameter("length", ParameterKind.INTEGER, repeats=3)
_LONGEST_PADDING = 10_000


def _left_sql(arguments: Arguments) -> str:
    return f"LEFT({arguments[0].sql}, {as_int32_sql(arguments[1])})"


def _right_sql(arguments: Arguments) -> str:
    """Spark's own RIGHT evaluates its text twice, which doubles with every nesting."""
    text, length = arguments
    if isinstance(length.literal, int) and length.literal > 0:
        return f"SUBSTRING({text.sql}, -{as_int32_sql(length)})"
    return f"REVERSE(LEFT(REVERSE({text.sql}), {as_int32_sql(length)}))"


def _substring_sql(arguments: Arguments) -> str:
    text, *numbers = arguments
    return f"SUBSTRING({', '.join([text.sql, *map(as_int32_sql, numbers)])})"


def _pad_sql(function: str, arguments: Arguments) -> str:
    text, length, *padding = arguments
    return f"{function}({', '.join([text.sql, as_int32_sql(length), *(part.sql for part in padding)])})"


def _is_padding(value: object) -> bool:
    return isinstance(value, int) and 0 <= value <= _LONGEST_PADDING


_PADDING = (
    _TEXT,
    FunctionParameter(
        "length",
        ParameterKind.INTEGER,
        written=LiteralRule(f"a whole number from 0 to {_LONGEST_PADDING:,}, written out", _is_padding),
    ),
    FunctionParameter("padding", ParameterKind.TEXT, is_optional=True),
)

FUNCTIONS = (
    Function(
        name="CONCAT",
        parameters=(_TEXT, FunctionParameter("text", ParameterKind.TEXT, is_repeated=True)),
        returns=STRING,
        sql=lambda arguments: f"CONCAT({', '.join(argument.sql for argument in arguments)})",
        sentence="The texts one after the other; NULL if one of them is NULL.",
        example=Example('CONCAT("EM", "EA")', "EMEA"),
    ),
    Function(
        name="UPPER",
        parameters=(_TEXT,),
        returns=STRING,
        sql="UPPER({0})",
        sentence="The text in upper case.",
        example=Example('UPPER("emea")', "EMEA"),
    ),
    Function(
        name="LOWER",
        parameters=(_TEXT,),
        returns=STRING,
        sql="LOWER({0})",
        sentence="The text in lower case.",
        example=Example('LOWER("EMEA")', "emea"),
    ),
    Function(
        name="TRIM",
        parameters=(_TEXT,),
        returns=STRING,
        sql="TRIM({0})",
        sentence="The text without spaces at both ends; other white space stays.",
        example=Example('TRIM("  EMEA ")', "EMEA"),
    ),
    Function(
        name="LEFT",
        parameters=(_TEXT, _LENGTH),
        returns=STRING,
        sql=_left_sql,
        sentence="The first characters of the text; an empty text when the length is below 1.",
        example=Example('LEFT("2026-01", 4)', "2026"),
    ),
    Function(
        name="RIGHT",
        parameters=(_TEXT, _LENGTH),
        returns=STRING,
        sql=_right_sql,
        sentence="The last characters of the text; an empty text when the length is below 1.",
        example=Example('RIGHT("2026-01", 2)', "01"),
    ),
    Function(
        name="SUBSTRING",
        parameters=(
            _TEXT,
            FunctionParameter("start", ParameterKind.INTEGER, repeats=3),
            FunctionParameter("length", ParameterKind.INTEGER, is_optional=True, repeats=3),
        ),
        returns=STRING,
        sql=_substring_sql,
        sentence=(
            "The part of the text from a start (1 is the first character, 0 means 1, -1 is the last) with a length, "
            "or to the end; positions before the first character count for the length but give no characters."
        ),
        example=Example('SUBSTRING("2026-01", 6, 2)', "01"),
    ),
    Function(
        name="LEN",
        parameters=(_TEXT,),
        returns=INTEGER,
        sql="CAST(CHAR_LENGTH({0}) AS BIGINT)",
        sentence="The number of characters of the text.",
        example=Example('LEN("EMEA")', 4),
    ),
    Function(
        name="CONTAINS",
        parameters=(_TEXT, FunctionParameter("part", ParameterKind.TEXT)),
        returns=BOOLEAN,
        sql="CONTAINS({0}, {1})",
        sentence="True where the text contains the part, with exactly this case.",
        example=Example('CONTAINS("EMEA", "ME")', True),
    ),
    Function(
        name="STARTS_WITH",
        parameters=(_TEXT, FunctionParameter("part", ParameterKind.TEXT)),
        returns=BOOLEAN,
        sql="STARTSWITH({0}, {1})",
        sentence="True where the text begins with the part.",
        example=Example('STARTS_WITH("EMEA", "EM")', True),
    ),
    Function(
        name="ENDS_WITH",
        parameters=(_TEXT, FunctionParameter("part", ParameterKind.TEXT)),
        returns=BOOLEAN,
        sql="ENDSWITH({0}, {1})",
        sentence="True where the text ends with the part.",
        example=Example('ENDS_WITH("EMEA", "EA")', True),
    ),
    Function(
        name="REPLACE",
        parameters=(_TEXT, FunctionParameter("part", ParameterKind.TEXT), FunctionParameter("by", ParameterKind.TEXT)),
        returns=STRING,
        sql="REPLACE({0}, {1}, {2})",
        sentence="The text with every occurrence of a part replaced; an empty part replaces nothing.",
        example=Example('REPLACE("2026-01", "-", "/")', "2026/01"),
    ),
    Function(
        name="LPAD",
        parameters=_PADDING,
        returns=STRING,
        sql=lambda arguments: _pad_sql("LPAD", arguments),
        sentence=(
            "The text filled up on the left to a length with a padding, a space if left out; "
            "a longer text is cut to its first characters."
        ),
        example=Example('LPAD("7", 3, "0")', "007"),
    ),
    Function(
        name="RPAD",
        parameters=_PADDING,
        returns=STRING,
        sql=lambda arguments: _pad_sql("RPAD", arguments),
        sentence=(
            "The text filled up on the right to a length with a padding, a space if left out; "
            "a longer text is cut to its first characters."
        ),
        example=Example('RPAD("7", 3, ".")', "7.."),
    ),
)
