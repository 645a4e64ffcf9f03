"""Whether files that changed concern what a run loaded: by period, by day, in any order of lines."""

import datetime
from pathlib import Path

import pytest

from daybook.io.landing.area import LandingArea
from daybook.io.landing.landing_request import LandingRequest
from daybook.io.loaded_rows import LoadedPart, have_rows_changed
from daybook.io.pins import LandedPin, PinnedFile
from daybook.io.read_source import find_inputs, land_without_session
from daybook.model.definition import DatasetVersion
from daybook.model.serialization import from_canonical
from daybook.resolve.location import Location

JANUARY, FEBRUARY = LoadedPart(("2026-01",)), LoadedPart(("2026-02",))
LINES = ["a,1.00,2026-01", "b,,2026-01", "a,2.00,2026-02", "c,3.00,2026-02"]


class Source:
    """A file of lines that was landed, and what a look at it says."""

    def __init__(
        self, root: Path, lines: list[str], head: str = "account,amount,_period", mode: str = "period"
    ) -> None:
        self.path, self.head, self.root = root / "rows.csv", head, root
        names = [name for name in head.split(",") if not name.startswith("_")]
        types = {"amount": "decimal(18,2)", "valid_from": "date", "valid_to": "date"}
        columns = [{"name": name, "type": types.get(name, "string")} for name in names]
        table = {"name": "rows", "temporal_mode": mode, "columns": columns}
        dataset = from_canonical("dataset", {"id": "rows", "name": "rows", "main_table": table})
        self.write(lines)
        location = Location("csv", uri=str(self.path))
        area = LandingArea(str(root / "landing"), "test")
        self.request = LandingRequest([location], DatasetVersion(dataset, 1), area, None, root)
        landed = land_without_session(self.request)
        files = tuple(PinnedFile(file.stat, file.digest) for file in find_inputs(self.request).files)
        self.pin = LandedPin(self.request.names, landed.folder, landed.rows, files)

    def write(self, lines: list[str]) -> None:
        self.path.write_text("\n".join([self.head, *lines]) + "\n")

    def has_changed(self, part: LoadedPart, *, looks: bool = True) -> bool | None:
        return have_rows_changed(self.request, self.pin, part, looks=looks, root=str(self.root / "looks"))


def test_a_change_concerns_the_period_of_its_lines(tmp_path: Path) -> None:
    source = Source(tmp_path, LINES)
    source.write([*LINES, "d,4.00,2026-02"])
    assert (source.has_changed(JANUARY), source.has_changed(FEBRUARY)) == (False, True)
    assert source.has_changed(LoadedPart()) is True


@pytest.mark.parametrize("changed", ["a,1.01,2026-01", "x,1.00,2026-01", ",1.00,2026-01", "a,,2026-01"])
def test_a_value_that_changed_is_found_and_null_is_no_empty_value(tmp_path: Path, changed: str) -> None:
    source = Source(tmp_path, LINES)
    source.write([changed, *LINES[1:]])
    assert (source.has_changed(JANUARY), source.has_changed(FEBRUARY)) == (True, False)


def test_values_that_moved_between_rows_and_columns_are_found(tmp_path: Path) -> None:
    source = Source(tmp_path, LINES)
    source.write(["a,,2026-01", "b,1.00,2026-01", *LINES[2:]])
    assert source.has_changed(JANUARY) is True


def test_lines_in_another_order_are_the_same(tmp_path: Path) -> None:
    source = Source(tmp_path, LINES)
    source.write(LINES[::-1])
    assert (source.has_changed(JANUARY), source.has_changed(FEBRUARY)) == (False, False)


def test_a_repeated_line_counts(tmp_path: Path) -> None:
    source = Source(tmp_path, ["a,1.00,2026-01", "a,1.00,2026-01", "b,1.00,2026-01"])
    source.write(["a,1.00,2026-01", "b,1.00,2026-01", "b,1.00,2026-01"])
    assert source.has_changed(JANUARY) is True


def test_nobody_looks_unless_asked_and_what_was_found_is_kept(tmp_path: Path) -> None:
    source = Source(tmp_path, LINES)
    source.write([*LINES, "d,4.00,2026-02"])
    assert source.has_changed(JANUARY, looks=False) is None
    assert source.has_changed(JANUARY) is False
    # By content: whoever asks next does not read the file again, for the other month neither.
    assert (source.has_changed(JANUARY, looks=False), source.has_changed(FEBRUARY, looks=False)) == (False, True)
    source.write([*LINES, "d,5.00,2026-02"])
    assert source.has_changed(JANUARY, looks=False) is None


def test_rows_of_a_bitemporal_table_count_on_their_day(tmp_path: Path) -> None:
    head = "currency,rate,valid_from,valid_to"
    lines = ["USD,1.10,2026-01-01,2026-02-01", "USD,1.20,2026-02-01,"]
    source = Source(tmp_path, lines, head, "bitemporal")
    source.write([lines[0], "USD,1.25,2026-02-01,"])
    assert source.has_changed(LoadedPart(as_of=datetime.date(2026, 1, 31))) is False
    assert source.has_changed(LoadedPart(as_of=datetime.date(2026, 2, 1))) is True


def test_times_at_which_rows_were_made_count_only_where_they_are_used(tmp_path: Path) -> None:
    head = "account,_period,_created_at"
    source = Source(tmp_path, ["a,2026-01,2026-01-05T00:00:00Z"], head)
    source.write(["a,2026-01,2026-01-06T00:00:00Z"])
    assert source.has_changed(JANUARY) is False
    assert source.has_changed(LoadedPart(("2026-01",), with_times=True)) is True


def test_a_file_that_cannot_be_read_has_changed(tmp_path: Path) -> None:
    source = Source(tmp_path, LINES)
    source.write(["a,not a number,2026-01"])
    assert source.has_changed(JANUARY) is True
