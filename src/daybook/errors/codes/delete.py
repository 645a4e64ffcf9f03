"""Codes of the delete family."""

from daybook.errors.codes.entry import Code, family

CODES: dict[str, Code] = family()
