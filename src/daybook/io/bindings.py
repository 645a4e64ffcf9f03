"""Binds a dataset to a location: checks options, columns, time columns and system columns."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from daybook.errors import DaybookError, Notice, notice, raise_all
from daybook.model.dataset import MainTable
from daybook.model.definition import DatasetVersion
from daybook.model.formats import FORMATS, option_violations
from daybook.model.types import COLUMN_SYNONYMS, RUN_PERIOD_COLUMN, STRING, SYSTEM_COLUMNS, TIMESTAMP, ColumnType
from daybook.resolve.location import Location


def checked_options(format_: str, values: Mapping[str, Any], *, is_output: bool = False) -> dict[str, Any]:
    """Every option of the format with its value or default; what it does not have is IO_011."""
    violations = option_violations(format_, values, is_output=is_output)
    raise_all([DaybookError(violation.code, hint=violation.hint, **violation.parameters) for violation in violations])
    return {**{option.name: option.default for option in FORMATS[format_].options}, **values}


# Physical names a bitemporal table may use for its time columns.
PHYSICAL_TIME_COLUMNS = {"_valid_from": "valid_from", "_valid_to": "valid_to"}


@dataclass(frozen=True, slots=True)
class Binding:
    """One column to be read: the stored column `stored` becomes `name` of type `type`."""

    name: str
    stored: str
    type: ColumnType
    is_nullable: bool = True


@dataclass(frozen=True, slots=True)
class Bindings:
    """How stored columns become those of a source frame."""

    declared: tuple[Binding, ...]
    carried: tuple[Binding, ...]
    # Stored columns that nothing uses.
    extra: tuple[str, ...]
    # Declared columns and required time columns that are not stored.
    missing: tuple[str, ...]

    @property
    def all(self) -> tuple[Binding, ...]:
        return self.declared + self.carried


def carried_types() -> Mapping[str, ColumnType]:
    """System columns a source may carry."""
    return {**SYSTEM_COLUMNS, RUN_PERIOD_COLUMN: STRING}


def validity_types(table: MainTable) -> Mapping[str, ColumnType]:
    """The time columns of a bitemporal table that are read as timestamps, since the table declares them so."""
    declared = {column.name: column.type for column in table.columns}
    times = PHYSICAL_TIME_COLUMNS.items() if table.temporal_mode == "bitemporal" else ()
    return {name: TIMESTAMP for name, physical in times if declared.get(physical) == TIMESTAMP}


def bind_columns(stored: Iterable[str], version: DatasetVersion, location: Location) -> Bindings:
    """Find every needed column among the stored names."""
    names = tuple(dict.fromkeys(stored))
    stored_names = frozenset(names)
    table = version.dataset.main_table
    declared = tuple(Binding(column.name, column.name, column.type, column.nullable) for column in table.columns)
    missing = [binding.stored for binding in declared if binding.stored not in stored_names]
    carried: list[Binding] = []
    timestamps = validity_types(table)
    for name, type_ in carried_types().items():
        physical = PHYSICAL_TIME_COLUMNS.get(name)
        if name in stored_names:
            carried.append(Binding(name, name, type_))
        elif physical in stored_names and table.temporal_mode == "bitemporal":
            carried.append(Binding(name, physical, timestamps.get(name, type_)))
    have = {binding.name for binding in carried}
    if table.temporal_mode == "bitemporal":
        missing += [
            physical for name, physical in PHYSICAL_TIME_COLUMNS.items() if name not in have and physical not in missing
        ]
    if table.temporal_mode == "period" and location.period is None and not have & {"_period", RUN_PERIOD_COLUMN}:
        missing.append("_period")
    used = {binding.stored for binding in (*declared, *carried)} | COLUMN_SYNONYMS.keys()
    return Bindings(declared, tuple(carried), tuple(name for name in names if name not in used), tuple(missing))


def missing_column_errors(bindings: Bindings, file: str) -> list[DaybookError]:
    declared = {binding.stored for binding in bindings.declared}
    return [
        DaybookError("IO_002", file=file, column=name, hint=None if name in declared else _TIME_COLUMN_HINTS[name])
        for name in bindings.missing
    ]


_VALIDITY_HINT = (
    "add valid_from and valid_to to the data; if its rows have no validity, remove temporal_mode: bitemporal"
)
_TIME_COLUMN_HINTS = {
    "_period": "add _period to the data, or name one location for each period, such as data/{{identifier}}.csv; "
    "if its rows have no period, remove temporal_mode: period",
    "valid_from": _VALIDITY_HINT,
    "valid_to": _VALIDITY_HINT,
}


def extra_column_notices(extra: Iterable[str], file: str) -> tuple[Notice, ...]:
    names = sorted(set(extra))
    return (notice("IO_007", file=file, columns=", ".join(names)),) if names else ()


def needed_slices(version: DatasetVersion, periods: tuple[str, ...]) -> frozenset[str] | None:
    """The slices a period table is read by; None when all rows are wanted."""
    return frozenset(periods) if version.dataset.main_table.temporal_mode == "period" else None


def is_slice_needed(partitions: Mapping[str, str | None], slices: frozenset[str] | None) -> bool:
    """Whether a file with these partition values can hold rows of the slices."""
    if slices is None:
        return True
    for column in (RUN_PERIOD_COLUMN, "_period"):
        if column in partitions:
            return partitions[column] in slices
    return True
