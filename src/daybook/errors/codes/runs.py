"""Codes of the runs family."""

from daybook.errors.codes.entry import Code, family

CODES: dict[str, Code] = family()
