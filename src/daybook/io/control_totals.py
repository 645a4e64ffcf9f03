"""Compares the control totals of a delivery with the stored rows of each location.

The rows are summed from the files that the run reads, without Spark: before the time filter, deleted ones included.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

from daybook.errors import DaybookError, raise_all
from daybook.io.control_file import ControlFigures, read_control_file
from daybook.io.filesystem import list_files
from daybook.io.landing.area import LandingArea
from daybook.io.pins import FilesPin
from daybook.io.read_source import ReadSource
from daybook.io.storage import Storage
from daybook.io.stored_figures import FigureReader, StoredFigures
from daybook.model.calendar import Period
from daybook.model.definition import DatasetVersion
from daybook.model.measures import EXACT, ControlTotals, is_numeric
from daybook.resolve.location import Location, Resolution, inline_location
from daybook.resolve.paths import render_template

# Sums of floats are compared to twelve digits.
_FLOAT_TOLERANCE = 1e-12


@dataclass(frozen=True, slots=True)
class ControlledSource:
    """A source that agrees with its control: the figures of all its locations, and the control files."""

    rows: int
    control_rows: int | None
    control_totals: Mapping[str, Decimal]
    pins: tuple[FilesPin, ...] = ()


def check_control(
    resolution: Resolution,
    version: DatasetVersion,
    source: ReadSource,
    area: LandingArea,
    period: Period,
    root: Path,
) -> ControlledSource | None:
    """Checks a source against the control totals of its dataset, if it has some; raises all differences together."""
    control = version.dataset.control
    if control is None:
        return None
    reader = FigureReader(resolution, version, source, area)
    errors: list[DaybookError] = []
    rows, control_rows = 0, 0
    has_rows = True
    control_totals: dict[str, Decimal] = {}
    pins: dict[str, FilesPin] = {}
    for location in resolution.locations:
        try:
            expected, pin = _control_of(control, version, location, location.period or period, root, source.storage)
        except DaybookError as error:
            errors.append(error)
            continue
        stored = reader.figures(location, tuple(expected.totals), expected.name)
        errors += _differences(location, expected, stored, control.tolerance)
        if pin is not None:
            pins[pin.uri] = pin
        rows += stored.rows
        control_rows, has_rows = control_rows + (expected.rows or 0), has_rows and expected.rows is not None
        for column, total in expected.totals.items():
            control_totals[column] = EXACT.add(control_totals.get(column, Decimal(0)), total)
    raise_all(errors)
    return ControlledSource(rows, control_rows if has_rows else None, control_totals, tuple(pins.values()))


def _control_place(path: str, version: DatasetVersion, period: Period, root: Path) -> str:
    rendered = render_template(path, period, version.dataset.main_table.name)
    return inline_location(rendered, "csv", {}, root).file_uri


def _control_of(
    control: ControlTotals, version: DatasetVersion, location: Location, period: Period, root: Path, storage: Storage
) -> tuple[ControlFigures, FilesPin | None]:
    if control.path is None:
        return ControlFigures(f"the dataset {version.dataset.id}", control.rows, control.totals), None
    place = _control_place(control.path, version, period, root)
    files = list_files(place, storage=storage)
    if len(files) != 1 or files[0].path.rstrip("/") != place.rstrip("/"):
        raise DaybookError("TOTALS_011", location=location.label, control=place)
    numeric = {column.name for column in version.dataset.main_table.columns if is_numeric(column.type)}
    return read_control_file(place, numeric, storage), FilesPin(place, files)


def _differences(
    location: Location, control: ControlFigures, stored: StoredFigures, tolerance: Decimal
) -> Iterator[DaybookError]:
    if control.rows is not None and control.rows != stored.rows:
        yield DaybookError(
            "TOTALS_010",
            location=location.label,
            what="the number of rows is",
            actual=stored.rows,
            expected=control.rows,
            control=control.name,
        )
    for column, expected in control.totals.items():
        actual = stored.totals[column]
        if isinstance(actual, float):
            allowed = max(float(tolerance), _FLOAT_TOLERANCE * max(stored.sizes[column], abs(float(expected))))
            is_same = abs(actual - float(expected)) <= allowed
        else:
            is_same = EXACT.subtract(actual, expected).copy_abs() <= tolerance
        if not is_same:
            yield DaybookError(
                "TOTALS_010",
                location=location.label,
                what=f"the total of {column} is",
                actual=actual,
                expected=expected,
                control=control.name,
            )
