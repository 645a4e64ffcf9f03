"""Spark's readers take paths for patterns; its writers do not."""

import re

_SPECIAL = re.compile(r"([\\{}\[\]*?])")


def literal(path: str) -> str:
    """The pattern that only this path fits."""
    return _SPECIAL.sub(r"\\\1", path)
