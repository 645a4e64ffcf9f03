"""Findings of expressions in the words of the operation they stand in."""

from collections.abc import Callable, Collection, Mapping
from typing import Any

from daybook.errors import DaybookError, Span, flatten

UNKNOWN_NAMES = frozenset({"EXPR_012", "EXPR_013"})
UNKNOWN_SELECTOR = "EXPR_050"

# The code and parameters an expression's finding gets; None when it only repeats another finding.
Translate = Callable[[DaybookError], tuple[str, Mapping[str, Any]] | None]


def translator(
    code: str,
    *,
    unknown: str | None = None,
    selector: str | None = None,
    ignore: Collection[str] = (),
    **parameters: Any,
) -> Translate:
    """Chooses an operation's code: one for unknown names, one for unknown selectors, `code` for everything else.

    `ignore` are aliases whose dataset was not found, which has been reported already.
    """

    def translate(found: DaybookError) -> tuple[str, Mapping[str, Any]] | None:
        name = found.parameters.get("name")
        if found.code in UNKNOWN_NAMES and str(name).partition(".")[0] in ignore:
            return None
        if unknown and found.code in UNKNOWN_NAMES:
            return unknown, {"name": found.parameters.get("column", name)}
        if selector and found.code == UNKNOWN_SELECTOR:
            return selector, {"name": name}
        return code, parameters

    return translate


def translated(error: DaybookError, translate: Translate, *, seq: int, span: Span | None) -> list[DaybookError]:
    """One finding of the operation per finding of the expression, which becomes its cause."""
    findings = []
    for found in flatten(error):
        if chosen := translate(found):
            code, parameters = chosen
            place = found.span or span
            findings.append(DaybookError(code, span=place, operation_seq=seq, causes=(found,), **parameters))
    return findings
