"""The run that made each snapshot of an Iceberg table, and the owners of its slices, as properties of the table.

A snapshot names its run, so that a run is not committed twice. The owners of slices are properties of the table, set
in the same commit: maintenance expires snapshots, and owners are needed for longer.
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from pyiceberg.exceptions import CommitFailedException
from pyiceberg.table import Table
from pyiceberg.table.snapshots import Operation, Snapshot

from daybook.io.format import HoldingStore, VersionHolder
from daybook.io.target import (
    DROP_MODE,
    SliceCommit,
    SliceOwner,
    TableTarget,
    WrittenSlice,
    affected_slices,
    slices_after,
)
from daybook.io.writer import Commit, StagedOutput
from daybook.model.definition import TableVersion

_RUN, _OPERATION, _SLICE = "daybook.run", "daybook.operation", "daybook.slice"
_OWNER, _FINGERPRINT, _ROWS, _PLACE = "daybook.owner", "daybook.fingerprint", "daybook.rows", "daybook.place"
# A property of the table; the name of the period follows.
_SLICE_PROPERTY = "daybook.slice."
# The token of a table without any snapshot.
_NO_SNAPSHOT = "0"
_FOREVER_MS = 2**63 - 1
_TAG_ATTEMPTS = 10


@dataclass(frozen=True, slots=True)
class SnapshotVersion:
    """A snapshot, and the schema where it is read by another one than its own."""

    snapshot_id: int | None
    schema_id: int | None = None

    @property
    def version(self) -> TableVersion:
        token = _NO_SNAPSHOT if self.snapshot_id is None else str(self.snapshot_id)
        return TableVersion("iceberg", token if self.schema_id is None else f"{token}.{self.schema_id}")

    @staticmethod
    def of(version: TableVersion) -> "SnapshotVersion":
        snapshot, _, schema = version.token.partition(".")
        return SnapshotVersion(None if snapshot == _NO_SNAPSHOT else int(snapshot), int(schema) if schema else None)


def current_version(table: Table) -> SnapshotVersion:
    """The table as it is now; columns may have changed since the last snapshot."""
    snapshot = table.current_snapshot()
    schema_id = table.metadata.current_schema_id
    if snapshot is None:
        return SnapshotVersion(None, schema_id)
    return SnapshotVersion(snapshot.snapshot_id, None if snapshot.schema_id == schema_id else schema_id)


def ancestors(table: Table) -> Iterator[Snapshot]:
    """The current snapshot and its ancestors, newest first, up to the first expired one."""
    snapshot = table.current_snapshot()
    while snapshot is not None:
        yield snapshot
        parent = snapshot.parent_snapshot_id
        snapshot = None if parent is None else table.snapshot_by_id(parent)


def is_made_by(snapshot: Snapshot, target: TableTarget) -> bool:
    facts = snapshot_facts(snapshot)
    return (facts.get(_RUN), facts.get(_OPERATION)) == (target.run_id, str(target.operation_seq))


def snapshot_facts(snapshot: Snapshot) -> Mapping[str, str]:
    return {} if snapshot.summary is None else snapshot.summary.additional_properties


def find_commit(table: Table, target: TableTarget) -> Commit | None:
    """The commit of this run and operation, if its snapshot has not expired."""
    for snapshot in ancestors(table):
        if is_made_by(snapshot, target):
            rows = int(snapshot_facts(snapshot).get(_ROWS, 0))
            return Commit(rows, SnapshotVersion(snapshot.snapshot_id).version, is_repeat=True)
    return None


def is_cut_after(table: Table, time_ms: int) -> bool:
    """Whether snapshots that were made after a time may have expired."""
    oldest: Snapshot | None = None
    for oldest in ancestors(table):
        if oldest.timestamp_ms <= time_ms:
            return False
    # Some programs remove the parent id of a snapshot when they expire the parent; the first snapshot has number 1.
    return oldest is not None and (oldest.parent_snapshot_id is not None or (oldest.sequence_number or 0) > 1)


def changes_data(snapshot: Snapshot) -> bool:
    """Whether rows were added or removed; rewriting files, as maintenance does, keeps the rows."""
    if snapshot.summary is None or snapshot.summary.operation == Operation.REPLACE:
        return snapshot.summary is None
    counts = ("added-data-files", "deleted-data-files", "added-delete-files", "removed-delete-files")
    facts = snapshot_facts(snapshot)
    return any(int(facts.get(count, 0)) for count in counts)


def snapshot_properties(target: TableTarget, staged: StagedOutput, *, is_dropped: bool = False) -> dict[str, str]:
    owner = target.owner
    properties = {
        _RUN: target.run_id,
        _OPERATION: str(target.operation_seq),
        _OWNER: json.dumps([owner.project_id, owner.operation_id, owner.workspace, owner.workspace_id]),
        _ROWS: str(staged.rows),
    }
    if target.run_period is not None:
        properties[_SLICE] = target.run_period
    if staged.digest is not None:
        properties[_FINGERPRINT] = staged.digest.rows
    if is_dropped:
        properties["daybook.dropped"] = "true"
    else:
        properties[_PLACE] = staged.staging.rpartition("/")[2]
    return properties


def place_of(snapshot: Snapshot) -> str | None:
    """The name of the folder with the files of a commit by Daybook."""
    return snapshot_facts(snapshot).get(_PLACE)


def stored_slices(table: Table) -> dict[str, WrittenSlice]:
    return {
        name.removeprefix(_SLICE_PROPERTY): _slice_from_json(name.removeprefix(_SLICE_PROPERTY), json.loads(text))
        for name, text in table.properties.items()
        if name.startswith(_SLICE_PROPERTY)
    }


def written_slices(table: Table, target: TableTarget) -> tuple[WrittenSlice, ...]:
    """The slices that a commit would write to or remove."""
    return affected_slices(stored_slices(table), target)


def slices_appended_to(table: Table) -> frozenset[str]:
    """The slices that were appended to since they were last replaced."""
    return frozenset(
        name.removeprefix(_SLICE_PROPERTY)
        for name, text in table.properties.items()
        if name.startswith(_SLICE_PROPERTY) and json.loads(text).get("is_appended")
    )


@dataclass(frozen=True, slots=True)
class SliceProperties:
    """The properties of a table that a commit sets and removes."""

    changed: Mapping[str, str]
    removed: tuple[str, ...]


def slice_properties(
    table: Table | None, target: TableTarget, rows: int, *, is_dropped: bool = False
) -> SliceProperties:
    before = {} if table is None else stored_slices(table)
    mode = DROP_MODE if is_dropped else target.mode
    after = slices_after(
        (
            *(_commit_of(slice_) for slice_ in before.values()),
            SliceCommit(target.run_id, mode, target.run_period, target.owner, rows),
        )
    )
    period = target.run_period
    changed = {}
    if period is not None and period in after:
        is_appended = mode == "append" and (period in before or after[period].owner is None)
        changed[_SLICE_PROPERTY + period] = _slice_to_json(after[period], is_appended=is_appended)
    return SliceProperties(changed, tuple(_SLICE_PROPERTY + name for name in before if name not in after))


def _commit_of(slice_: WrittenSlice) -> SliceCommit:
    """The commit that would leave a slice as it is."""
    mode = "append" if slice_.owner is None else "replace_period"
    return SliceCommit(slice_.run_id, mode, slice_.period, slice_.owner or SliceOwner("", ""), slice_.rows)


def _slice_to_json(slice_: WrittenSlice, *, is_appended: bool) -> str:
    owner = slice_.owner
    content = {
        "run": slice_.run_id,
        "rows": slice_.rows,
        "owner": None if owner is None else [owner.project_id, owner.operation_id, owner.workspace, owner.workspace_id],
        **({"is_appended": True} if is_appended else {}),
    }
    return json.dumps(content)


def _slice_from_json(period: str, content: Mapping[str, Any]) -> WrittenSlice:
    owner = content["owner"]
    return WrittenSlice(period, content["run"], None if owner is None else SliceOwner(*owner), content["rows"])


def tag_name(holder: VersionHolder) -> str:
    return f"{_tag_prefix(holder.store)}{holder.dataset_id}-v{holder.dataset_version}"


def _tag_prefix(store: HoldingStore) -> str:
    return f"daybook-{store.workspace_id}-"


def hold_version(table: Table, version: TableVersion, holder: VersionHolder) -> None:
    """Tag the snapshot, so that no maintenance expires it."""
    name, snapshot_id = tag_name(holder), SnapshotVersion.of(version).snapshot_id
    for is_last in _attempts():
        if snapshot_id is None or name in table.refs() or table.snapshot_by_id(snapshot_id) is None:
            return
        with _beside_others(table, is_last=is_last):
            # Without an age of its own, a tag expires by the default age of the table.
            table.manage_snapshots().create_tag(snapshot_id, name, max_ref_age_ms=_FOREVER_MS).commit()


def release_version(table: Table, holder: VersionHolder) -> None:
    name = tag_name(holder)
    for is_last in _attempts():
        if name not in table.refs():
            return
        with _beside_others(table, is_last=is_last):
            table.manage_snapshots().remove_tag(name).commit()


def _attempts() -> Iterator[bool]:
    return (number == _TAG_ATTEMPTS for number in range(1, _TAG_ATTEMPTS + 1))


@contextmanager
def _beside_others(table: Table, *, is_last: bool) -> Iterator[None]:
    """Ignores a conflict unless the attempt is the last one: a tag does not depend on other commits."""
    try:
        yield
    except CommitFailedException:
        if is_last:
            raise
        table.refresh()


def versions_held_by(table: Table, store: HoldingStore) -> tuple[tuple[TableVersion, VersionHolder], ...]:
    holders = []
    for name, ref in table.refs().items():
        dataset_id, _, number = name.removeprefix(_tag_prefix(store)).rpartition("-v")
        if name.startswith(_tag_prefix(store)) and number.isdecimal() and dataset_id:
            holder = VersionHolder(store, dataset_id, int(number))
            holders.append((SnapshotVersion(ref.snapshot_id).version, holder))
    return tuple(holders)
