"""Writes Iceberg tables: Spark writes the files, pyiceberg commits them as one snapshot."""

import hashlib
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
from pyarrow import fs
from pyiceberg.catalog import Catalog
from pyiceberg.exceptions import (
    CommitFailedException,
    CommitStateUnknownException,
    ServerError,
    ServiceUnavailableError,
    TableAlreadyExistsError,
    ValidationException,
)
from pyiceberg.expressions import AlwaysTrue, BooleanExpression
from pyiceberg.io.pyarrow import (
    compute_statistics_plan,
    data_file_statistics_from_parquet_metadata,
    parquet_path_to_id_mapping,
)
from pyiceberg.manifest import DataFile, DataFileContent, FileFormat
from pyiceberg.schema import Schema
from pyiceberg.table import Table, Transaction
from pyiceberg.typedef import Record
from pyiceberg.types import NestedField
from sqlalchemy.exc import SQLAlchemyError

from daybook.errors import DaybookError
from daybook.expression import quote_identifier
from daybook.io.filesystem import arrow_path, join_uri, local_path, remove_folder, spark_uri
from daybook.io.formats.iceberg.catalog import (
    catalog_errors,
    create_namespace,
    create_table,
    has_own_data_folder,
    load_table,
    opened_catalog,
    opened_table,
    table_identifier,
)
from daybook.io.formats.iceberg.columns import (
    change_columns,
    change_partitions,
    iceberg_type,
    kept_types,
    new_partition_spec,
    new_schema,
    partition_names,
    planned_field_ids,
    slice_predicate,
    written_columns,
)
from daybook.io.formats.iceberg.history import (
    SnapshotVersion,
    find_commit,
    is_cut_after,
    is_made_by,
    place_of,
    slice_properties,
    snapshot_properties,
    written_slices,
)
from daybook.io.formats.iceberg.table import data_folder, plan_files, referenced_folders
from daybook.io.formats.parquet.format import FIELD_ID
from daybook.io.iceberg_names import stored_name
from daybook.io.target import OutputColumn, TableTarget, WrittenSlice
from daybook.io.writer import (
    CheckedTarget,
    Commit,
    Fence,
    FingerprintObserver,
    StagedFile,
    StagedOutput,
    check_schema_change,
    fit_columns,
    no_fence,
    remove_tree,
    staged_parquet_files,
    translate_spark_failures,
    write_options,
)
from daybook.model.types import RUN_PERIOD_COLUMN

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_ATTEMPTS = 30
# Of the catalog, in one commit.
_MOST_DISTURBANCES = 3
_BOUNDS = ("lower_bounds", "upper_bounds")


@dataclass(frozen=True, slots=True)
class StagingPlace:
    """Where the files of an output are written, and the field ids that its columns have there."""

    folder: str
    field_ids: dict[str, int]


class IcebergWriter:
    def check(self, target: TableTarget) -> CheckedTarget:
        with opened_table(target.location, target.workspace, target.storage) as table:
            if table is None:
                return CheckedTarget()
            fitted: tuple[OutputColumn, ...] = ()
            if find_commit(table, target) is None:
                _check_history(table, target)
                existing = kept_types(table, target)
                fitted = fit_columns(target, existing)
                _check_table(table, target, fitted or target.columns)
            return CheckedTarget(written_slices(table, target), _slice_state(table, target), fitted)

    def stage(self, df: "DataFrame", target: TableTarget, checked: CheckedTarget | None = None) -> StagedOutput:
        from pyspark.sql import functions as F

        with opened_catalog(target.datasource, target.workspace, target.storage, creates=True) as catalog:
            assert catalog is not None
            table = load_table(catalog, target.location, target.storage)
            seen = _seen(table, target) if checked is None else checked.seen
            place = staging_place(catalog, table, target)
            properties = {} if table is None else dict(table.properties)
        watch = FingerprintObserver(target.columns, takes_fingerprint=False)
        rows = watch.on(df)
        columns = [
            F.col(quote_identifier(column.name)).alias(name, metadata={FIELD_ID: place.field_ids[name]})
            for column in target.columns
            for name in (stored_name(column.name),)
        ]
        if target.run_period is not None:
            period = F.lit(target.run_period)
            columns.append(period.alias(RUN_PERIOD_COLUMN, metadata={FIELD_ID: place.field_ids[RUN_PERIOD_COLUMN]}))
        with translate_spark_failures(target):
            writer = rows.select(*columns).write.options(**write_options(place.folder, target.storage))
            writer.mode("error").parquet(spark_uri(place.folder, target.storage))
        schema = schema_of_files(target, place.field_ids)
        files = staged_parquet_files(
            place.folder, lambda footer: describe_file(footer, schema, properties), target.storage
        )
        count = sum(file.rows for file in files)
        return StagedOutput(place.folder, count, files=files, digest=watch.digest, seen=seen)

    def commit(self, staged: StagedOutput, target: TableTarget, fence: Fence = no_fence) -> Commit:
        with opened_catalog(target.datasource, target.workspace, target.storage, creates=True) as catalog:
            assert catalog is not None
            attempts = _Attempts(target)
            for _ in range(_ATTEMPTS):
                table = load_table(catalog, target.location, target.storage)
                if table is not None:
                    if (repeat := find_commit(table, target)) is not None:
                        return repeat
                    _check_table(table, target, target.columns)
                    _check_slice(table, staged, target)
                fence(() if table is None else written_slices(table, target))
                with attempts.another():
                    snapshot_id = _commit_files(catalog, table, staged, target)
                if attempts.is_made:
                    return Commit(staged.rows, SnapshotVersion(snapshot_id).version)
        raise DaybookError("IO_024", location=target.label, slice=target.slice_note)

    def committed(self, target: TableTarget) -> Commit | None:
        with opened_table(target.location, target.workspace, target.storage) as table:
            return None if table is None else find_commit(table, target)

    def slices(self, target: TableTarget) -> tuple[WrittenSlice, ...]:
        with opened_table(target.location, target.workspace, target.storage) as table:
            return () if table is None else written_slices(table, target)

    def drop_slice(self, target: TableTarget, fence: Fence = no_fence) -> Commit:
        attempts = _Attempts(target)
        with opened_catalog(target.datasource, target.workspace, target.storage) as catalog:
            for _ in range(_ATTEMPTS):
                table = None if catalog is None else load_table(catalog, target.location, target.storage)
                if table is None:
                    raise DaybookError("IO_001", location=target.label)
                if (repeat := find_commit(table, target)) is not None:
                    return repeat
                removed = _live_files(table, target)
                staged = StagedOutput("", sum(file.record_count for file in removed))
                fence(written_slices(table, target))
                with attempts.another():
                    snapshot_id = _replace_files(table, (), removed, staged, target, is_dropped=True)
                if attempts.is_made:
                    return Commit(staged.rows, SnapshotVersion(snapshot_id).version)
        raise DaybookError("IO_024", location=target.label, slice=target.slice_note)

    def discard(self, target: TableTarget) -> None:
        """Staged folders that no snapshot of the table refers to."""
        with opened_catalog(target.datasource, target.workspace, target.storage) as catalog:
            if catalog is None:
                return
            table = load_table(catalog, target.location, target.storage)
            folder = _data_folder(catalog, table, target)
            names = [] if folder is None else _staged_names(folder, target)
            needed = _needed_folders(table, names, target)
        for name in names:
            if name not in needed:
                staged = join_uri(folder or "", name)
                if (path := local_path(staged)) is not None:
                    remove_tree(path)
                else:
                    remove_folder(staged, target.storage)


def staging_place(catalog: Catalog, table: Table | None, target: TableTarget) -> StagingPlace:
    folder = _data_folder(catalog, table, target, creates=True)
    return StagingPlace(join_uri(folder or "", target.new_attempt_name()), planned_field_ids(table, target))


def _data_folder(catalog: Catalog, table: Table | None, target: TableTarget, *, creates: bool = False) -> str | None:
    """The folder of the table's files, also of a table to be created; None where its namespace does not exist."""
    if table is not None:
        return data_folder(table.location(), table.properties)
    namespace = table_identifier(target.location)[:-1]
    with catalog_errors(target.label, "IO_026" if creates else "IO_012"):
        if creates:
            create_namespace(catalog, target.location)
        elif not catalog.namespace_exists(namespace):
            return None
        # Nothing is created before this transaction is committed.
        schema = new_schema(target)
        new = create_table(catalog, target.location, schema, new_partition_spec(schema, target), target.storage)
    return data_folder(new.table_metadata.location, new.table_metadata.properties)


def _staged_names(folder: str, target: TableTarget) -> list[str]:
    at = arrow_path(folder, target.storage)
    items = at.system.get_file_info(fs.FileSelector(at.path, allow_not_found=True))
    return [item.base_name for item in items if item.base_name.startswith(f"{target.staging_key}.")]


def _needed_folders(table: Table | None, names: Sequence[str], target: TableTarget) -> set[str]:
    if table is None or not names:
        return set()
    committed = {place_of(snapshot) for snapshot in table.snapshots() if is_made_by(snapshot, target)}
    # Where the snapshot has expired, files may still be part of later ones.
    return {name for name in names if name in committed} or referenced_folders(table, names)


def _seen(table: Table | None, target: TableTarget) -> str | None:
    return None if table is None else _slice_state(table, target)


def _slice_state(table: Table, target: TableTarget) -> str | None:
    """A digest of the files of the slice or table; None for an append, which does not depend on them."""
    if target.mode == "append":
        return None
    paths = [file.file_path for file in _live_files(table, target)]
    return hashlib.blake2b("\n".join(paths).encode(), digest_size=10).hexdigest()


def _live_files(table: Table, target: TableTarget) -> list[DataFile]:
    """The files that a commit replaces: those of the slice, or all; IO_021 for one that other slices share."""
    if table.current_snapshot() is None:
        return []
    if target.mode != "replace_period":
        return [task.file for task in plan_files(table.scan(), target.label)]
    if RUN_PERIOD_COLUMN not in table.schema().column_names:
        return []
    files = [task.file for task in plan_files(table.scan(_slice_predicate(target)), target.label)]
    specs = table.specs()
    source_id = table.schema().find_field(RUN_PERIOD_COLUMN).field_id
    for file in files:
        if [field.source_id for field in specs[file.spec_id].fields] != [source_id]:
            difference = f"{file.file_path} is not divided by {RUN_PERIOD_COLUMN}"
            raise DaybookError("IO_021", location=target.label, difference=difference)
    return files


def _slice_predicate(target: TableTarget) -> BooleanExpression:
    return slice_predicate((target.run_period or "",)) if target.mode == "replace_period" else AlwaysTrue()


def _check_history(table: Table, target: TableTarget) -> None:
    """IO_062 for an append whose earlier attempt may have expired: it could not be found, and would append twice."""
    if target.mode != "append" or target.facts is None:
        return
    if is_cut_after(table, int(target.facts.timestamp.timestamp() * 1000)):
        raise DaybookError("IO_062", location=target.label)


def _check_table(table: Table, target: TableTarget, columns: tuple[OutputColumn, ...]) -> None:
    if target.mode == "error":
        raise DaybookError("IO_020", location=target.label)
    if target.mode == "replace":
        return
    names, expected = partition_names(table), [RUN_PERIOD_COLUMN] if target.run_period is not None else []
    if names != expected:
        difference = f"partitioned by {', '.join(names) or 'nothing'} instead of {', '.join(expected) or 'nothing'}"
        raise DaybookError("IO_021", location=target.label, difference=difference)
    check_schema_change(replace(target, columns=columns), kept_types(table, target))


def _check_slice(table: Table, staged: StagedOutput, target: TableTarget) -> None:
    if target.mode == "append":
        return
    if staged.seen is not None and _slice_state(table, target) != staged.seen:
        raise DaybookError("IO_024", location=target.label, slice=target.slice_note)
    if staged.rows == 0 and not target.allow_empty:
        rows = sum(file.record_count for file in _live_files(table, target))
        if rows:
            raise DaybookError("IO_023", location=target.label, rows=rows, slice=target.slice_note)


@dataclass(slots=True)
class _Attempts:
    """A refused commit is tried again from the table as it is then, and so are a few whose answer was lost.

    What is there already is found by its snapshot's properties.
    """

    target: TableTarget
    is_made: bool = False
    disturbances: int = 0

    @contextmanager
    def another(self) -> Iterator[None]:
        with catalog_errors(self.target.label, "IO_026"):
            try:
                yield
            except (CommitFailedException, TableAlreadyExistsError, ValidationException, SQLAlchemyError):
                return
            except (CommitStateUnknownException, ServerError, ServiceUnavailableError, OSError) as failure:
                # What the disk of this machine refuses has a number; what a connection loses has none.
                is_of_network = not isinstance(failure, OSError) or failure.errno is None
                self.disturbances += 1
                if not is_of_network or self.disturbances > _MOST_DISTURBANCES:
                    raise
                return
        self.is_made = True


def _commit_files(catalog: Catalog, table: Table | None, staged: StagedOutput, target: TableTarget) -> int:
    if table is None:
        schema = new_schema(target)
        # The table is created at the location below which its files were staged.
        folder, _, name = staged.staging.rpartition("/")[0].rpartition("/")
        location = folder if name == "data" and not has_own_data_folder(catalog) else None
        spec = new_partition_spec(schema, target)
        transaction = create_table(catalog, target.location, schema, spec, target.storage, location)
        return _commit_snapshot(transaction, None, _data_files(transaction, staged, target), (), staged, target)
    removed = [] if target.mode == "append" else _live_files(table, target)
    return _replace_files(table, staged.files, removed, staged, target)


def _replace_files(
    table: Table,
    added: Sequence[StagedFile],
    removed: Sequence[DataFile],
    staged: StagedOutput,
    target: TableTarget,
    *,
    is_dropped: bool = False,
) -> int:
    transaction = table.transaction()
    files: list[DataFile] = []
    if added:
        change_partitions(transaction, table, target)
        change_columns(transaction, table, target)
        files = _data_files(transaction, staged, target)
    return _commit_snapshot(transaction, table, files, removed, staged, target, is_dropped=is_dropped)


def _commit_snapshot(
    transaction: Transaction,
    table: Table | None,
    added: Sequence[DataFile],
    removed: Sequence[DataFile],
    staged: StagedOutput,
    target: TableTarget,
    *,
    is_dropped: bool = False,
) -> int:
    """Commit added and removed files as one snapshot, so that no reader sees one without the other."""
    properties = slice_properties(table, target, staged.rows, is_dropped=is_dropped)
    if properties.removed:
        transaction.remove_properties(*properties.removed)
    if properties.changed:
        transaction.set_properties(dict(properties.changed))
    update = transaction.update_snapshot(snapshot_properties(target, staged, is_dropped=is_dropped))
    if target.mode == "append":
        producer: Any = update.fast_append()
    else:
        producer = update.overwrite()
        # Only writers of the same slice are in conflict.
        producer.delete_by_predicate(_slice_predicate(target))
    for file in added:
        producer.append_data_file(file)
    for file in removed:
        producer.delete_data_file(file)
    producer.commit()
    transaction.commit_transaction()
    return int(producer.snapshot_id)


def _data_files(transaction: Transaction, staged: StagedOutput, target: TableTarget) -> list[DataFile]:
    """The staged files; IO_024 where the columns of the table now have other field ids than the files."""
    metadata = transaction.table_metadata
    ids = {column.name: column.field_id for column in metadata.schema().fields}
    values = {} if target.run_period is None else {0: target.run_period}
    files = []
    for staged_file in staged.files:
        # Files without rows are left out.
        if not staged_file.rows:
            continue
        described = json.loads(staged_file.described or "{}")
        if any(ids.get(name) != number for name, number in described["field_ids"].items()):
            raise DaybookError("IO_024", location=target.label, slice=target.slice_note)
        files.append(
            DataFile.from_args(
                content=DataFileContent.DATA,
                file_path=join_uri(staged.staging, staged_file.path),
                file_format=FileFormat.PARQUET,
                partition=Record(*values.values()),
                file_size_in_bytes=staged_file.size,
                sort_order_id=None,
                spec_id=metadata.default_spec_id,
                equality_ids=None,
                key_metadata=None,
                **_statistics(described["statistics"]),
            )
        )
    return files


def schema_of_files(target: TableTarget, field_ids: dict[str, int]) -> Schema:
    return Schema(
        *(
            NestedField(field_ids[column.name], column.name, iceberg_type(column.type), required=False)
            for column in written_columns(target)
        )
    )


def describe_file(footer: pq.FileMetaData, schema: Schema, properties: dict[str, str]) -> str:
    """The field ids and the statistics of a file, which readers use to skip it."""
    statistics = data_file_statistics_from_parquet_metadata(
        parquet_metadata=footer,
        stats_columns=compute_statistics_plan(schema, properties),
        parquet_column_mapping=parquet_path_to_id_mapping(schema),
    ).to_serialized_dict()
    plain = {
        name: {key: bound.hex() for key, bound in value.items()} if name in _BOUNDS else value
        for name, value in statistics.items()
    }
    ids = {column.name: column.field_id for column in schema.fields}
    return json.dumps({"field_ids": ids, "statistics": plain})


def _statistics(plain: dict[str, Any]) -> dict[str, Any]:
    """The statistics of `describe_file` as pyiceberg needs them: by field id, bounds as bytes."""

    def restored(name: str, value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        return {int(key): bytes.fromhex(item) if name in _BOUNDS else item for key, item in value.items()}

    return {name: restored(name, value) for name, value in plain.items()}
