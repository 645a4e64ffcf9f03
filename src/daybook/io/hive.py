"""Partition values in folder names such as `region=EU`."""

from collections.abc import Mapping
from urllib.parse import quote, unquote

_NULL = "__HIVE_DEFAULT_PARTITION__"
# What Hive and Spark leave as it is in a folder name, beside letters and digits.
_SAFE = " !$&()+,-.;<>@[]_`|~"


def partition_values(relative: str) -> dict[str, str | None]:
    """The values that the folders of a relative path name."""
    values: dict[str, str | None] = {}
    for part in relative.split("/")[:-1]:
        name, equals, value = part.partition("=")
        if equals and name:
            values[unquote(name)] = None if value == _NULL else unquote(value)
    return values


def partition_folder(values: Mapping[str, str]) -> str:
    """The folder of a partition, as Spark writes it."""
    return "/".join(f"{quote(name, safe=_SAFE)}={quote(value, safe=_SAFE)}" for name, value in values.items())
