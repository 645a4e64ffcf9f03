"""Texts shown to users, with what looks like a secret made unreadable."""

import re

from daybook.model.secrets import SECRET_WORDS

_WORD = "|".join((*SECRET_WORDS, r"(?<![a-z])auth(?![a-z])"))
# One of these stands in every text that has something to mask; looking for them is ten times faster.
_TELLING = ("pass", "pwd", "secret", "token", "auth", "credential", "sig=")
_KEYS = ("api", "access", "private", "account", "shared")
# A key that names a secret, in block style, flow style or a URL, with the value up to where it ends.
_PAIR = re.compile(
    rf"(?i)(?<![\w.-])(?P<lead>[\"']?[\w.-]{{0,60}}(?:{_WORD}|(?<=[?&;])sig)[\w-]{{0,60}}(?:[\"']?[ \t]*:[ \t]*|=))"
    r"(?P<value>\"(?:[^\"\\\n]|\\.)*\"?|'[^'\n]*'?|[^\s,}#][^,}\n]*)"
)
_URL = re.compile(r"(?P<lead>://[^/\s:@'\"]*:|(?i:jdbc:oracle:)\w+:[^/\s@'\"]*/)(?P<value>[^@\s/'\"]+)(?=@)")
_REFERENCE = re.compile(r"[\"']?(?:\w+ )?(env|file)://")


def mask(text: str) -> str:
    """The same text, character for character in the same places, with secrets replaced by stars."""
    folded = text.lower()
    if "@" in folded and ("://" in folded or "jdbc:" in folded):
        text = _URL.sub(_stars, text)
    if any(part in folded for part in _TELLING) or ("key" in folded and any(part in folded for part in _KEYS)):
        text = _PAIR.sub(_stars, text)
    return text


def mask_range(text: str, start: int, end: int) -> str:
    """The text with one range made unreadable; line ends stay, so that lines keep their numbers."""
    stars = "".join(character if character in "\r\n" else "*" for character in text[start:end])
    return text[:start] + stars + text[end:]


def _stars(match: re.Match[str]) -> str:
    value = match["value"]
    return match[0] if _REFERENCE.match(value) else match["lead"] + "*" * len(value)
