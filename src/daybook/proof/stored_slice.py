"""The rows of a sealed output, as its target has them, read without Spark."""

import hashlib
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from daybook.io.filesystem import arrow_path
from daybook.io.landing.area import LandingArea
from daybook.io.source_rows import read_source_rows
from daybook.io.stored_rows import dataset_of
from daybook.io.target import Target
from daybook.model.definition import TableVersion
from daybook.model.types import RUN_PERIOD_COLUMN, ColumnType
from daybook.proof.row_digest import digest_rows
from daybook.proof.row_encoding import RowsDigest
from daybook.resolve.location import Resolution, is_one_file
from daybook.resolve.paths import is_remote
from daybook.runs.outputs import PlannedOutput

_CHUNK_BYTES = 1 << 20


def sealed_version(target: Target, committed: TableVersion | None) -> TableVersion | None:
    """The version to read: of a table that collects periods the newest, since other slices may change.

    A table that a run replaces belongs to the period that was run last, so that its committed version counts.
    """
    return None if target.run_period is not None else committed


def stored_columns(planned: PlannedOutput) -> dict[str, ColumnType]:
    """The columns as the output stores them, in order; the period of the slice is none of them."""
    return {column.name: column.type for column in planned.target.columns if column.name != RUN_PERIOD_COLUMN}


@contextmanager
def stored_slice(planned: PlannedOutput, version: TableVersion | None) -> Iterator[Iterator[tuple[Any, ...]]]:
    """The rows of an output's slice, or of its whole target where that collects none."""
    target = planned.target
    columns = stored_columns(planned)
    with tempfile.TemporaryDirectory(prefix="daybook-rows-") as folder:
        # Not the landing of the workspace: it may be older than the data, and reading must not write to it.
        landing = LandingArea(folder, "rows", target.storage)
        period = (target.run_period,) if target.run_period is not None else ()
        resolution = Resolution((replace(target.location, version=version),), period)
        source = read_source_rows(resolution, dataset_of(target.columns), [landing], workspace=target.workspace)
        names = (*source.columns, *source.carried)
        positions = [names.index(name) for name in columns]
        slice_position = names.index(RUN_PERIOD_COLUMN) if RUN_PERIOD_COLUMN in names else None
        yield (
            tuple([row[position] for position in positions])
            for row in source.rows()
            if slice_position is None or target.run_period is None or row[slice_position] == target.run_period
        )


def digest_slice(planned: PlannedOutput, version: TableVersion | None) -> RowsDigest:
    with stored_slice(planned, version) as rows:
        return digest_rows(stored_columns(planned), rows)


def digest_file(target: Target) -> str | None:
    """SHA-256 of the bytes of an output that is one file; None for tables and folders."""
    uri = target.location.uri
    if uri is None or not is_one_file(target.format, uri):
        return None
    place = arrow_path(uri if is_remote(uri) else str(target.workspace / Path(uri)), target.storage)
    digest = hashlib.sha256()
    with place.system.open_input_stream(place.path) as stream:
        while chunk := stream.read(_CHUNK_BYTES):
            digest.update(chunk)
    return digest.hexdigest()


def gives_rows_back(target: Target) -> bool:
    """Whether the rows can be read back as they were written; otherwise only the bytes of the file are sealed."""
    options: Mapping[str, Any] = target.options
    return target.format != "xlsx" and not options.get("spreadsheet_safe")
