"""Addresses of stores, databases and services: whether one holds a secret, and how it is shown without any.

What cannot be taken apart with certainty is shown as its scheme alone.
"""

import re
from functools import lru_cache

# Parts of names that only secrets have, as patterns; mistyped passwords are passwords too.
SECRET_WORDS = (
    "pass?w[a-z]*",
    "passphrase",
    "(?<![a-z])pass(?![a-z])",
    "pwd",
    "secret",
    "token",
    "authorization",
    "credential",
    r"(?:api|access|private|account|shared)[-_.]?key",
)
_WORDS = "|".join(SECRET_WORDS)
_SECRET_NAME = re.compile(rf"(?i)(?:{_WORDS})s?(?![a-z])")


@lru_cache(maxsize=4096)
def is_secret_name(key: str) -> bool:
    return _SECRET_NAME.search(key) is not None


HIDDEN = "…"

_SCHEME = r"(?:jdbc:)?[A-Za-z][A-Za-z0-9+.-]*:(?:[A-Za-z][A-Za-z0-9+-]*:){0,2}"
_HOST = r"(?:[A-Za-z0-9._%-]+(?:\\[A-Za-z0-9_$-]+)?|\[[0-9A-Fa-f:.%]+\])(?::[0-9]{1,5})?"
# One @ at most, so that it is certain where the password ends; what looks like a port is no password.
_ADDRESS = re.compile(
    rf"(?P<scheme>{_SCHEME})//"
    r"(?:(?P<user>[^:@/?#;,()\s\[\]]*)(?::(?![0-9]+[/?#;])[^@]*)?@)?"
    rf"(?P<hosts>{_HOST}(?:,{_HOST})*)?"
    r"(?P<path>(?:/[A-Za-z0-9._$ ~%+-]*)*)"
    r"(?P<rest>[/?#;:][^@]*)?",
    re.DOTALL,
)
_ORACLE = re.compile(
    rf"(?P<scheme>jdbc:oracle:\w+:)[^@]*@(?P<place>(?://)?{_HOST}(?:[:/][A-Za-z0-9._$-]+){{0,2}})(?P<rest>[?][^@]*)?",
    re.DOTALL,
)
_BEGINNING = re.compile(rf"{_SCHEME}//|jdbc:[A-Za-z][A-Za-z0-9+.-]*:")
_HOST_NAME = re.compile(rf"{_HOST}|[0-9A-Fa-f]*(?::[0-9A-Fa-f.]*){{2,}}|/[A-Za-z0-9._/~-]*")


def mask_address(address: str) -> str:
    """The address without password and parameters; its scheme alone when it cannot be taken apart."""
    if (oracle := _ORACLE.fullmatch(address)) is not None:
        return f"{oracle['scheme']}@{oracle['place']}{_hidden_rest(oracle)}"
    if (found := _ADDRESS.fullmatch(address)) is not None:
        user = f"{found['user']}@" if found["user"] else ""
        return f"{found['scheme']}//{user}{found['hosts'] or ''}{found['path']}{_hidden_rest(found)}"
    beginning = _BEGINNING.match(address)
    return f"{beginning[0] if beginning else ''}{HIDDEN}"


def _hidden_rest(found: re.Match[str]) -> str:
    rest: str | None = found["rest"]
    return f"{rest[0]}{HIDDEN}" if rest else ""


def mask_host(host: str) -> str:
    """A host as it is, or nothing of it when it may be more than a host."""
    return host if _HOST_NAME.fullmatch(host) else HIDDEN


# `password=…` wherever a driver accepts a parameter: after ?, & and ;, in Teradata's list, in MySQL's parentheses.
_PARAMETER = r"(?!credential_ref\s*=)[\w.-]{0,60}(?:" + _WORDS + r")[\w.-]{0,60}['\"]?\s*=\s*(?![\s&;,)]|$)"
_SECRET_IN_TEXT = re.compile(rf"(?i)[?&;](?:{_PARAMETER}|sig=[^&;\s])")
_SECRET_IN_ADDRESS = re.compile(rf"(?i)[?&;,:(/{{\s](?:{_PARAMETER}|sig=[^&;\s])")
_PASSWORD_BEFORE_HOST = re.compile(r"//[^/@:\s]*:[^\s]+@")
# Elsewhere than in databases an @ may well stand in a path: https://host:8080/@me.
_WEB_PASSWORD = re.compile(r"//[^/@:\s]*:[^@\s/]+@")
_ORACLE_PASSWORD = re.compile(r"(?i)jdbc:oracle:\w+:[^@\s]*/.+@")
_WEB_SCHEME = re.compile(r"(?i)(?:https?|s3[an]?|gs|gcs|abfss?|wasbs?|hdfs|file|sc|spark)://")


def has_secret(text: str) -> bool:
    """Whether an address, or a part of one, has a password, token or key written out."""
    if "@" not in text and "=" not in text:
        return False
    if _SECRET_IN_TEXT.search(text) is not None:
        return True
    if not _BEGINNING.match(text):
        return _WEB_PASSWORD.search(text) is not None
    password = _WEB_PASSWORD if _WEB_SCHEME.match(text) else _PASSWORD_BEFORE_HOST
    return any(pattern.search(text) for pattern in (_SECRET_IN_ADDRESS, password, _ORACLE_PASSWORD))


def host_has_secret(host: str) -> bool:
    """Whether a host is more than one: `user:password@host`, or a whole connection string."""
    return "@" in host or "=" in host
