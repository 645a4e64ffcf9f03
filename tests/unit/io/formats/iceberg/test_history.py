"""What others see of a table's history, and what maintenance leaves of it."""

from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.exceptions import CommitFailedException

from daybook.errors import DaybookError
from daybook.io.format import HoldingStore, VersionHolder
from daybook.io.formats.iceberg.format import FORMAT
from daybook.io.formats.iceberg.history import SnapshotVersion
from daybook.io.formats.iceberg.table import find_iceberg
from daybook.io.pins import TablePin
from daybook.model.definition import TableVersion
from tests.unit.io.formats.iceberg.lake import Lake, request

STORE = HoldingStore("sqlite:///store.db", "w1")
HOLDER = VersionHolder(STORE, "net.sales-v2", 3)


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(tmp_path)


def version(lake: Lake, keys: str, period: str = "2026-01") -> TableVersion:
    written = lake.write(keys, run_period=period).version
    assert written is not None
    return written


def pin(lake: Lake) -> TablePin:
    return find_iceberg(*request(lake)).pin


def test_a_tag_holds_a_version_through_the_expiry_of_others(lake: Lake) -> None:
    held, lost = version(lake, "a"), version(lake, "b")
    version(lake, "c")
    FORMAT.hold_version(lake.location, held, HOLDER, lake.root)
    FORMAT.hold_version(lake.location, held, HOLDER, lake.root)
    with lake.table() as table:
        assert table.refs()["daybook-w1-net.sales-v2-v3"].snapshot_id == int(held.token)
    lake.expire_all_but()
    snapshot_id = SnapshotVersion.of(held).snapshot_id
    assert lake.rows(snapshot_id) == [("a", "2026-01")]
    with pytest.raises(DaybookError) as caught:
        find_iceberg(*request(lake, pin=TablePin(lake.location.label, lost, pin(lake).table_id)))
    assert caught.value.code == "IO_009"


def test_a_released_version_loses_its_tag_and_no_snapshot(lake: Lake) -> None:
    held = version(lake, "a")
    FORMAT.hold_version(lake.location, held, HOLDER, lake.root)
    assert FORMAT.versions_held_by(lake.location, STORE, lake.root) == ((held, HOLDER),)
    assert FORMAT.versions_held_by(lake.location, HoldingStore("sqlite:///store.db", "w2"), lake.root) == ()
    for _ in range(2):
        FORMAT.release_version(lake.location, held, HOLDER, lake.root)
    with lake.table() as table:
        assert list(table.refs()) == ["main"]
        assert [str(snapshot.snapshot_id) for snapshot in table.snapshots()] == [held.token]


def test_the_newest_version_holds_later_commits_too(lake: Lake) -> None:
    first = version(lake, "a")
    second = version(lake, "b", "2026-02")
    assert FORMAT.newest_version(lake.location, first, lake.root) == second
    assert FORMAT.newest_version(lake.location, TableVersion("iceberg", "17"), lake.root).token == "17"


def test_only_commits_with_rows_and_renamed_columns_are_changes(lake: Lake) -> None:
    version(lake, "a")
    before = pin(lake)
    assert not FORMAT.has_changed(before, lake.location, lake.root)
    with lake.table() as table:
        with table.update_schema() as update:
            update.rename_column("amount", "total")
        # Under the name of before there is nothing to read, or something else.
        assert FORMAT.has_changed(before, lake.location, lake.root)
        with table.update_schema() as update:
            update.rename_column("total", "amount")
        with table.transaction() as transaction:
            transaction.set_properties(owner="someone")
    assert not FORMAT.has_changed(before, lake.location, lake.root)
    lake.append_as_another("x", "2026-02")
    assert FORMAT.has_changed(before, lake.location, lake.root)


def test_a_history_that_was_cut_counts_as_a_change(lake: Lake) -> None:
    version(lake, "a")
    before = pin(lake)
    version(lake, "b", "2026-02")
    version(lake, "c", "2026-03")
    lake.expire_all_but()
    assert FORMAT.has_changed(before, lake.location, lake.root)


def test_a_pinned_table_that_was_made_again_or_whose_snapshot_expired_is_another_one(lake: Lake) -> None:
    version(lake, "a")
    before = pin(lake)
    FORMAT.verify_pin(before, lake.location, lake.root)
    version(lake, "b")
    FORMAT.verify_pin(before, lake.location, lake.root)
    lake.expire_all_but()
    with pytest.raises(DaybookError) as caught:
        FORMAT.verify_pin(before, lake.location, lake.root)
    assert caught.value.code == "IO_008"
    with lake.catalog() as catalog:
        catalog.drop_table("close.journal")
    version(lake, "a")
    with pytest.raises(DaybookError) as caught:
        FORMAT.verify_pin(before, lake.location, lake.root)
    assert caught.value.code == "IO_008"


def test_a_tag_is_set_beside_commits_of_others(lake: Lake) -> None:
    held = version(lake, "a")
    others = iter("xyz")
    load = SqlCatalog.commit_table

    def commit_after_another(self: SqlCatalog, *arguments: Any) -> Any:
        for key in others:
            with patch.object(SqlCatalog, "commit_table", load):
                lake.append_as_another(key, "2026-02")
            raise CommitFailedException("Table has been updated by another process")
        return load(self, *arguments)

    with patch.object(SqlCatalog, "commit_table", commit_after_another):
        FORMAT.hold_version(lake.location, held, HOLDER, lake.root)
    assert FORMAT.versions_held_by(lake.location, STORE, lake.root) == ((held, HOLDER),)
