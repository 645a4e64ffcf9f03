"""Codes of the append family."""

from daybook.errors.codes.entry import Code, family

CODES: dict[str, Code] = family()
