"""Options of a location, with those of its data source below them."""

from collections.abc import Mapping
from typing import Any

from daybook.errors import DaybookError
from daybook.model.datasource import DataSource, FolderSource


def options_of(
    format_: str, own: Mapping[str, Any], datasource: DataSource | None, known: Mapping[str, Any]
) -> dict[str, Any]:
    """Every known option with its value or default; an unknown one, or one of another kind, is IO_011."""
    inherited = datasource.options.options if isinstance(datasource, FolderSource) else {}
    given = {**inherited, **own}
    for name, value in given.items():
        if name not in known:
            hint = f"Known options: {', '.join(sorted(known))}." if known else None
            raise DaybookError("IO_011", format=format_, option=name, hint=hint)
        default = known[name]
        if default is not None and not isinstance(value, type(default)):
            hint = f"{name} takes a value such as {default!r}."
            raise DaybookError("IO_011", format=format_, option=f"{name}: {value!r}", hint=hint)
    return {**known, **given}
