"""What may stand in a text."""

import re

# Control characters but tab and line ends, and halves of surrogate pairs.
_BAD = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")


def bad_character(text: str) -> re.Match[str] | None:
    """The first character that is invisible and never meant."""
    return _BAD.search(text)


def without_bad_characters(text: str) -> str:
    """The text with a visible stand-in for them, once they are reported."""
    return _BAD.sub("\N{REPLACEMENT CHARACTER}", text)
