"""The functions a rule's `when` may use, with the results Spark would give."""

import calendar as civil
import datetime
from collections.abc import Callable, Mapping
from decimal import Decimal

from daybook.errors import DaybookError
from daybook.expression.quoting import Value

Evaluation = Callable[..., Value]


def compare(operator: str, left: Value, right: Value) -> bool | None:
    """A comparison; NULL on either side gives NULL. Texts are ordered by their characters' code points."""
    match left, right:
        case (None, _) | (_, None):
            return None
        case str(), str():
            order = (left > right) - (left < right)
        case datetime.date(), datetime.date():
            order = (left > right) - (left < right)
        case (int() | Decimal(), int() | Decimal()):
            order = (left > right) - (left < right)
        case _:
            raise TypeError(f"{left!r} and {right!r} do not compare")
    match operator:
        case "=":
            return order == 0
        case "<>":
            return order != 0
        case "<":
            return order < 0
        case "<=":
            return order <= 0
        case ">":
            return order > 0
        case _:
            return order >= 0


def conjunction(*values: Value) -> bool | None:
    if any(value is False for value in values):
        return False
    return None if any(value is None for value in values) else True


def disjunction(*values: Value) -> bool | None:
    if any(value is True for value in values):
        return True
    return None if any(value is None for value in values) else False


def remainder(left: int, right: int) -> int | None:
    """With the sign of the left side, as in SQL; NULL where the right side is zero."""
    if right == 0:
        return None
    return abs(left) % abs(right) * (-1 if left < 0 else 1)


def like(text: Value, pattern: Value) -> bool | None:
    """`%` is any text, `_` any character, nothing else is special."""
    if not isinstance(text, str) or not isinstance(pattern, str):
        return None
    at, wanted, retry = 0, 0, None
    while at < len(text):
        if wanted < len(pattern) and pattern[wanted] == "%":
            retry = (at, wanted)
            wanted += 1
        elif wanted < len(pattern) and pattern[wanted] in ("_", text[at]):
            at, wanted = at + 1, wanted + 1
        elif retry is not None:
            # The last % takes one character more; earlier ones never have to.
            retry = (retry[0] + 1, retry[1])
            at, wanted = retry[0], retry[1] + 1
        else:
            return False
    return not pattern[wanted:].strip("%")


def _strict(evaluate: Evaluation) -> Evaluation:
    """NULL for a NULL argument."""

    def evaluated(*values: Value) -> Value:
        return None if any(value is None for value in values) else evaluate(*values)

    return evaluated


def _substring(text: str, start: int, length: int | None = None) -> str:
    begin = start - 1 if start > 0 else len(text) + start if start < 0 else 0
    end = len(text) if length is None else begin + length
    return text[max(begin, 0) : max(end, 0)]


def _moved(day: datetime.date, days: int) -> datetime.date:
    try:
        return day + datetime.timedelta(days=days)
    except OverflowError:
        raise DaybookError("RESOLVE_049", operator="DATEADD", left=day, right=days) from None


def _end_of_month(day: datetime.date, months: int = 0) -> datetime.date:
    year, month = divmod(day.year * 12 + day.month - 1 + months, 12)
    if not datetime.MINYEAR <= year <= datetime.MAXYEAR:
        raise DaybookError("RESOLVE_049", operator="EOMONTH", left=day, right=months)
    return datetime.date(year, month + 1, civil.monthrange(year, month + 1)[1])


def _replace(text: str, part: str, by: str) -> str:
    return text.replace(part, by) if part else text


FUNCTIONS: Mapping[str, Evaluation] = {
    "IF": lambda condition, then, otherwise: then if condition is True else otherwise,
    "AND": conjunction,
    "OR": disjunction,
    "NOT": _strict(lambda condition: not condition),
    "ISNULL": lambda value: value is None,
    "COALESCE": lambda *values: next((value for value in values if value is not None), None),
    "NULLIF": lambda value, other: None if value is not None and value == other else value,
    "CONCAT": _strict(lambda *texts: "".join(texts)),
    "UPPER": _strict(str.upper),
    "LOWER": _strict(str.lower),
    "TRIM": _strict(lambda text: text.strip(" ")),
    "LEFT": _strict(lambda text, length: text[: max(length, 0)]),
    "RIGHT": _strict(lambda text, length: text[-length:] if length > 0 else ""),
    "SUBSTRING": _strict(_substring),
    "LEN": _strict(len),
    "CONTAINS": _strict(lambda text, part: part in text),
    "STARTS_WITH": _strict(str.startswith),
    "ENDS_WITH": _strict(str.endswith),
    "REPLACE": _strict(_replace),
    "YEAR": _strict(lambda day: day.year),
    "QUARTER": _strict(lambda day: (day.month + 2) // 3),
    "MONTH": _strict(lambda day: day.month),
    "DAY": _strict(lambda day: day.day),
    "DATEDIFF": _strict(lambda end, start: (end - start).days),
    "DATEADD": _strict(_moved),
    "EOMONTH": _strict(_end_of_month),
}
