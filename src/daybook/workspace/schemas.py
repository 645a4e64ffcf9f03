"""Writes the JSON Schemas of definition files."""

from pathlib import Path

from daybook.errors import DaybookError


def write_schemas(folder: Path) -> tuple[Path, ...]:
    """Write JSON Schemas of all definition files into a folder; the files that were written."""
    from daybook.model import serialization

    try:
        return tuple(serialization.write_schemas(folder))
    except OSError as error:
        raise DaybookError("MODEL_066", path=folder.as_posix(), reason=error.strerror or str(error)) from error
