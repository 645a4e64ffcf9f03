"""The columns of an existing table against those of an output."""

from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa

from daybook.errors import DaybookError
from daybook.io.writing import OutputColumn, Target

_REPLACING = "`mode: replace` takes the new schema and replaces all rows"
_FIXED = "the columns of this table cannot be changed from here: drop it, or write to another one"


@dataclass(frozen=True, slots=True)
class SchemaChange:
    """Columns to be added; everything else that differs is refused."""

    added: tuple[OutputColumn, ...] = ()


def type_text(stored: pa.DataType) -> str:
    """The declared type an exact copy of the stored one would have."""
    if pa.types.is_string(stored) or pa.types.is_large_string(stored) or pa.types.is_string_view(stored):
        return "string"
    if pa.types.is_decimal(stored):
        return f"decimal({stored.precision},{stored.scale})"
    if pa.types.is_timestamp(stored) and stored.tz is not None:
        return "timestamp"
    names = {pa.int64(): "integer", pa.float64(): "float", pa.bool_(): "boolean", pa.date32(): "date"}
    return names.get(stored, str(stored))


def check_columns(target: Target, existing: Mapping[str, str | None], *, is_changeable: bool = True) -> SchemaChange:
    """IO_021 with the difference; a type of None is one the format does not keep."""
    wanted = {column.name: str(column.type) for column in target.columns}
    added = tuple(column for column in target.columns if column.name not in existing)
    difference = [f"new {column.name} ({column.type})" for column in added]
    lacking = [f"missing {name}" for name in existing if name not in wanted]
    retyped = {
        name: stored
        for name, stored in existing.items()
        if name in wanted and stored is not None and stored != wanted[name]
    }
    is_refused = target.on_schema_change == "refuse"
    if lacking or retyped or (added and is_refused):
        changed = [f"{name} is {stored} there and {wanted[name]} here" for name, stored in retyped.items()]
        ways = [
            *(_keeping(name, stored) for name, stored in retyped.items()),
            *(["write the missing columns too"] if lacking else []),
            *(["`on_schema_change: add` adds the new columns"] if added and is_refused and is_changeable else []),
            _REPLACING if is_changeable else _FIXED,
        ]
        listed = "; ".join(difference + lacking + changed)
        raise DaybookError("IO_021", location=target.place, difference=listed, hint="; ".join(ways))
    return SchemaChange(added)


def _keeping(name: str, stored: str) -> str:
    """No setting of an output changes a type, so the column has to keep the one it has."""
    return f"`type: {stored}` on the assignment or aggregation that computes {name} keeps its type"
