"""A folder of part files: nothing that somebody put there is lost, and nothing that is gone goes unnoticed."""

import os
import shutil
import uuid
from pathlib import Path
from typing import Any

import pytest

from daybook.errors import DaybookError
from daybook.io.formats.csv.format import CsvWriter
from daybook.io.formats.files import folder
from daybook.io.formats.files.folder import commit_folder, slice_state
from daybook.io.formats.files.manifest import MANIFEST_NAME
from daybook.io.formats.files.one_file import ExchangeUnsupportedError
from daybook.io.target import FileTarget, OutputColumn, SliceOwner
from daybook.io.writer import Commit, StagedOutput, no_fence
from daybook.model.types import STRING
from daybook.resolve.location import Location

COLUMNS = (OutputColumn("key", STRING),)


def run(table: Path, period: str, key: str = "a", mode: Any = "replace_period") -> Commit:
    """One run into the table, from its staged part to its commit."""
    run_id = uuid.uuid4().hex
    target = FileTarget(
        location=Location("csv", uri=str(table)),
        mode=mode,
        columns=COLUMNS,
        run_id=run_id,
        operation_seq=1,
        owner=SliceOwner("p", "o"),
        run_period=period,
    )
    work = table.parent / f".{target.staging_key}"
    (work / "parts").mkdir(parents=True)
    (work / "parts" / f"part-{run_id}.csv").write_text(f"key\n{key}\n")
    staged = StagedOutput(str(work), 1, seen=slice_state(table, target))
    return commit_folder(work / "parts", work, table, staged, target, no_fence, CsvWriter())


def contents(table: Path) -> dict[str, list[str]]:
    """Keys by the folder of their period."""
    found: dict[str, list[str]] = {}
    for file in sorted(table.rglob("part-*.csv")):
        found.setdefault(file.parent.name.removeprefix("_run_period="), []).append(file.read_text().split()[1])
    return found


@pytest.fixture
def table(tmp_path: Path) -> Path:
    table = tmp_path / "t"
    run(table, "2026-01")
    run(table, "2026-02")
    return table


@pytest.mark.parametrize("mode", ["replace_period", "append", "replace"])
@pytest.mark.parametrize(
    "name", ["_run_period=2025-12/h.csv", "_run_period=2026-01/h.csv", "h.csv", "README.txt", "notes/READ.me"]
)
def test_files_that_no_run_wrote_are_not_lost(table: Path, name: str, mode: str) -> None:
    file = table / name
    file.parent.mkdir(exist_ok=True)
    file.write_text("key\nby hand\n")
    with pytest.raises(DaybookError) as refused:
        run(table, "2026-01", "b", mode)
    assert (refused.value.code, name in str(refused.value)) == ("IO_028", True)
    assert file.read_text() == "key\nby hand\n"
    assert contents(table) == {"2026-01": ["a"], "2026-02": ["a"]}


@pytest.mark.parametrize("name", ["_README.txt", ".gitkeep", "_notes/january.md", "_run_period=2026-01/.why"])
def test_what_readers_pass_over_stays(table: Path, name: str) -> None:
    file = table / name
    file.parent.mkdir(exist_ok=True)
    file.write_text("by hand")
    run(table, "2026-01", "b")
    assert file.read_text() == "by hand"
    assert contents(table) == {"2026-01": ["b"], "2026-02": ["a"]}


@pytest.mark.parametrize("mode", ["replace_period", "append"])
def test_files_that_are_gone_are_named(table: Path, mode: str) -> None:
    shutil.rmtree(table / "_run_period=2026-01")
    with pytest.raises(DaybookError) as refused:
        run(table, "2026-02", "b", mode)
    assert refused.value.code == "IO_033"
    assert "_run_period=2026-01/part-" in str(refused.value.parameters["files"])
    assert MANIFEST_NAME in str(refused.value.hint)


def test_periods_that_are_gone_are_brought_back_one_by_one(table: Path) -> None:
    run(table, "2026-03")
    shutil.rmtree(table / "_run_period=2026-01")
    shutil.rmtree(table / "_run_period=2026-02")
    run(table, "2026-01", "b")
    with pytest.raises(DaybookError) as refused:
        run(table, "2026-03", "b")
    assert refused.value.code == "IO_033"
    run(table, "2026-02", "b")
    run(table, "2026-03", "b")
    assert contents(table) == {"2026-01": ["b"], "2026-02": ["b"], "2026-03": ["b"]}


def test_a_whole_replacement_needs_nothing_of_what_was(table: Path) -> None:
    shutil.rmtree(table / "_run_period=2026-01")
    run(table, "2026-02", "b", "replace")
    assert contents(table) == {"2026-02": ["b"]}


def test_without_its_manifest_a_folder_is_taken_as_it_is(table: Path) -> None:
    shutil.rmtree(table / "_run_period=2026-01")
    (table / MANIFEST_NAME).unlink()
    run(table, "2026-03", "b")
    assert contents(table) == {"2026-02": ["a"], "2026-03": ["b"]}


@pytest.mark.parametrize("name", ["h.csv", "_run_period=2026-01/h.csv"])
def test_a_folder_that_no_run_wrote_is_not_replaced(tmp_path: Path, name: str) -> None:
    file = tmp_path / "t" / name
    file.parent.mkdir(parents=True)
    file.write_text("key\nby hand\n")
    with pytest.raises(DaybookError) as refused:
        run(tmp_path / "t", "2026-01", "b", "replace")
    assert (refused.value.code, name in str(refused.value)) == ("IO_028", True)
    assert file.read_text() == "key\nby hand\n"


@pytest.mark.parametrize("mode", ["replace_period", "append", "replace"])
def test_a_folder_of_tables_is_no_table(table: Path, mode: str) -> None:
    with pytest.raises(DaybookError) as refused:
        run(table.parent, "2026-01", "b", mode)
    assert refused.value.code == "IO_028"
    assert contents(table) == {"2026-01": ["a"], "2026-02": ["a"]}


def test_a_slice_of_a_table_is_no_table(table: Path) -> None:
    with pytest.raises(DaybookError) as refused:
        run(table / "_run_period=2026-01", "2026-01", "b", "replace")
    assert refused.value.code == "IO_028"
    assert contents(table)["2026-01"] == ["a"]


def test_a_delta_table_is_no_folder_of_files(tmp_path: Path) -> None:
    (tmp_path / "t" / "_delta_log").mkdir(parents=True)
    with pytest.raises(DaybookError) as refused:
        run(tmp_path / "t", "2026-01")
    assert refused.value.code == "IO_028"


def test_who_is_listing_a_folder_that_is_replaced_can_finish(table: Path) -> None:
    """The names in an open folder stay, and so do the files behind them, until the next commit."""
    listing = os.open(table / "_run_period=2026-01", os.O_RDONLY)
    try:
        run(table, "2026-01", "b")
        (name,) = os.listdir(listing)  # noqa: PTH208 - of an open folder
        with open(name, opener=lambda path, flags: os.open(path, flags, dir_fd=listing)) as stream:
            assert stream.read() == "key\na\n"
        run(table, "2026-02", "b")
        assert os.listdir(listing) == []  # noqa: PTH208 - of an open folder
    finally:
        os.close(listing)
    assert contents(table) == {"2026-01": ["b"], "2026-02": ["b"]}


def test_a_table_that_somebody_removed_does_not_come_back(table: Path) -> None:
    run(table, "2026-01", "b")
    shutil.rmtree(table)
    run(table, "2026-03", "c")
    assert contents(table) == {"2026-03": ["c"]}


def test_a_folder_that_cannot_be_exchanged_keeps_its_last_state_too(
    table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def cannot(first: Path, second: Path) -> None:
        raise ExchangeUnsupportedError

    monkeypatch.setattr(folder, "exchange_names", cannot)
    assert [notice.code for notice in run(table, "2026-01", "b").notices] == ["IO_030"]
    assert contents(table) == {"2026-01": ["b"], "2026-02": ["a"]}
    assert contents(table.parent / ".t.daybook-previous") == {"2026-01": ["a"], "2026-02": ["a"]}
    assert not (table.parent / ".t.daybook-old").exists()
