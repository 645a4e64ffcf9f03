"""Rows staged as Spark leaves them, without the time that Spark takes."""

from typing import Any, Protocol

import pyarrow as pa
import pyarrow.parquet as pq

from daybook.io.filesystem import arrow_path, join_uri
from daybook.io.formats.delta.writer import DeltaWriter, file_statistics
from daybook.io.formats.files.one_object import staging_folder
from daybook.io.storage import Storage
from daybook.io.target import FileTarget, OutputColumn, SliceOwner
from daybook.io.writer import StagedOutput, staged_parquet_files
from daybook.model.types import parse_type
from daybook.resolve.location import Location

COLUMNS = (OutputColumn("id", parse_type("integer")), OutputColumn("amount", parse_type("decimal(18,2)")))
PERIOD = "2026-01"


class ReachedStore(Protocol):
    """A bucket or a container."""

    @property
    def uri(self) -> str: ...

    @property
    def storage(self) -> Storage: ...


def delta_target(bucket: ReachedStore, run_id: str, **given: Any) -> FileTarget:
    values = {"mode": "replace_period", "run_period": PERIOD, **given}
    location = Location("delta", uri=f"{bucket.uri}/lake/t")
    owner = SliceOwner("p", "op-1", "tests", "w")
    return FileTarget(
        location=location,
        columns=COLUMNS,
        run_id=run_id,
        operation_seq=1,
        owner=owner,
        storage=bucket.storage,
        **values,
    )


def rows(amount: str, count: int = 3) -> pa.Table:
    amounts = pa.array([amount] * count, pa.string()).cast(pa.decimal128(18, 2))
    return pa.table({"id": pa.array(range(count), pa.int64()), "amount": amounts})


def stage_delta(target: FileTarget, table: pa.Table) -> StagedOutput:
    place = join_uri(target.uri, target.new_attempt_name())
    at = arrow_path(f"{place}/_run_period={target.run_period}/part-0.parquet", target.storage)
    pq.write_table(table, at.path, filesystem=at.system, store_decimal_as_integer=True)
    checked = DeltaWriter().check(target)
    files = staged_parquet_files(place, lambda footer: file_statistics(footer, target.columns), target.storage)
    return StagedOutput(place, table.num_rows, files=files, seen=checked.seen)


def csv_target(bucket: ReachedStore, run_id: str, **given: Any) -> FileTarget:
    values = {"mode": "replace", **given}
    location = Location("csv", uri=f"{bucket.uri}/out/Bericht Jän.csv")
    owner = SliceOwner("p", "op-1", "tests", "w")
    storage = bucket.storage
    return FileTarget(
        location=location, columns=COLUMNS, run_id=run_id, operation_seq=1, owner=owner, storage=storage, **values
    )


def stage_csv(target: FileTarget, text: str, row_count: int) -> StagedOutput:
    work = staging_folder(target)
    at = arrow_path(join_uri(work, target.uri.rpartition("/")[2]), target.storage)
    with at.system.open_output_stream(at.path) as stream:
        stream.write(text.encode())
    return StagedOutput(work, row_count, "none")
