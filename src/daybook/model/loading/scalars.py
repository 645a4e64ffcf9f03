"""How YAML 1.2's core schema reads a plain scalar, with decimals kept exact."""

import re
from decimal import Decimal

from daybook.model.node import ScalarValue

_WORDS: dict[str, ScalarValue] = {
    "": None,
    "~": None,
    "null": None,
    "Null": None,
    "NULL": None,
    "true": True,
    "True": True,
    "TRUE": True,
    "false": False,
    "False": False,
    "FALSE": False,
}
_INTEGER = re.compile(r"[-+]?[0-9]+")
_OCTAL = re.compile(r"0o[0-7]+")
_HEXADECIMAL = re.compile(r"0x[0-9a-fA-F]+")
_NUMBER = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_NUMBER_START = frozenset("0123456789+-.")

# Longer digit runs are no numbers anyone means here, and Python refuses to convert them.
_LONGEST_NUMBER = 100
_LONGEST_EXPONENT = 8


def resolve(text: str) -> ScalarValue:
    """The value of an unquoted scalar; what is not evidently something else is text."""
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in _NUMBER_START or len(text) > _LONGEST_NUMBER:
        return text
    if _INTEGER.fullmatch(text):
        return int(text)
    if _OCTAL.fullmatch(text):
        return int(text[2:], 8)
    if _HEXADECIMAL.fullmatch(text):
        return int(text[2:], 16)
    if match := _NUMBER.fullmatch(text):
        return Decimal(text) if len(match[3] or "") <= _LONGEST_EXPONENT else text
    return text
