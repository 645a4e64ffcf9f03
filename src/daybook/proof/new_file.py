"""Files that are written once and never replaced: keys, certificates, proofs."""

import os
import tempfile
from pathlib import Path

from daybook.errors import DaybookError


def check_new(path: Path) -> None:
    """The same errors before the work for the file begins; its folder is created."""
    if os.path.lexists(path):
        raise DaybookError("PROOF_003", file=str(path))
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path.parent):
            pass
    except OSError as failure:
        raise DaybookError("PROOF_018", file=str(path), reason=failure.strerror or str(failure)) from None


def write_new(path: Path, text: str) -> None:
    """Write a file; PROOF_003 where it exists, PROOF_018 where it cannot be written."""
    try:
        with path.open("x", encoding="utf-8") as stream:
            stream.write(text)
    except FileExistsError:
        raise DaybookError("PROOF_003", file=str(path)) from None
    except OSError as failure:
        raise DaybookError("PROOF_018", file=str(path), reason=failure.strerror or str(failure)) from None
