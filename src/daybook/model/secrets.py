"""Telling secrets from settings, so that none is written into a definition."""

import re
from collections.abc import Iterator
from functools import lru_cache

from daybook.model.node import ListNode, MappingNode, Node, ScalarNode

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
# Texts below these keys are expressions, or names users chose.
_NO_SETTINGS = frozenset({"selectors", "resolver_overrides", "selector", "source_selector", "expression", "on", "when"})

_NAME = re.compile(rf"(?i)(?:{'|'.join(SECRET_WORDS)})s?(?![a-z])")
_REFERENCE = re.compile(r"(?:\w+ )?(?:env|file)://\S+")
# Oracle's own form is jdbc:oracle:thin:user/password@host.
_IN_URL = re.compile(
    r"(?i)://[^/\s:@]*:[^@\s/]+@|jdbc:oracle:\w+:[^/\s@]*/[^@\s]+@|"
    rf"[?&;](?:[\w.-]{{0,40}})(?:{'|'.join(SECRET_WORDS)}|sig)=[^&;\s]+"
)


@lru_cache(maxsize=4096)
def is_secret_name(key: str) -> bool:
    return _NAME.search(key) is not None


def is_reference(value: str) -> bool:
    """`env://NAME` and `file://PATH`, which say where a secret is found."""
    return _REFERENCE.fullmatch(value) is not None


def secrets_in(node: Node, path: tuple[str | int, ...] = ()) -> Iterator[tuple[tuple[str | int, ...], ScalarNode]]:
    """Every scalar that is a secret written out, with its path."""
    match node:
        case MappingNode():
            for key, entry in node.entries.items():
                if key in _NO_SETTINGS:
                    continue
                if (is_secret_name(key) or key == "auth") and key != "credential_ref":
                    yield from _written_out(entry.value, (*path, key))
                else:
                    yield from secrets_in(entry.value, (*path, key))
        case ListNode():
            for index, item in enumerate(node.items):
                yield from secrets_in(item, (*path, index))
        case ScalarNode():
            if ("@" in node.text or "=" in node.text) and _IN_URL.search(node.text):
                yield path, node


def _written_out(node: Node, path: tuple[str | int, ...]) -> Iterator[tuple[tuple[str | int, ...], ScalarNode]]:
    match node:
        case ScalarNode():
            if (
                node.text
                and node.value is not None
                and not isinstance(node.value, bool)
                and not is_reference(node.text)
            ):
                yield path, node
        case MappingNode():
            for key, entry in node.entries.items():
                yield from _written_out(entry.value, (*path, key))
        case ListNode():
            for index, item in enumerate(node.items):
                yield from _written_out(item, (*path, index))
