"""Commits to Iceberg tables beside those of others."""

from pathlib import Path
from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.exceptions import CommitStateUnknownException
from pyiceberg.expressions import AlwaysTrue
from pyiceberg.table.snapshots import Operation

from daybook.errors import DaybookError
from daybook.io.target import OutputColumn, SliceOwner, WrittenSlice
from daybook.io.writer import Commit
from daybook.model.types import INTEGER
from tests.unit.io.formats.iceberg.lake import WRITER, Lake


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(tmp_path)


def operations(lake: Lake) -> list[Operation]:
    with lake.table() as table:
        return [snapshot.summary.operation for snapshot in table.snapshots() if snapshot.summary]


def refused(lake: Lake, target: Any, staged: Any) -> str:
    with pytest.raises(DaybookError) as caught:
        WRITER.commit(staged, target)
    return caught.value.code


def test_a_slice_is_replaced_by_one_snapshot(lake: Lake) -> None:
    lake.write("ab")
    lake.write("c")
    assert operations(lake) == [Operation.APPEND, Operation.OVERWRITE]
    assert lake.rows() == [("c", "2026-01")]


def test_a_snapshot_says_which_run_made_it(lake: Lake) -> None:
    target = lake.target()
    lake.write("ab", target)
    with lake.table() as table:
        snapshot = table.current_snapshot()
        assert snapshot is not None
        assert snapshot.summary is not None
        facts = snapshot.summary.additional_properties
    assert facts["daybook.run"] == target.run_id
    assert {name: facts[f"daybook.{name}"] for name in ("operation", "slice", "fingerprint", "rows")} == {
        "operation": "1",
        "slice": "2026-01",
        "fingerprint": "0123",
        "rows": "2",
    }
    assert facts["daybook.owner"] == '["project", "output", "acme", "w1"]'


def test_writers_of_different_slices_both_commit(lake: Lake) -> None:
    lake.write("a")
    first, second = lake.target(), lake.target(run_period="2026-02")
    staged_first, staged_second = lake.stage(first, "b"), lake.stage(second, "c")

    def commit_second(slices: tuple[WrittenSlice, ...]) -> None:
        """After the first writer has opened the table, and before it commits."""
        WRITER.commit(staged_second, second)

    WRITER.commit(staged_first, first, commit_second)
    assert lake.rows() == [("b", "2026-01"), ("c", "2026-02")]


@pytest.mark.parametrize("is_late", [True, False], ids=["after the last look", "before it"])
def test_a_second_writer_of_a_slice_is_refused(lake: Lake, is_late: bool) -> None:
    lake.write("a")
    first, second = lake.target(), lake.target()
    staged_first, staged_second = lake.stage(first, "b"), lake.stage(second, "c")
    done: list[Commit] = []

    def commit_second(slices: tuple[WrittenSlice, ...]) -> None:
        if not done:
            done.append(WRITER.commit(staged_second, second))

    if not is_late:
        commit_second(())
    with pytest.raises(DaybookError) as caught:
        WRITER.commit(staged_first, first, commit_second)
    assert caught.value.code == "IO_024"
    assert lake.rows() == [("c", "2026-01")]


def test_two_that_create_a_table_both_commit(lake: Lake) -> None:
    first, second = lake.target(), lake.target(run_period="2026-02")
    staged_first, staged_second = lake.stage(first, "a"), lake.stage(second, "b")
    done: list[Commit] = []

    def commit_second(slices: tuple[WrittenSlice, ...]) -> None:
        if not done:
            done.append(WRITER.commit(staged_second, second))

    WRITER.commit(staged_first, first, commit_second)
    assert lake.rows() == [("a", "2026-01"), ("b", "2026-02")]


def test_a_commit_whose_answer_is_lost_is_found(lake: Lake) -> None:
    lake.write("a")
    target = lake.target()
    staged = lake.stage(target, "b")
    commit_table = SqlCatalog.commit_table

    def commit_and_hang_up(self: SqlCatalog, *arguments: Any) -> Any:
        commit_table(self, *arguments)
        raise CommitStateUnknownException("502 Bad Gateway")

    with patch.object(SqlCatalog, "commit_table", commit_and_hang_up):
        commit = WRITER.commit(staged, target)
    assert (commit.rows, commit.is_repeat) == (1, True)
    assert operations(lake) == [Operation.APPEND, Operation.OVERWRITE]
    assert lake.rows() == [("b", "2026-01")]


def test_rows_that_somebody_else_adds_to_the_slice_are_not_replaced_unseen(lake: Lake) -> None:
    lake.write("a")
    target = lake.target()
    staged = lake.stage(target, "b")
    lake.append_as_another("x", "2026-01")
    assert refused(lake, target, staged) == "IO_024"
    assert lake.rows() == [("a", "2026-01"), ("x", "2026-01")]
    lake.write("b")
    assert lake.rows() == [("b", "2026-01")]


def test_what_somebody_else_adds_to_another_slice_stays(lake: Lake) -> None:
    lake.write("a")
    target = lake.target()
    staged = lake.stage(target, "b")
    lake.append_as_another("x", "2026-02")
    WRITER.commit(staged, target)
    assert lake.rows() == [("b", "2026-01"), ("x", "2026-02")]


def test_a_slice_that_was_compacted_meanwhile_is_refused_and_can_be_written_again(lake: Lake) -> None:
    lake.write("a", mode="append")
    lake.write("b", mode="append")
    target = lake.target()
    staged = lake.stage(target, "c")
    with lake.table() as table:
        rows = table.scan().to_arrow()
        table.overwrite(rows, overwrite_filter=AlwaysTrue())
    assert refused(lake, target, staged) == "IO_024"
    lake.write("c")
    assert lake.rows() == [("c", "2026-01")]


def test_a_base_that_expires_meanwhile_does_no_harm_if_the_slice_is_the_same(lake: Lake) -> None:
    lake.write("a")
    target = lake.target()
    staged = lake.stage(target, "b")

    foreign = iter(["x"])

    def expire(slices: tuple[WrittenSlice, ...]) -> None:
        for key in foreign:
            lake.append_as_another(key, "2026-02")
            lake.expire_all_but()

    WRITER.commit(staged, target, expire)
    assert lake.rows() == [("b", "2026-01"), ("x", "2026-02")]


def test_columns_that_others_add_meanwhile_do_not_take_the_place_of_those_written(lake: Lake) -> None:
    lake.write("a")
    wider = (*lake.target().columns, OutputColumn("note", INTEGER))
    target = lake.target(wider, on_schema_change="add")
    staged = lake.stage(target, "b")
    with lake.table() as table, table.update_schema() as update:
        update.union_by_name(pa.schema([("foreign", pa.string())]))
    # The file has the field id that the foreign column was given.
    assert refused(lake, target, staged) in ("IO_021", "IO_024")
    assert lake.rows() == [("a", "2026-01")]


def test_columns_that_others_rename_are_columns_of_other_names(lake: Lake) -> None:
    lake.write("a")
    target = lake.target()
    staged = lake.stage(target, "b")
    with lake.table() as table, table.update_schema() as update:
        update.rename_column("amount", "total")
    assert refused(lake, target, staged) == "IO_021"


def test_a_branch_of_somebody_else_is_left_alone(lake: Lake) -> None:
    lake.write("a")
    with lake.table() as table:
        snapshot = table.current_snapshot()
        assert snapshot is not None
        table.manage_snapshots().create_branch(snapshot.snapshot_id, "audit").commit()
    lake.write("b")
    with lake.table() as table:
        assert table.refs()["audit"].snapshot_id == snapshot.snapshot_id
    assert lake.rows(snapshot.snapshot_id) == [("a", "2026-01")]
    assert lake.rows() == [("b", "2026-01")]


def test_an_append_is_not_repeated_where_the_history_no_longer_says_whether_it_was_made(lake: Lake) -> None:
    target = lake.target(mode="append")
    lake.write("a", target)
    lake.append_as_another("x", "2026-02")
    assert WRITER.committed(target) is not None
    lake.expire_all_but()
    assert WRITER.committed(target) is None
    with pytest.raises(DaybookError) as caught:
        WRITER.check(target)
    assert caught.value.code == "IO_062"


def test_the_owner_of_a_slice_is_known_after_its_snapshot_has_expired(lake: Lake) -> None:
    target = lake.target()
    lake.write("a", target)
    lake.append_as_another("x", "2026-02")
    lake.expire_all_but()
    owned = WrittenSlice("2026-01", target.run_id, SliceOwner("project", "output", "acme", "w1"), 1)
    assert WRITER.slices(lake.target()) == (owned,)
    assert WRITER.check(lake.target()).slices == (owned,)


def test_slices_are_those_of_the_commits(lake: Lake) -> None:
    lake.write("a")
    lake.write("b", run_period="2026-02", mode="append")
    owners = {slice_.period: slice_.owner for slice_ in WRITER.slices(lake.target(mode="replace"))}
    assert owners == {"2026-01": lake.target().owner, "2026-02": None}
    WRITER.drop_slice(lake.target())
    assert [slice_.period for slice_ in WRITER.slices(lake.target(mode="replace"))] == ["2026-02"]
    assert lake.rows() == [("b", "2026-02")]
    lake.write("c", mode="replace", run_period="2026-03")
    assert [slice_.period for slice_ in WRITER.slices(lake.target(mode="replace"))] == ["2026-03"]


def test_a_slice_is_dropped_once(lake: Lake) -> None:
    lake.write("ab")
    drop = lake.target(run_id="drop-1")
    assert (WRITER.drop_slice(drop).rows, WRITER.drop_slice(drop).is_repeat) == (2, True)
    assert operations(lake)[1:] == [Operation.OVERWRITE]


def test_a_folder_with_committed_files_is_not_thrown_away_when_its_snapshot_has_expired(lake: Lake) -> None:
    target = lake.target()
    lake.write("a", target)
    lake.append_as_another("x", "2026-02")
    lake.expire_all_but()
    stray = lake.stage(target, "b")
    WRITER.discard(target)
    assert not Path(stray.staging).exists()
    assert lake.rows() == [("a", "2026-01"), ("x", "2026-02")]


def test_files_of_a_slice_that_others_share_are_not_replaced(lake: Lake) -> None:
    with lake.catalog() as catalog:
        catalog.create_namespace_if_not_exists("close")
        schema = pa.schema([("key", pa.string()), ("amount", pa.decimal128(18, 2)), ("_run_period", pa.string())])
        table = catalog.create_table("close.journal", schema)
        rows = [{"key": "x", "amount": None, "_run_period": period} for period in ("2026-01", "2026-02")]
        table.append(pa.Table.from_pylist(rows, schema))
        with table.update_spec() as update:
            update.add_identity("_run_period")
    with pytest.raises(DaybookError) as caught:
        WRITER.check(lake.target())
    assert caught.value.code == "IO_021"
