"""What levels and periods may be called."""

import re

_LEVEL = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")
_IDENTIFIER = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")

# As a data_level: whatever level the run's period has.
ANY_LEVEL = "any"

IDENTIFIER_RULE = "letters, digits, - _ and single dots, at most 64"


def is_level_name(text: str) -> bool:
    return _LEVEL.fullmatch(text) is not None and text != ANY_LEVEL


def is_identifier(text: str) -> bool:
    """Identifiers stand in paths and in ranges such as `2026-01..2026-12`."""
    return _IDENTIFIER.fullmatch(text) is not None and ".." not in text and not text.endswith(".")
