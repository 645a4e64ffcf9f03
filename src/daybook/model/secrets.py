"""Secrets: given by reference, read when they are used, never stored or shown.

An address of a store, a database or a service that cannot be taken apart with certainty is shown as its scheme alone.
"""

import os
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from urllib.parse import unquote

from daybook.errors import DaybookError
from daybook.model.source_map import DocumentNode, ListNode, MappingNode, ScalarNode

# The personal token of whoever runs a command.
TOKEN_VARIABLE = "DAYBOOK_TOKEN"

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


# Who has a signed address may read; providers differ in what they call its signature.
_SIGNATURE = "(?:x-(?:amz|goog|ms)-)?sig(?:nature)?"
_SIGNATURE_NAME = re.compile(rf"(?i){_SIGNATURE}")
# An address may pass through two programs that each decode it.
_MAX_DECODINGS = 3


def without_token(environment: Mapping[str, str]) -> dict[str, str]:
    """The environment of a process that outlives a command, or executes code of others: nobody is proven there."""
    return {name: value for name, value in environment.items() if name != TOKEN_VARIABLE}


@lru_cache(maxsize=4096)
def is_secret_name(key: str) -> bool:
    return any(
        _SECRET_NAME.search(spelling) is not None or _SIGNATURE_NAME.fullmatch(spelling) is not None
        for spelling in _spellings(key)
    )


def _spellings(text: str) -> Iterator[str]:
    """A text as it is written, and with its percent codes replaced, again where that gives further ones."""
    yield text
    for _ in range(_MAX_DECODINGS):
        decoded = unquote(text)
        if decoded == text:
            return
        text = decoded
        yield text


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
    if (parts := _ADDRESS.fullmatch(address)) is not None:
        user = f"{parts['user']}@" if parts["user"] else ""
        return f"{parts['scheme']}//{user}{parts['hosts'] or ''}{parts['path']}{_hidden_rest(parts)}"
    beginning = _BEGINNING.match(address)
    return f"{beginning[0] if beginning else ''}{HIDDEN}"


def _hidden_rest(parts: re.Match[str]) -> str:
    rest: str | None = parts["rest"]
    return f"{rest[0]}{HIDDEN}" if rest else ""


def mask_host(host: str) -> str:
    """A host as it is, or nothing of it when it may be more than a host."""
    return host if _HOST_NAME.fullmatch(host) else HIDDEN


# `password=…` wherever a driver accepts a parameter: after ?, & and ;, in Teradata's list, in MySQL's parentheses.
_PARAMETER = r"(?!credential_ref\s*=)[\w.-]{0,60}(?:" + _WORDS + r")[\w.-]{0,60}['\"]?\s*=\s*(?![\s&;,)]|$)"
_SIGNED = rf"{_SIGNATURE}\s*=\s*[^&;\s]"
_SECRET_IN_TEXT = re.compile(rf"(?i)[?&;](?:{_PARAMETER}|{_SIGNED})")
_SECRET_IN_ADDRESS = re.compile(rf"(?i)[?&;,:(/{{\s](?:{_PARAMETER}|sig=[^&;\s])")
_PASSWORD_BEFORE_HOST = re.compile(r"//[^/@:\s]*:[^\s]+@")
# Elsewhere than in databases an @ may well stand in a path: https://host:8080/@me.
_WEB_PASSWORD = re.compile(r"//[^/@:\s]*:[^@\s/]+@")
_ORACLE_PASSWORD = re.compile(r"(?i)jdbc:oracle:\w+:[^@\s]*/.+@")
_WEB_SCHEME = re.compile(r"(?i)(?:https?|s3[an]?|gs|gcs|abfss?|wasbs?|hdfs|file|sc|spark)://")


def has_secret(text: str) -> bool:
    """Whether an address, or a part of one, has a password, token or key written out, in whatever spelling."""
    return any(map(_has_plain_secret, _spellings(text)))


def _has_plain_secret(text: str) -> bool:
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
    return any("@" in spelling or "=" in spelling for spelling in _spellings(host))


# Texts below these keys are expressions, or names users chose.
_IGNORED_KEYS = frozenset(
    {"selectors", "expressions", "resolver_overrides", "selector", "source_selector", "expression", "on", "when"}
)

_SECRET_REFERENCE = re.compile(r"(?:\w+ )?(?:env|file|profile)://\S+")


def is_secret_reference(value: str) -> bool:
    """`env://NAME`, `file://PATH` and `profile://NAME`, which say where a secret is found."""
    return _SECRET_REFERENCE.fullmatch(value) is not None


def find_secrets(
    node: DocumentNode, path: tuple[str | int, ...] = ()
) -> Iterator[tuple[tuple[str | int, ...], ScalarNode]]:
    """Every scalar that is a secret written out, with its path."""
    match node:
        case MappingNode():
            for key, entry in node.entries.items():
                # The columns of an append have names that users chose, too.
                if key in _IGNORED_KEYS or (key == "columns" and isinstance(entry.value, MappingNode)):
                    continue
                if (is_secret_name(key) or key == "auth") and key != "credential_ref":
                    yield from _find_literal_secrets(entry.value, (*path, key))
                else:
                    yield from find_secrets(entry.value, (*path, key))
        case ListNode():
            for index, item in enumerate(node.items):
                yield from find_secrets(item, (*path, index))
        case ScalarNode():
            is_host = bool(path) and path[-1] == "host"
            if has_secret(node.text) or (is_host and host_has_secret(node.text)):
                yield path, node


def _find_literal_secrets(
    node: DocumentNode, path: tuple[str | int, ...]
) -> Iterator[tuple[tuple[str | int, ...], ScalarNode]]:
    match node:
        case ScalarNode():
            if (
                node.text
                and node.value is not None
                and not isinstance(node.value, bool)
                and not is_secret_reference(node.text)
            ):
                yield path, node
        case MappingNode():
            for key, entry in node.entries.items():
                yield from _find_literal_secrets(entry.value, (*path, key))
        case ListNode():
            for index, item in enumerate(node.items):
                yield from _find_literal_secrets(item, (*path, index))


_SECRET_WORD = "|".join((*SECRET_WORDS, r"(?<![a-z])auth(?![a-z])"))
# Every text with something to mask contains one of these; looking for them first is ten times faster.
_SECRET_MARKERS = ("pass", "pwd", "secret", "token", "auth", "credential", "sig=", "signature=")
_KEY_PREFIXES = ("api", "access", "private", "account", "shared")
# A key that names a secret, in block style, flow style or a URL, with the value up to where it ends.
_SECRET_PAIR = re.compile(
    rf"(?i)(?<![\w.-])(?P<lead>[\"']?[\w.-]{{0,60}}(?:{_SECRET_WORD}|(?<=[?&;]){_SIGNATURE})[\w-]{{0,60}}"
    r"(?:[\"']?[ \t]*:[ \t]*|=))"
    r"(?P<value>\"(?:[^\"\\\n]|\\.)*\"?|'[^'\n]*'?|[^\s,}#][^,}\n]*)"
)
# An address up to the end of its line: where it ends within the line depends on its driver.
_SECRET_ADDRESS = re.compile(
    r"(?i)(?P<lead>\bjdbc:[a-z0-9+.-]+:|\b(?!env:|file:)[a-z][a-z0-9+.-]*://)(?P<value>[^\r\n]*)"
)
_QUOTED_REFERENCE = re.compile(r"[\"']?(?:\w+ )?(env|file|profile)://")


# A word with percent codes, which may spell what the patterns for plain text do not see.
_ENCODED_WORD = re.compile(r"[^\s\"'%]*%[0-9A-Fa-f]{2}[^\s\"']*")


def mask_secrets(text: str) -> str:
    """The same text, character for character in the same places, with secrets replaced by stars."""
    folded = text.lower()
    if ("@" in folded or "=" in folded or "%" in folded) and ("://" in folded or "jdbc:" in folded):
        text = _SECRET_ADDRESS.sub(_mask_address_line, text)
    if any(part in folded for part in _SECRET_MARKERS) or (
        "key" in folded and any(part in folded for part in _KEY_PREFIXES)
    ):
        text = _SECRET_PAIR.sub(_replace_by_stars, text)
    return _ENCODED_WORD.sub(_mask_encoded_word, text) if "%" in text else text


def mask_range(text: str, start: int, end: int) -> str:
    """The text with one range made unreadable; line ends stay, so that lines keep their numbers."""
    stars = "".join(character if character in "\r\n" else "*" for character in text[start:end])
    return text[:start] + stars + text[end:]


def _mask_address_line(match: re.Match[str]) -> str:
    return match["lead"] + "*" * len(match["value"]) if has_secret(match[0]) else match[0]


def _mask_encoded_word(match: re.Match[str]) -> str:
    return "*" * len(match[0]) if has_secret(match[0]) else match[0]


def _replace_by_stars(match: re.Match[str]) -> str:
    value = match["value"]
    return match[0] if _QUOTED_REFERENCE.match(value) else match["lead"] + "*" * len(value)


_VARIABLE_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_MAX_SECRET_BYTES = 64 * 1024


def read_credential(reference: str, root: Path) -> str:
    """The secret behind `env://NAME` or `file://PATH`, the path absolute or relative to the workspace.

    One line break at the end of a file is not part of the secret.
    """
    scheme, separator, rest = reference.partition("://")
    if not separator or scheme not in ("env", "file") or not rest:
        # The text here may be the secret itself, so the message does not show it.
        raise DaybookError("RESOLVE_080")
    secret = _read_secret_variable(rest) if scheme == "env" else _read_secret_file(rest, root)
    if not secret:
        raise DaybookError("RESOLVE_081", reference=reference, problem="it is empty")
    if "\0" in secret:
        raise DaybookError("RESOLVE_081", reference=reference, problem="it has a NUL character")
    return secret


def _read_secret_variable(name: str) -> str:
    if not _VARIABLE_NAME.fullmatch(name):
        raise DaybookError("RESOLVE_080")
    if (value := os.environ.get(name)) is None:
        raise DaybookError("RESOLVE_081", reference=f"env://{name}", problem="the environment variable is not set")
    return value


def _read_secret_file(path: str, root: Path) -> str:
    reference = f"file://{path}"
    try:
        with (root / path).open("rb") as file:
            content = file.read(_MAX_SECRET_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else "the path is not valid"
        raise DaybookError("RESOLVE_081", reference=reference, problem=reason) from None
    if len(content) > _MAX_SECRET_BYTES:
        raise DaybookError("RESOLVE_081", reference=reference, problem="the file has more than 64 KiB")
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        raise DaybookError("RESOLVE_081", reference=reference, problem="the file is not UTF-8 text") from None
    return text.removesuffix("\n").removesuffix("\r")
