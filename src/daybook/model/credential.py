"""Secrets, named by reference: read where they are used, never kept, never shown."""

import os
import re
from pathlib import Path

from daybook.errors import DaybookError

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_MAX_BYTES = 64 * 1024


def read_credential(reference: str, root: Path) -> str:
    """The secret behind `env://NAME` or `file://PATH`, the path absolute or relative to the workspace.

    One line break at the end of a file is not part of the secret.
    """
    scheme, separator, rest = reference.partition("://")
    if not separator or scheme not in ("env", "file") or not rest:
        # What stands here may be the secret itself, so the message does not show it.
        raise DaybookError("RESOLVE_080")
    secret = _from_variable(rest) if scheme == "env" else _from_file(rest, root)
    if not secret:
        raise DaybookError("RESOLVE_081", reference=reference, problem="it is empty")
    if "\0" in secret:
        raise DaybookError("RESOLVE_081", reference=reference, problem="it has a NUL character")
    return secret


def _from_variable(name: str) -> str:
    if not _VARIABLE.fullmatch(name):
        raise DaybookError("RESOLVE_080")
    if (value := os.environ.get(name)) is None:
        raise DaybookError("RESOLVE_081", reference=f"env://{name}", problem="the environment variable is not set")
    return value


def _from_file(path: str, root: Path) -> str:
    reference = f"file://{path}"
    try:
        with (root / path).open("rb") as file:
            content = file.read(_MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else "the path is not valid"
        raise DaybookError("RESOLVE_081", reference=reference, problem=reason) from None
    if len(content) > _MAX_BYTES:
        raise DaybookError("RESOLVE_081", reference=reference, problem="the file has more than 64 KiB")
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        raise DaybookError("RESOLVE_081", reference=reference, problem="the file is not UTF-8 text") from None
    return text.removesuffix("\n").removesuffix("\r")
