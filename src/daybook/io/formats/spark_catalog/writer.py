"""Writes tables of a catalog: rows are staged in a table, then one statement replaces those that meet a condition.

Delta and Iceberg do that atomically, and refuse the second of two writers who started from the same version. Other
providers delete first and insert afterwards, so that readers could see the table in between: they are refused.
"""

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, assert_never

from daybook.errors import DaybookError, Notice, notice
from daybook.expression import quote_identifier
from daybook.expression import spark_type as sql_type
from daybook.io.formats.spark_catalog.history import INFO_KEY, TableHistory, commit_info, read_history
from daybook.io.formats.spark_catalog.table import (
    CREATED_BY,
    CatalogTable,
    Provider,
    TableName,
    active_session,
    as_stored,
    drop_table,
    failure_reason,
    failure_text,
    find_table,
    new_table_provider,
    require_catalog_source,
    session_errors,
    staged_name,
    stored_name,
    stored_types,
    table_version,
    tables_beginning,
)
from daybook.io.target import DROP_MODE, OutputColumn, TableTarget, WrittenSlice, affected_slices, slices_after
from daybook.io.writer import (
    CheckedTarget,
    Commit,
    Fence,
    FingerprintObserver,
    StagedOutput,
    check_schema_change,
    fit_columns,
    kept_columns,
    no_fence,
)
from daybook.model.types import RUN_PERIOD_COLUMN, parse_type

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, DataFrameWriterV2, SparkSession

_ATTEMPTS = 5
_ATOMIC_PROVIDERS = "Delta and Iceberg"
# Texts of Spark, Delta and Iceberg for a conflict with another writer; Spark Connect passes only the text on.
_CONFLICTS = (
    "ConcurrentAppend",
    "ConcurrentDeleteRead",
    "ConcurrentDeleteDelete",
    "ConcurrentTransaction",
    "ConcurrentWrite",
    "ProtocolChanged",
    "MetadataChanged",
    "DELTA_CONCURRENT",
    "ValidationException",
    "CommitFailedException",
    # Whether it committed is found in the history before it is tried again.
    "CommitStateUnknownException",
    "Found conflicting files",
    "Found new conflicting",
    "TABLE_OR_VIEW_ALREADY_EXISTS",
    "AlreadyExistsException",
)

# Delta makes the log of a table before the catalog knows its name; a second creator meets the first one in between.
_HALF_CREATED = "DELTA_CREATE_TABLE_WITH_NON_EMPTY_LOCATION"
_CREATION_SECONDS = 30
_CREATION_INTERVAL = 0.2


@dataclass(frozen=True, slots=True)
class _CheckedState:
    """The state of a table when its target was checked: the last commit that replaced the slice, and the version."""

    replaced: str
    version: str

    @classmethod
    def parse(cls, text: str | None) -> "_CheckedState | None":
        if text is None:
            return None
        replaced, _, version = text.partition("|")
        return cls(replaced, version)

    def __str__(self) -> str:
        return f"{self.replaced}|{self.version}"


class CatalogWriter:
    def check(self, target: TableTarget) -> CheckedTarget:
        spark = active_session()
        name = TableName.of(target.location)
        table = find_table(spark, name)
        if table is None:
            self._new_provider(spark, target)
            return CheckedTarget(seen=str(_CheckedState("", "")))
        _require_atomic(table, target)
        history = read_history(spark, table)
        fitted: tuple[OutputColumn, ...] = ()
        if history.find(target.staging_key) is None:
            types = _kept_types(spark, table, target)
            fitted = fit_columns(target, types)
            _check_table(table, types, target, fitted or target.columns)
        return CheckedTarget(_affected(history, target), str(_seen(history, target)), fitted)

    def stage(self, df: "DataFrame", target: TableTarget, checked: CheckedTarget | None = None) -> StagedOutput:
        checked = checked or self.check(target)
        spark = active_session()
        table = find_table(spark, TableName.of(target.location))
        provider = table.provider if table is not None and table.provider else self._new_provider(spark, target)
        staging = TableName.of(target.location).beside(staged_name(target.new_attempt_name()))
        watch = FingerprintObserver(target.columns)
        try:
            as_stored(watch.on(df), provider).writeTo(staging.sql).using(provider).create()
        except session_errors() as failure:
            if _is_of_storage(failure):
                raise _write_error(target, failure) from failure
            raise
        return StagedOutput(staging.table, watch.rows, watch.fingerprint, seen=checked.seen, digest=watch.digest)

    def commit(self, staged: StagedOutput, target: TableTarget, fence: Fence = no_fence) -> Commit:
        spark = active_session()
        for _ in range(_ATTEMPTS):
            try:
                if (commit := self._try_commit(spark, staged, target, fence)) is not None:
                    return commit
            except session_errors() as failure:
                if _HALF_CREATED in failure_text(failure) and _is_created_soon(spark, target):
                    continue
                if not _is_conflict(failure):
                    raise _write_error(target, failure) from failure
        raise DaybookError("IO_024", location=target.label, slice=target.slice_note)

    def _try_commit(
        self, spark: "SparkSession", staged: StagedOutput, target: TableTarget, fence: Fence
    ) -> Commit | None:
        """The commit; None where the table was only created, or another writer was faster."""
        table = find_table(spark, TableName.of(target.location))
        rows = spark.table(TableName.of(target.location).beside(staged.staging).sql)
        provider = self._new_provider(spark, target) if table is None else _require_atomic(table, target)
        if table is None:
            fence(())
            write = _Write(target, staged.rows, target.mode, None, provider)
            write.create(_with_period(rows, target, {}, provider), staged)
            if provider == "delta":
                return None
        else:
            history = read_history(spark, table)
            if (repeat := _repeat(history, target, provider)) is not None:
                return repeat
            types = _kept_types(spark, table, target)
            _check_table(table, types, target, target.columns)
            self._check_slice(spark, history, staged, target)
            fence(_affected(history, target))
            _add_columns(spark, table, types, target)
            write = _Write(target, staged.rows, target.mode, history, provider)
            df = _with_period(rows, target, types, provider)
            self._replacement(spark, table, write)(df, staged)
        commit = self._own_commit(spark, target)
        if commit is not None:
            # The rows are committed; `daybook doctor` finds a staged table that cannot be removed now.
            self._drop_staged(spark, target, provider, staged.staging)
        return commit

    def committed(self, target: TableTarget) -> Commit | None:
        spark = active_session()
        table = find_table(spark, TableName.of(target.location))
        if table is None or table.provider is None:
            return None
        return _repeat(read_history(spark, table), target, table.provider)

    def slices(self, target: TableTarget) -> tuple[WrittenSlice, ...]:
        spark = active_session()
        table = find_table(spark, TableName.of(target.location))
        if table is None or table.provider is None:
            return ()
        return _affected(read_history(spark, table), target)

    def drop_slice(self, target: TableTarget, fence: Fence = no_fence) -> Commit:
        spark = active_session()
        table = find_table(spark, TableName.of(target.location))
        if table is None:
            raise DaybookError("IO_001", location=target.label)
        provider = _require_atomic(table, target)
        history = read_history(spark, table)
        if (repeat := _repeat(history, target, provider)) is not None:
            return repeat
        rows = _slice_rows(spark, target)
        fence(_affected(history, target))
        try:
            nothing = spark.table(table.name.sql).limit(0)
            seen = str(_seen(history, target))
            _Write(target, rows, DROP_MODE, history, provider).into(nothing, StagedOutput("", rows, seen=seen))
        except session_errors() as failure:
            if not _is_conflict(failure):
                raise _write_error(target, failure) from failure
            raise DaybookError("IO_024", location=target.label, slice=target.slice_note) from failure
        commit = self._own_commit(spark, target)
        if commit is None:
            raise DaybookError("IO_024", location=target.label, slice=target.slice_note)
        return commit

    def discard(self, target: TableTarget) -> None:
        spark = active_session()
        location = TableName.of(target.location)
        for name in tables_beginning(spark, location, staged_name(f"{target.staging_key}.")):
            staged = find_table(spark, location.beside(name))
            drop_table(spark, location.beside(name), staged.provider if staged else None)
        table = find_table(spark, TableName.of(target.location))
        if table is not None and table.is_created_by(target.staging_key) and not read_history(spark, table).has_writes:
            drop_table(spark, table.name, table.provider)

    def _replacement(
        self, spark: "SparkSession", table: CatalogTable, write: "_Write"
    ) -> "Callable[[DataFrame, StagedOutput], None]":
        """The statement for an existing table; replacing one with other columns or partitions defines it anew."""
        target = write.target
        if target.mode != "replace":
            return write.into
        has_other_partitions = table.partitions != _partitions(target)
        stored = _own_types(stored_types(spark, table), target)
        if not has_other_partitions and stored == {column.name: str(column.type) for column in target.columns}:
            return write.into
        return write.with_new_columns if table.provider == "delta" and not has_other_partitions else write.replace_table

    def _new_provider(self, spark: "SparkSession", target: TableTarget) -> Provider:
        """The provider of a new table; IO_032 where neither data source nor session names one."""
        source = require_catalog_source(target.datasource)
        provider = new_table_provider(spark, source)
        if provider is None:
            reason = f"nothing says whether catalog {source.options.catalog} makes tables of Delta or of Iceberg"
            hint = "write `provider: delta` or `provider: iceberg` into the options of the data source"
            raise DaybookError("IO_032", location=target.label, mode=target.mode, reason=reason, hint=hint)
        return provider

    def _check_slice(
        self, spark: "SparkSession", history: TableHistory, staged: StagedOutput, target: TableTarget
    ) -> None:
        if target.mode == "append":
            return
        seen = _CheckedState.parse(staged.seen)
        if seen is not None and _seen(history, target).replaced != seen.replaced:
            raise DaybookError("IO_024", location=target.label, slice=target.slice_note)
        if staged.rows == 0 and not target.allow_empty and (rows := _slice_rows(spark, target)):
            raise DaybookError("IO_023", location=target.label, rows=rows, slice=target.slice_note)

    def _own_commit(self, spark: "SparkSession", target: TableTarget) -> Commit | None:
        """The commit of this target; None where another writer was faster, which Delta does not report."""
        table = find_table(spark, TableName.of(target.location))
        entry = read_history(spark, table).find(target.staging_key) if table is not None else None
        if table is None or table.provider is None or entry is None:
            return None
        notices: tuple[Notice, ...] = ()
        if (duration := table.retention) is not None:
            notices = (notice("IO_083", location=target.label, duration=duration),)
        return Commit(entry.commit.rows or 0, table_version(table.provider, entry.token), notices=notices)

    def _drop_staged(self, spark: "SparkSession", target: TableTarget, provider: Provider, staging: str) -> None:
        with suppress(*session_errors()):
            drop_table(spark, TableName.of(target.location).beside(staging), provider)


@dataclass(frozen=True, slots=True)
class _Write:
    """One statement with the facts of the run that it records, and the state that it requires."""

    target: TableTarget
    rows: int
    mode: str
    history: TableHistory | None
    provider: Provider

    def create(self, df: "DataFrame", staged: StagedOutput) -> None:
        """Create a table of Iceberg with its rows; one of Delta empty, and marked as created by this output.

        Delta does not record user metadata when it creates a table with rows.
        """
        if self.provider == "iceberg":
            self._partitioned(self._writer(df, staged)).create()
            return
        empty = self._partitioned(df.limit(0).writeTo(TableName.of(self.target.location).sql))
        empty.tableProperty(CREATED_BY, self.target.staging_key).create()

    def replace_table(self, df: "DataFrame", staged: StagedOutput) -> None:
        """Replace all rows, the columns and the partitions."""
        self._partitioned(self._writer(df, staged)).createOrReplace()

    def with_new_columns(self, df: "DataFrame", staged: StagedOutput) -> None:
        """Replace all rows and the columns of a table of Delta, which detects other writers."""
        from pyspark.sql import functions as F

        self._writer(df, staged).option("overwriteSchema", "true").overwrite(F.lit(True))

    def _partitioned(self, writer: "DataFrameWriterV2") -> "DataFrameWriterV2":
        from pyspark.sql import functions as F

        writer = writer.using(self.provider)
        return writer.partitionedBy(F.col(RUN_PERIOD_COLUMN)) if self.target.run_period is not None else writer

    def into(self, df: "DataFrame", staged: StagedOutput) -> None:
        writer = self._writer(df, staged)
        if self.target.mode == "append":
            writer.append()
        else:
            writer.overwrite(self._condition())

    def _condition(self) -> "Column":
        from pyspark.sql import functions as F

        if self.target.mode == "replace_period":
            return F.col(RUN_PERIOD_COLUMN) == F.lit(self.target.run_period)
        return F.lit(True)

    def _writer(self, df: "DataFrame", staged: StagedOutput) -> "DataFrameWriterV2":
        writer = df.writeTo(TableName.of(self.target.location).sql)
        for name, value in self._options(staged).items():
            writer = writer.option(name, value)
        return writer

    def _options(self, staged: StagedOutput) -> dict[str, str]:
        info = commit_info(self.target, self.rows, self.mode)
        match self.provider:
            case "delta":
                application, number = self._transaction()
                return {"userMetadata": info, "txnAppId": application, "txnVersion": str(number)}
            case "iceberg":
                options = {f"snapshot-property.{INFO_KEY}": info}
                seen = _CheckedState.parse(staged.seen)
                if self.target.mode == "append" or self.history is None:
                    return options
                base = seen.version if seen is not None else self.history.newest
                return {
                    **options,
                    "isolation-level": "serializable",
                    **({"validate-from-snapshot-id": base} if base else {}),
                }
            case _:
                assert_never(self.provider)

    def _transaction(self) -> tuple[str, int]:
        """The transaction of a commit: Delta skips one with a number that is not higher than the last.

        A slice is numbered by the version of the commit that replaced it last, so that of two writers who started from
        the same version, the second is skipped. An append has a transaction of its own.
        """
        target = self.target
        if target.mode == "append" or self.history is None:
            return target.staging_key, 1
        replaced = self.history.last_replacement(target)
        # A replacement that the history no longer has is older than all its entries.
        number = (self.history.oldest if replaced is None else replaced) + 1
        is_slice = target.mode == "replace_period"
        return (f"daybook-slice-{target.run_period}" if is_slice else "daybook-table"), number


def _require_atomic(table: CatalogTable, target: TableTarget) -> Provider:
    """IO_032 for a table whose rows cannot be replaced in one step."""
    if table.provider is None:
        reason = f"{table.kind} cannot replace rows in one step; {_ATOMIC_PROVIDERS} can"
        hint = "write to another table, or make this one a table of Delta or Iceberg"
        raise DaybookError("IO_032", location=target.label, mode=target.mode, reason=reason, hint=hint)
    return table.provider


def _check_table(
    table: CatalogTable,
    types: Mapping[str, str | None],
    target: TableTarget,
    columns: tuple[OutputColumn, ...],
) -> None:
    if target.mode == "error" and not table.is_created_by(target.staging_key):
        raise DaybookError("IO_020", location=target.label)
    if target.mode == "replace":
        return
    if target.run_period is not None and RUN_PERIOD_COLUMN not in types:
        raise DaybookError("IO_021", location=target.label, difference=f"without {RUN_PERIOD_COLUMN}")
    # Files of Iceberg are replaced as a whole; Delta rewrites those that hold rows of other slices.
    if table.provider == "iceberg" and target.run_period is not None and RUN_PERIOD_COLUMN not in table.partitions:
        difference = f"partitioned by {', '.join(table.partitions) or 'nothing'} instead of {RUN_PERIOD_COLUMN}"
        raise DaybookError("IO_021", location=target.label, difference=difference)
    check_schema_change(replace(target, columns=columns), _own_types(types, target))


def _own_types(types: Mapping[str, str | None], target: TableTarget) -> dict[str, str | None]:
    """Without the column of the slice, which no output has."""
    return {name: type_ for name, type_ in types.items() if target.run_period is None or name != RUN_PERIOD_COLUMN}


def _kept_types(spark: "SparkSession", table: CatalogTable, target: TableTarget) -> dict[str, str | None]:
    """The columns of a table that a commit keeps, with their types; none for one that replaces the table."""
    return {} if target.mode == "replace" else stored_types(spark, table)


def _partitions(target: TableTarget) -> tuple[str, ...]:
    return (RUN_PERIOD_COLUMN,) if target.run_period is not None else ()


def _add_columns(
    spark: "SparkSession", table: CatalogTable, types: Mapping[str, str | None], target: TableTarget
) -> None:
    if target.mode == "replace":
        return
    added = [column for column in target.columns if column.name not in types]
    if added and table.provider is not None:
        names = [quote_identifier(stored_name(column.name, table.provider)) for column in added]
        defined = ", ".join(f"{name} {sql_type(column.type)}" for name, column in zip(names, added, strict=True))
        spark.sql(f"ALTER TABLE {table.name.sql} ADD COLUMNS ({defined})").collect()


def _with_period(
    df: "DataFrame", target: TableTarget, types: Mapping[str, str | None], provider: Provider
) -> "DataFrame":
    """The staged rows with the column of their slice, and NULL in columns that the table keeps."""
    from pyspark.sql import functions as F

    for column in kept_columns(target, _own_types(types, target)):
        df = df.withColumn(stored_name(column.name, provider), F.lit(None).cast(sql_type(parse_type(str(column.type)))))
    return df if target.run_period is None else df.withColumn(RUN_PERIOD_COLUMN, F.lit(target.run_period))


def _slice_rows(spark: "SparkSession", target: TableTarget) -> int:
    from pyspark.sql import functions as F

    df = spark.table(TableName.of(target.location).sql)
    if target.mode == "replace_period":
        df = df.where(F.col(RUN_PERIOD_COLUMN) == F.lit(target.run_period))
    return df.count()


def _seen(history: TableHistory, target: TableTarget) -> _CheckedState:
    number = history.last_replacement(target)
    replaced = next((entry.token for entry in history.commits if entry.number == number), "")
    return _CheckedState(replaced, history.newest)


def _affected(history: TableHistory, target: TableTarget) -> tuple[WrittenSlice, ...]:
    return affected_slices(slices_after(entry.commit for entry in history.commits), target)


def _repeat(history: TableHistory, target: TableTarget, provider: Provider) -> Commit | None:
    entry = history.find(target.staging_key)
    if entry is None:
        return None
    return Commit(entry.commit.rows or 0, table_version(provider, entry.token), is_repeat=True)


def _is_conflict(failure: Exception) -> bool:
    return any(sign in failure_text(failure) for sign in _CONFLICTS)


def _is_created_soon(spark: "SparkSession", target: TableTarget) -> bool:
    """Whether the catalog learns of a table that another writer is creating."""
    end = time.monotonic() + _CREATION_SECONDS
    while find_table(spark, TableName.of(target.location)) is None:
        if time.monotonic() > end:
            return False
        time.sleep(_CREATION_INTERVAL)
    return True


def _is_of_storage(failure: Exception) -> bool:
    """Whether the catalog or the storage failed, and not an expression, whose failures have a SQL state."""
    from pyspark.errors import PySparkException

    return not isinstance(failure, PySparkException) or failure.getSqlState() is None


def _write_error(target: TableTarget, failure: Exception) -> DaybookError:
    return DaybookError("IO_026", location=target.label, reason=failure_reason(failure))
