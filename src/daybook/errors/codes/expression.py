"""Codes of the expression family."""

from daybook.errors.codes.entry import Code, family

CODES: dict[str, Code] = family()
