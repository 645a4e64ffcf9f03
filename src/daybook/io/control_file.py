"""Reads a control file: the number of rows and the totals that a delivery says it has."""

import csv
import io
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from daybook.errors import DaybookError, raise_all
from daybook.io.filesystem import arrow_path
from daybook.io.storage import PROVIDER_STORAGE, Storage
from daybook.model.measures import exact_number

_TOTAL_PREFIX = "total_"
_ROWS = "rows"
# 1.000 may be a thousand; 4.0 is how some programs write 4.
_COUNT = re.compile(r"[0-9]+(\.0)?")


@dataclass(frozen=True, slots=True)
class ControlFigures:
    """The figures of a control; `name` is how messages refer to it."""

    name: str
    rows: int | None
    totals: Mapping[str, Decimal]


def read_control_file(place: str, numeric: Iterable[str], storage: Storage = PROVIDER_STORAGE) -> ControlFigures:
    """A CSV file with one row; TOTALS_012 for anything else."""
    at = arrow_path(place, storage)
    with at.system.open_input_stream(at.path) as stream:
        content = stream.read()
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DaybookError("TOTALS_012", control=place, reason="it is not UTF-8") from error
    delimiter = ";" if ";" in text.partition("\n")[0] else ","
    try:
        # Lines may end as on any system.
        fields = [*csv.reader(io.StringIO(text, newline=None), delimiter=delimiter, strict=True)]
    except csv.Error as error:
        raise DaybookError("TOTALS_012", control=place, reason=str(error)) from error
    lines = [line for line in fields if any(map(str.strip, line))]
    raise_all(DaybookError("TOTALS_012", control=place, reason=reason) for reason in _malformed(lines))
    values = dict(zip(map(str.strip, lines[0]), map(str.strip, lines[1]), strict=True))
    totals: dict[str, Decimal] = {}
    columns = frozenset(numeric)
    for name, value in values.items():
        column = name.removeprefix(_TOTAL_PREFIX)
        if name != _ROWS and (column == name or column not in columns):
            reason = f"{name} is neither rows nor total_<column> of a numeric column"
            raise DaybookError("TOTALS_012", control=place, reason=reason)
        number = exact_number(value)
        if number is None or (name == _ROWS and not _COUNT.fullmatch(value)):
            raise DaybookError("TOTALS_012", control=place, reason=f"{name} is {value or 'empty'}")
        totals[name] = number
    rows = totals.pop(_ROWS, None)
    by_column = {name.removeprefix(_TOTAL_PREFIX): total for name, total in totals.items()}
    return ControlFigures(place, None if rows is None else int(rows), by_column)


def _malformed(lines: Sequence[Sequence[str]]) -> Iterator[str]:
    if len(lines) != 2:
        yield f"it has {max(0, len(lines) - 1)} rows below its header"
    elif len(lines[0]) != len(lines[1]):
        yield "its row has another number of fields than its header"
    elif len({*map(str.strip, lines[0])}) != len(lines[0]):
        yield "a column is there twice"
