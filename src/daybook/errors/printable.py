"""Text of data, files and foreign programs for people: what steers a terminal or hides text is written as an escape."""

import re
from unicodedata import category

# Controls, formats such as changes of direction, halves of characters, and separators of lines and paragraphs.
_ESCAPED_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
# Joiners belong to the spelling of words in several languages.
_KEPT = frozenset("\n\t\u200c\u200d")
_BLANKS = re.compile(r"[\n\r\t]+")


def printable(text: str) -> str:
    """The text on its lines, without characters that a terminal would obey."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(_escape(character) if _is_escaped(character) else character for character in text)


def one_line(text: str) -> str:
    """The text on one line."""
    return printable(_BLANKS.sub(" ", text))


def escape_json(text: str) -> str:
    """JSON text whose strings have escapes for the same characters; it means what it meant."""
    if text.isascii():
        return text.replace("\x7f", "\\u007f")
    return "".join(_json_escape(character) if _is_escaped(character) else character for character in text)


def _is_escaped(character: str) -> bool:
    return category(character) in _ESCAPED_CATEGORIES and character not in _KEPT


def _escape(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")


def _json_escape(character: str) -> str:
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[index] << 8 | units[index + 1]:04x}" for index in range(0, len(units), 2))
