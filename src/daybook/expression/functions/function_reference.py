"""The reference page of all functions."""

from daybook.expression.functions.function import Function, FunctionParameter
from daybook.expression.functions.function_table import FUNCTION_FAMILIES
from daybook.expression.syntax_tree import MAX_DEPTH, MAX_NODES, MAX_SPARK_DEPTH
from daybook.model.types import Value, value_text

_PAGE_HEAD = f"""# Expressions and functions

An expression computes one value of one row, or of one group of rows in an aggregation. Keywords and function
names may be written in any case; names of columns are case-sensitive. Everything is typed before Spark is involved.

## Names and literals

| written | means |
|---|---|
| `amount` | a column of the working dataset |
| `orders.amount` | the same with the main table's name, or a column of the join with that alias |
| `` `net amount` `` | a name with spaces or signs, or one that is also a keyword; a backtick inside is doubled |
| `period.identifier`, `period.level` | of the run's period, text |
| `period.start_date`, `period.end_date` | first and last day of the run's period, dates |
| `param.threshold` | a [parameter](../howto/names-and-parameters.md) of the project, in its declared type |
| `{{{{NAME}}}}` | the project's selector or [expression](../howto/names-and-parameters.md) of that name |
| `42` | an integer of 64 bits; with more digits than fit, a decimal |
| `3.14` | an exact decimal with the digits written: `decimal(3,2)` |
| `"text"` or `'text'` | a text; the quote is doubled inside, a backslash is a backslash |
| `TRUE`, `FALSE`, `NULL` | |
| `DATE("2026-01-31")` | a date |
| `TIMESTAMP("2026-01-31T23:59:59Z")` | a timestamp; without an offset it is UTC |

## Operators

From the tightest to the loosest; operators of one line are evaluated from the left.

| operator | works on | result |
|---|---|---|
| `-` before a value | numbers | the same type |
| `*` `/` `%` | numbers | integers: integer, `/` decimal; with a float: float; otherwise decimal, see below |
| `+` `-` | numbers | integers: integer; with a float: float; otherwise decimal, see below |
| `=` `<>` `!=` `<` `<=` `>` `>=` | two numbers, texts, dates or timestamps; `=` and `<>` also booleans | boolean |
| `[NOT] IN (…)`, `[NOT] BETWEEN … AND …` | like comparisons | boolean |
| `[NOT] LIKE` | texts; `%` is any text, `_` one character, nothing else is special | boolean |
| `IS [NOT] NULL` | any value | boolean, never NULL |
| `NOT` | booleans | boolean |
| `AND` | booleans | boolean |
| `OR` | booleans | boolean |
| `CASE WHEN … THEN … ELSE … END` | conditions and values | common type of the values; without `ELSE`, NULL |
| `function(…) OVER (a, b ORDER BY c)` | rows of an update: see [windows](../howto/windows.md) | that of the function |

- NULL propagates: an operator or function with a NULL operand gives NULL unless its description says otherwise.
  `FALSE AND NULL` is false and `TRUE OR NULL` is true, as in SQL. A selector that is NULL for a row does not pick it.
- Division and remainder by zero give NULL. The remainder has the sign of the number that is divided.
- An integer result beyond 64 bits fails the run, so does a decimal result beyond 38 digits. Floats follow IEEE 754.
- Texts compare by their characters' code points, upper before lower case. A date does not compare with a timestamp:
  `DATE(timestamp)` and `TIMESTAMP(date)` say what is meant. NaN equals NaN and is above every other float.
- An integer or decimal that meets a float is converted to it first.

## Decimal rules

A decimal has precision p (all digits) and scale s (digits after the point). Below, p1, s1 and p2, s2 are the
operands'. Where an integer meets a decimal, and in `/`, an integer counts as `decimal(20,0)`, an integer written out
with its digits: `2` is `decimal(1,0)`. Precision stops at 38; scale is kept.

| operation | precision | scale |
|---|---|---|
| `+` `-` | max(p1-s1, p2-s2) + s + 1 | s = max(s1, s2) |
| `*` | p1 + p2 + 1 | s1 + s2; over 38 is a compile-time error |
| `/` | w + s, where w = p1 - s1 + s2 | s = max(6, s1 + p2 + 1); see below |
| `%`, `MOD` | min(p1-s1, p2-s2) + s | s = max(s1, s2) |
| `IF`, `CASE`, `COALESCE`, `MIN`, `MAX` | max(p1-s1, p2-s2) + s | s = max(s1, s2) |
| `ROUND(x, n)`, n ≥ 0 | p - s + 1 + min(s, n) | min(s, n) |
| `ROUND(x, n)`, n < 0 | max(p - s + 1, 1 - n) | 0 |
| `FLOOR`, `CEIL` | p - s + 1, or p when s = 0 | 0 |
| `ABS`, `-` before a value, `NULLIF`, `MIN_AGG`, `MAX_AGG` | p | s |
| `SUM` | 38 | s |
| `AVG(x)` | that of `SUM(x) / COUNT(x)` | that of `SUM(x) / COUNT(x)` |
| a new column that is `AVG(x)` alone | p + 4 | s + 4, where that is not over 38 |

In `/`, w and s stop at 38; when w + s is still over 38, s shrinks by (w + s - 38) // 2 + 1 and w becomes 38 - s.
Quotients and averages are rounded half away from zero to their scale, as `ROUND` does. A value assigned to a column
with another scale is rounded the same way; one that does not fit the column fails the run.

## Limits

{MAX_DEPTH} levels deep, {MAX_NODES:,} parts, {MAX_SPARK_DEPTH} arithmetic operators in a row, 38 digits.

## Functions

Arguments in brackets may be left out; … repeats the last one.
"""


def reference_page() -> str:
    """The whole page as Markdown."""
    parts = [_PAGE_HEAD]
    for title, functions in FUNCTION_FAMILIES.items():
        parts.append(f"\n### {title}\n\n| function | result | |\n|---|---|---|\n")
        parts += [_function_row(function) for function in functions]
    return "".join(parts)


def _function_row(function: Function) -> str:
    example = function.example
    over = f" over {', '.join(format_value(value) for value in example.rows)}" if example.rows else ""
    first = " on the first row" if function.is_window else ""
    sentence = f"{function.sentence} `{example.text}`{over} is `{format_value(example.value)}`{first}."
    takes = _parameter_kinds(function)
    return f"| `{function.signature}`{takes} | {describe_result(function)} | {sentence} |\n"


def _parameter_kinds(function: Function) -> str:
    kinds = dict.fromkeys(_describe_parameter(parameter) for parameter in function.parameters)
    return f"<br>{'; '.join(kinds)}" if kinds else ""


def _describe_parameter(parameter: FunctionParameter) -> str:
    kind = parameter.written.expected if parameter.written else parameter.accepts.value
    return f"{parameter.name}: {kind}"


def describe_result(function: Function) -> str:
    return function.result or str(function.returns)


def format_value(value: Value) -> str:
    """A value as it would be written in an expression."""
    match value:
        case bool():
            return "TRUE" if value else "FALSE"
        case str():
            return f'"{value}"'
        case _:
            return value_text(value)
