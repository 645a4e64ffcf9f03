"""Options of a location, checked once more: a run may come from a snapshot that nobody validates."""

from collections.abc import Mapping
from typing import Any

from daybook.errors import DaybookError, raise_all
from daybook.model.formats import OPTIONS, option_findings


def options_of(format_: str, given: Mapping[str, Any], *, is_output: bool = False) -> dict[str, Any]:
    """Every option of the format with its value or default; what it does not have is IO_011."""
    found = option_findings(format_, given, is_output=is_output)
    raise_all([DaybookError(one.code, hint=one.hint, **one.parameters) for one in found])
    return {**{option.name: option.default for option in OPTIONS[format_]}, **given}
