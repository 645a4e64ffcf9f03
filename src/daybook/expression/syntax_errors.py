"""Hints for syntax errors: habits from other languages and word processors, each with its correction."""

import re
from collections.abc import Iterable

from daybook.errors import DaybookError, Span

# ruff: noqa: RUF001 - look-alike characters are recognised here on purpose

# A sign of another language and how the same thing is written here.
_FOREIGN_SIGNS: dict[str, str] = {
    "==": "write = for equality",
    "=>": "write >=",
    "=<": "write <=",
    "&&": "write AND",
    "||": "write OR for conditions, CONCAT(a, b) for texts",
    "**": "write POWER(a, b)",
    "--": "there are no comments; write a - -b with a space to subtract a negative value",
    "/*": "there are no comments",
    "!": "write NOT for negation, <> for inequality",
    "&": "write AND for conditions, CONCAT(a, b) for texts",
    "|": "write OR",
    "^": "write POWER(a, b)",
    "~": "write NOT",
    "?": "write IF(condition, then, else)",
    "::": "TO_STRING, TO_NUMBER and TO_DATE convert",
    ":": "write IF(condition, then, else)",
    ";": "an expression needs no semicolon; remove it",
    "$": "write the column's name alone",
    "#": "there are no comments",
    "@": "write the column's name alone",
    "\\": "a backslash is only allowed inside a text",
    "[": "write a list in parentheses; a name with spaces is written in backticks: `net amount`",
    "]": "write a list in parentheses; a name with spaces is written in backticks: `net amount`",
    "{": "a named selector or expression is written {{NAME}}",
    "}": "a named selector or expression is written {{NAME}}",
    ".": "write the digit before the point: 0.5",
    "“": 'replace the smart quotes with straight ones: "text"',
    "”": 'replace the smart quotes with straight ones: "text"',
    "„": 'replace the smart quotes with straight ones: "text"',
    "«": 'replace the smart quotes with straight ones: "text"',
    "»": 'replace the smart quotes with straight ones: "text"',
    "‘": "replace the smart quotes with straight ones: 'text'",
    "’": "replace the smart quotes with straight ones: 'text'",
    "‚": "replace the smart quotes with straight ones: 'text'",
    "´": "replace it with a straight quote: 'text'",
    "≤": "write <=",
    "≥": "write >=",
    "≠": "write <>",
    "×": "write *",
    "÷": "write /",
    "·": "write *",
    "−": "write - (the hyphen on the keyboard)",
    "–": "write - (the hyphen on the keyboard)",
    "—": "write - (the hyphen on the keyboard)",
    "\u00a0": "replace the no-break space with an ordinary space",
    "\u200b": "remove the invisible character",
    "\ufeff": "remove the invisible character",
}
_OUTSIDE_QUOTES = re.compile(r"\{\{[^{}]*\}\}|\"[^\"]*\"|'[^']*'|`[^`]*`|(?P<sign>==|=>|=<|&&|\|\||\*\*|--|/\*|::)")
_QUOTES = {'"': "text", "'": "text", "`": "name"}

_VALUE_TOKENS = frozenset({"NAME", "NUMBER", "TEXT"})
_TOKEN_WORDS = {
    "RPAR": ")",
    "COMMA": ",",
    "LPAR": "(",
    "DOT": ".",
    "NULL": "NULL",
    "AND": "AND",
    "OR": "OR",
    "IN": "IN",
    "NOT": "NOT",
    "BETWEEN": "BETWEEN",
    "LIKE": "LIKE",
    "WHEN": "WHEN",
    "THEN": "THEN",
    "ELSE": "ELSE",
    "END": "END",
}
_OPERATOR_TOKENS = frozenset(
    {"PLUS", "MINUS", "STAR", "SLASH", "PERCENT", "COMPARISON", "IN", "IS", "LIKE", "BETWEEN", "NOT"}
)
_IN_CAST = re.compile(r"\bCAST\s*\([^()]*$", re.IGNORECASE)
_QUERY_WORDS = frozenset({"SELECT", "FROM", "WHERE", "UNION", "JOIN", "EXISTS", "AS"})
# Words of SQL's windows that ours do without.
_WINDOW_HINTS = {
    "OVER": "write a function before OVER and the group columns in parentheses after it: SUM(x) OVER (a, b)",
    "PARTITION": "write the group columns without PARTITION BY: OVER (a, b ORDER BY d)",
    "ORDER": "write ORDER BY",
    "ORDER BY": "remove the comma before ORDER BY: OVER (a, b ORDER BY d)",
    "NULLS": "NULLs always come last",
    **dict.fromkeys(
        ("ROWS", "RANGE", "GROUPS"), "with ORDER BY, a window always goes from the first row to the current row"
    ),
}


def find_foreign_sign(text: str, source: Span) -> DaybookError | None:
    """A sign of another language that our own signs could be mistaken for, such as `==` or a `--` comment."""
    for match in _OUTSIDE_QUOTES.finditer(text):
        if sign := match["sign"]:
            return _foreign_sign_error(sign, match.start(), source)
    return None


def explain_character(text: str, position: int, source: Span) -> DaybookError:
    """A character that begins no word of the language."""
    character = text[position]
    if what := _QUOTES.get(character):
        span = source.within(position, len(text))
        hint = f"close it with {character}; inside, double the quote: {character}{character}"
        if not text[position + 1 :].strip():
            hint = f"a {what} has a quote on both sides; the first one may be missing"
        return DaybookError("EXPR_004", span=span, hint=hint, what=what)
    return _foreign_sign_error(character, position, source)


def explain_token(text: str, token: object, expected: Iterable[str], source: Span) -> DaybookError:
    """A word in a place where the grammar has no use for it."""
    expected_tokens = set(expected)
    kind, start, end = (
        str(getattr(token, "type", "")),
        getattr(token, "start_pos", None),
        getattr(token, "end_pos", None),
    )
    if kind == "$END" or start is None or end is None:
        end_of_text = len(text.rstrip())
        hint = "close the parenthesis" if text.count("(") > text.count(")") and "RPAR" in expected_tokens else None
        return DaybookError(
            "EXPR_002",
            span=source.within(end_of_text, end_of_text + 1),
            hint=hint,
            expected=_describe_expected(expected_tokens),
        )
    word = text[start:end]
    return DaybookError(
        "EXPR_001",
        span=source.within(start, end),
        hint=_hint_for_word(kind, word, text[:start], expected_tokens),
        found=_printable(word),
        expected=_describe_expected(expected_tokens),
    )


def _hint_for_word(kind: str, word: str, before: str, expected: set[str]) -> str | None:
    previous = before.split()[-1].upper() if before.split() else ""
    if _IN_CAST.search(before):
        return "values are converted by TO_STRING, TO_NUMBER and TO_DATE"
    if previous.endswith("(DISTINCT"):
        return "DISTINCT is not supported; aggregate by the column first, then count the summary rows"
    window_word = previous.lstrip("(") if expected & {"OVER", "RPAR"} else ""
    if hint := _WINDOW_HINTS.get(word.upper()) or _WINDOW_HINTS.get(window_word):
        return hint
    if word.upper() in _QUERY_WORDS or previous in _QUERY_WORDS:
        return "an expression is not a query; it computes one value of one row"
    if previous == "IN" or (previous in {"AND", "OR"} and expected == {"LPAR"}):
        return (
            "write a list in parentheses: IN (1, 2)"
            if previous == "IN"
            else f"{previous} must be between two conditions"
        )
    match kind:
        case "DOT" if expected & _VALUE_TOKENS:
            return _FOREIGN_SIGNS["."]
        case "NAME" if before.endswith(("'", '"')):
            return "double the quote inside a text, or use the other kind of quote around it"
        case "COMPARISON" if "AND" in expected:
            return "join two comparisons with AND: a < b AND b < c"
        case "TEXT" if before.rstrip().endswith(("'", '"')):
            return "double the quote inside a text, or use the other kind of quote around it"
        case "RPAR" if "RPAR" not in expected and not expected & _VALUE_TOKENS:
            return "remove the parenthesis, or open one before it"
        case "WHEN" | "THEN" | "ELSE" | "END" | "CASE":
            return f"to use a column named {word}, put it in backticks: `{word}`; CASE is CASE WHEN … THEN … ELSE … END"
        case "AND" | "OR" | "IN" | "LIKE" | "BETWEEN" | "IS" if expected & _VALUE_TOKENS and not before.strip():
            return f"to use a column named {word}, put it in backticks: `{word}`"
        case "COMPARISON" if before.rstrip().endswith(("<", ">", "=", "!")):
            return "comparisons are = <> < <= > >="
        case "NAME" if previous == "CASE":
            return "write CASE WHEN condition THEN value … ELSE value END"
        case "NAME" | "NUMBER" | "TEXT" if previous == "IS" or previous == "NOT":
            return "IS goes with NULL only: IS NULL, IS NOT NULL; otherwise write = or <>"
        case "NAME" | "NUMBER" | "TEXT" if not expected & _VALUE_TOKENS:
            return "an operator or a comma is missing before it, or a name with spaces lacks its backticks"
    return None


def _foreign_sign_error(sign: str, position: int, source: Span) -> DaybookError:
    span = source.within(position, position + len(sign))
    return DaybookError("EXPR_003", span=span, hint=_FOREIGN_SIGNS.get(sign), found=_printable(sign))


def _printable(word: str) -> str:
    if len(word) == 1 and not word.isprintable():
        return f"the character U+{ord(word):04X}"
    printable = "".join(character if character.isprintable() else "�" for character in word)
    return printable if len(printable) <= 50 else f"{printable[:40]}…"


def _describe_expected(expected: set[str]) -> str:
    """The expected words in a user's terms: `a value`, `an operator`, and what is left of them by name."""
    if expected & _VALUE_TOKENS == _VALUE_TOKENS:
        return "a value, or )" if "RPAR" in expected else "a value"
    if expected <= {"NAME", "QUOTED_NAME"}:
        return "a column's name"
    parts = ["an operator"] if expected & {"PLUS", "COMPARISON", "OR"} else []
    rest = expected - _OPERATOR_TOKENS if parts else expected
    parts += sorted(
        _TOKEN_WORDS[name]
        for name in rest
        if name in _TOKEN_WORDS and not (parts and name in {"AND", "OR", "LPAR", "DOT"})
    )
    if "$END" in expected:
        parts.append("the end")
    return _join_alternatives(parts)


def _join_alternatives(parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} or {parts[-1]}" if parts else "something else"
