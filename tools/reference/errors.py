"""The page of all codes, from their declarations."""

import re
from collections.abc import Iterator, Mapping

from daybook.errors import FAMILIES
from daybook.errors.codes import Code
from tools.reference.markdown import page

_HEAD = """# Errors

Every message begins with a code. Codes never change: scripts and tests can use them.
The text of messages may change. Words in braces are replaced by names and
values. Below the message are the position (file, line, column, and a caret) and a hint.

All errors of one check are reported together. Warnings also have codes; they do not stop a run. With `--json` each
finding is an object with `code`, `message`, `file`, `line`, `column`, `hint` and `causes`; in Python it is a
[`DaybookError`](api.md#errors)."""

_TITLES = {
    "MODEL": "Files and definitions",
    "EXPR": "Expressions",
    "RESOLVE": "Calendars, periods and places",
    "PROJECT": "Projects",
    "UPDATE": "Update",
    "AGGREGATE": "Aggregate",
    "APPEND": "Append",
    "DELETE": "Delete",
    "CHECK": "Checks",
    "OUTPUT": "Output",
    "IO": "Reading and writing",
    "STORE": "Versions and the store",
    "RUN": "Runs and Spark",
    "WEB": "The page",
    "RECOMPUTE": "The second engine",
    "LOG": "The log",
    "TOTALS": "Measures and control totals",
    "PROOF": "Certificates and proofs",
    "APPROVAL": "Approvals",
}


def errors_page() -> str:
    return page(_lines())


def _lines() -> Iterator[str]:
    yield _HEAD
    for prefix, codes in _by_prefix().items():
        yield f"\n## {_TITLES[prefix]}\n"
        for code in sorted(codes, key=lambda code: code.code):
            yield from _entry(code)


def _entry(code: Code) -> Iterator[str]:
    yield f"### {code.code}\n"
    yield f"**{_literal(code.wording)}**\n"
    yield f"{_literal(code.explanation)}\n"
    if code.advice:
        hint = code.advice[:1].upper() + code.advice[1:]
        yield f"*Way out:* {_literal(hint)}{'' if hint.endswith(('.', '?')) else '.'}\n"


def _by_prefix() -> Mapping[str, list[Code]]:
    found: dict[str, list[Code]] = {prefix: [] for prefix in _TITLES}
    for family in FAMILIES:
        for code in family.values():
            found[code.code.rpartition("_")[0]].append(code)
    return found


def _literal(text: str) -> str:
    """Signs that Markdown would take for itself, outside of code spans."""
    parts = text.split("`")
    return "`".join(re.sub(r"([*_<|])", r"\\\1", part) if index % 2 == 0 else part for index, part in enumerate(parts))
