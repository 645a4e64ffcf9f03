"""Functions on texts; positions and lengths count characters."""

from collections.abc import Callable


def left(text: str, count: int) -> str:
    return text[: max(count, 0)]


def right(text: str, count: int) -> str:
    return text[max(len(text) - count, 0) :] if count > 0 else ""


def substring(text: str, start: int, length: int = 2**63) -> str:
    """`start` counts from 1, or from the end when it is negative; what lies before the text has no characters."""
    begin = start - 1 if start > 0 else len(text) + start if start < 0 else 0
    end = begin + length
    return text[max(begin, 0) : max(end, 0)] if length > 0 else ""


def replace(text: str, search: str, replacement: str) -> str:
    return text.replace(search, replacement) if search else text


def padding(fill: str, count: int) -> str:
    return (fill * (count // len(fill) + 1))[:count] if fill and count > 0 else ""


def lpad(text: str, length: int, fill: str = " ") -> str:
    return padding(fill, length - len(text)) + left(text, length)


def rpad(text: str, length: int, fill: str = " ") -> str:
    return left(text, length) + padding(fill, length - len(text))


def trim(text: str) -> str:
    return text.strip(" ")


TEXT_FUNCTIONS: dict[str, Callable[..., str]] = {
    "UPPER": str.upper,
    "LOWER": str.lower,
    "TRIM": trim,
    "LEFT": left,
    "RIGHT": right,
    "SUBSTRING": substring,
    "REPLACE": replace,
    "LPAD": lpad,
    "RPAD": rpad,
}
