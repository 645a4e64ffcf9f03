"""Finds what `daybook gc` may remove."""

import datetime
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, delete, exists, insert, or_, select

from daybook.model.definition import RegisteredDataPin
from daybook.store.database.runs import ACTIVE_STATUSES, to_run_record
from daybook.store.database.tables import (
    DEFINITION,
    DEFINITION_VERSION,
    EXPIRED_DATA,
    OUTPUT_COMMIT,
    PROJECT_INPUT,
    PROJECT_STATE,
    RUN,
    RUN_OPERATION,
    SLICE,
)
from daybook.store.records import RunRecord


@dataclass(frozen=True, slots=True)
class RegisteredVersion:
    """A version of a dataset that a run registered, and the data it stays readable as."""

    dataset_id: str
    version: int
    pin: RegisteredDataPin


class RetentionQueries:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def expired_runs(self, before: datetime.datetime) -> tuple[RunRecord, ...]:
        """Runs that ended before a time and wrote no slice that is still in place."""
        query = (
            select(RUN)
            .where(
                RUN.c.status.not_in(ACTIVE_STATUSES),
                RUN.c.finished_at < before,
                ~exists(select(SLICE.c.run_id).where(SLICE.c.run_id == RUN.c.id)),
            )
            .order_by(RUN.c.created_at)
        )
        return tuple(to_run_record(row) for row in self._connection.execute(query))

    def run_ids(self) -> frozenset[str]:
        """Every run that is known."""
        return frozenset(self._connection.execute(select(RUN.c.id)).scalars())

    def forget_runs(self, run_ids: Iterable[str]) -> None:
        """Remove runs with their snapshots, results and commits."""
        for run_id in run_ids:
            self._connection.execute(delete(RUN).where(RUN.c.id == run_id, RUN.c.status.not_in(ACTIVE_STATUSES)))

    def expired_versions(self, keep: int) -> tuple[RegisteredVersion, ...]:
        """Pinned data of registered versions beyond the newest `keep` that no project is pinned to."""
        newer = DEFINITION_VERSION.alias("newer")
        version = DEFINITION_VERSION
        query = (
            select(version.c.id, version.c.version, version.c.pin_uri, version.c.pin_version)
            .where(
                version.c.kind == "dataset",
                version.c.pin_uri.is_not(None),
                ~exists(
                    select(EXPIRED_DATA.c.version).where(
                        EXPIRED_DATA.c.dataset_id == version.c.id, EXPIRED_DATA.c.version == version.c.version
                    )
                ),
                exists(
                    select(newer.c.version).where(
                        newer.c.kind == "dataset",
                        newer.c.id == version.c.id,
                        newer.c.version == version.c.version + keep,
                    )
                ),
                ~exists(
                    select(PROJECT_INPUT.c.project_id)
                    .join(PROJECT_STATE, PROJECT_STATE.c.project_id == PROJECT_INPUT.c.project_id)
                    .join(
                        DEFINITION,
                        (DEFINITION.c.kind == "project") & (DEFINITION.c.id == PROJECT_INPUT.c.project_id),
                    )
                    .where(
                        or_(
                            PROJECT_INPUT.c.project_version == PROJECT_STATE.c.active_version,
                            PROJECT_INPUT.c.project_version == DEFINITION.c.latest_version,
                        ),
                        PROJECT_INPUT.c.dataset_id == version.c.id,
                        PROJECT_INPUT.c.version == version.c.version,
                        PROJECT_INPUT.c.is_pinned,
                    )
                ),
            )
            .order_by(version.c.id, version.c.version)
        )
        return tuple(
            RegisteredVersion(row.id, row.version, RegisteredDataPin(row.pin_uri, row.pin_version))
            for row in self._connection.execute(query)
        )

    def kept_versions(self, expired: Iterable[RegisteredVersion] = ()) -> tuple[RegisteredVersion, ...]:
        """Registered versions that stay readable as they were, but for the expired ones."""
        gone = {(item.dataset_id, item.version) for item in expired}
        gone |= {(row.dataset_id, row.version) for row in self._connection.execute(select(EXPIRED_DATA))}
        version = DEFINITION_VERSION
        query = select(version.c.id, version.c.version, version.c.pin_uri, version.c.pin_version).where(
            version.c.pin_uri.is_not(None)
        )
        return tuple(
            RegisteredVersion(row.id, row.version, RegisteredDataPin(row.pin_uri, row.pin_version))
            for row in self._connection.execute(query)
            if (row.id, row.version) not in gone
        )

    def inputs_read(self) -> dict[str, Mapping[str, Any]]:
        """What each run wrote down about the sources it read."""
        query = select(RUN_OPERATION.c.run_id, RUN_OPERATION.c.details).where(RUN_OPERATION.c.seq == 0)
        return {row.run_id: row.details for row in self._connection.execute(query)}

    def versioned_tables(self) -> tuple[tuple[str, str], ...]:
        """Every table that runs have written in a format that keeps versions: the format and the table's URI."""
        version = OUTPUT_COMMIT.c.table_version
        query = select(version, OUTPUT_COMMIT.c.destination).where(version.is_not(None))
        return tuple(sorted({(row.table_version.format, row.destination) for row in self._connection.execute(query)}))

    def mark_expired(self, expired: Iterable[RegisteredVersion], *, now: datetime.datetime) -> None:
        rows = [{"dataset_id": item.dataset_id, "version": item.version, "expired_at": now} for item in expired]
        if rows:
            self._connection.execute(insert(EXPIRED_DATA), rows)
