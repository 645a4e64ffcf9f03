"""Locations relative to the workspace: an embedded store in a workspace can be moved with it."""

import json
import os
import re
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

from sqlalchemy import Engine, Text
from sqlalchemy.engine import Dialect
from sqlalchemy.types import TypeDecorator

from daybook.model.serialization import stored_json

# Stands for the folder of the workspace; no path that Daybook writes to has braces.
MARK = "{workspace}"
# Before the path of a database in the identity of its tables.
_DATABASE = "sqlite:"
_PREFIX = f"({_DATABASE})?"
_ATTRIBUTE = "daybook_workspace_root"


@dataclass(frozen=True)
class WorkspaceRoot:
    """The folder of a workspace: `given` as locations are written, `real` with links followed, as identities are."""

    given: str
    real: str

    @classmethod
    def of(cls, root: Path) -> "WorkspaceRoot":
        return cls(os.path.normpath(root.absolute()), os.path.realpath(root))

    def shorten(self, location: str) -> str:
        """`/home/me/close/lake/net` becomes `{workspace}/lake/net`."""
        return self._location.sub(lambda match: f"{match[1] or ''}{MARK}", location)

    def extend(self, kept: str, *, is_identity: bool = False) -> str:
        """The inverse."""
        root = self.real if is_identity else self.given
        return _KEPT_LOCATION.sub(lambda match: f"{match[1] or ''}{root}", kept)

    def shorten_texts(self, document: str) -> str:
        """Every text in a JSON document that begins with the folder; nothing else of the document changes."""
        return self._texts.sub(lambda match: f'"{match[1] or ""}{MARK}', document)

    def extend_texts(self, document: str) -> str:
        """The inverse."""
        root, parts = _as_json(self.given), document.split(MARK)
        # Several times as fast as a pattern, and a close reads thousands of documents.
        return parts[0] + "".join(
            f"{root if _is_kept_text(before, after) else MARK}{after}" for before, after in pairwise(parts)
        )

    @cached_property
    def _location(self) -> re.Pattern[str]:
        return re.compile(f"^{_PREFIX}(?:{_either(self.real, self.given)})(?=/|$)")

    @cached_property
    def _texts(self) -> re.Pattern[str]:
        # A quote after a backslash is inside of a text.
        return re.compile(f'(?<!\\\\)"{_PREFIX}(?:{_either(_as_json(self.real), _as_json(self.given))})(?=["/])')


_KEPT_LOCATION = re.compile(f"^{_PREFIX}{re.escape(MARK)}(?=/|$)")


def _is_kept_text(before: str, after: str) -> bool:
    """Whether the mark between two parts of a JSON document begins a text; a quote after a backslash is inside one."""
    quoted = before.removesuffix(_DATABASE)
    return quoted.endswith('"') and not quoted.endswith('\\"') and after.startswith(('"', "/"))


def _either(*texts: str) -> str:
    return "|".join(re.escape(text) for text in sorted(set(texts), key=len, reverse=True))


def _as_json(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)[1:-1]


def keep_relative(engine: Engine, root: WorkspaceRoot) -> None:
    """From here on what lies below the workspace is kept relative to it."""
    setattr(engine.dialect, _ATTRIBUTE, root)


def _root_of(dialect: Dialect) -> WorkspaceRoot | None:
    root: WorkspaceRoot | None = getattr(dialect, _ATTRIBUTE, None)
    return root


class LocationText(TypeDecorator[str]):
    """A location as it is written."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:
        root = _root_of(dialect)
        return value if value is None or root is None else root.shorten(value)

    def process_result_value(self, value: str | None, dialect: Dialect) -> str | None:
        root = _root_of(dialect)
        return value if value is None or root is None else root.extend(value)


class IdentityText(LocationText):
    """The identity of a table, with links followed."""

    cache_ok = True

    def process_result_value(self, value: str | None, dialect: Dialect) -> str | None:
        root = _root_of(dialect)
        return value if value is None or root is None else root.extend(value, is_identity=True)


class LocatedDocument(TypeDecorator[str]):
    """JSON text with locations in it."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:
        root = _root_of(dialect)
        return value if value is None or root is None else root.shorten_texts(value)

    def process_result_value(self, value: str | None, dialect: Dialect) -> str | None:
        root = _root_of(dialect)
        return value if value is None or root is None else root.extend_texts(value)


class LocatedJson(TypeDecorator[Any]):
    """A value as JSON text with locations in it; None is NULL."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: Dialect) -> str | None:
        text = None if value is None else json.dumps(value, ensure_ascii=False, sort_keys=True)
        root = _root_of(dialect)
        return text if text is None or root is None else root.shorten_texts(text)

    def process_result_value(self, value: str | None, dialect: Dialect) -> Any:
        root = _root_of(dialect)
        text = value if value is None or root is None else root.extend_texts(value)
        return None if text is None else stored_json(text)
