"""Secrets, read where they are used and nowhere kept."""

import os
from pathlib import Path

from daybook.errors import DaybookError


def secret(reference: str | None, workspace: Path) -> str | None:
    """What a `credential_ref` points at; None when there is none."""
    if reference is None:
        return None
    scheme, _, rest = reference.partition("://")
    match scheme:
        case "env":
            if (value := os.environ.get(rest)) is None:
                raise DaybookError("IO_013", reference=reference, reason="the variable is not set")
            return value
        case "file":
            try:
                return (workspace / rest).read_text(encoding="utf-8").rstrip("\r\n")
            except OSError as failure:
                raise DaybookError("IO_013", reference=reference, reason=failure.strerror or str(failure)) from failure
        case _:
            raise DaybookError("IO_013", reference=reference, reason="it begins with neither env:// nor file://")
