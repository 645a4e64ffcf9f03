"""The contract of writers: stage beside the target, compare columns, then make it the target in one atomic step.

What is written has a fingerprint that does not depend on order: every row is hashed over all its columns, each with
its position so that NULL leaves a mark, floats rounded to 12 significant digits; the halves of the hashes are summed,
so neither the order of rows nor their partitioning matters and equal rows count. Files and databases may have been
replaced by the time of a replay, so theirs is taken in the pass that writes. Files of a Delta version stay until they
are vacuumed, so theirs is taken from them when it is asked for: in the pass it would cost a third of the write.
"""

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import pyarrow as pa
import pyarrow.parquet as pq

from daybook.engine.counters import observe_rows, read_observation
from daybook.errors import DaybookError, Notice
from daybook.expression import quote_identifier
from daybook.io.filesystem import FileStat, arrow_path, list_files, relative_to
from daybook.io.storage import PROVIDER_STORAGE, Storage, bucket_of
from daybook.io.target import OutputColumn, Target, WrittenSlice
from daybook.model.definition import TableVersion
from daybook.model.types import TIME_COLUMNS, ColumnType, DecimalType, FloatType, IntegerType, parse_type

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

# Raises when the run may not commit; called right before the atomic step with the slices it writes to, as they are.
Fence = Callable[[tuple[WrittenSlice, ...]], None]


def no_fence(slices: tuple[WrittenSlice, ...]) -> None:
    """For writers outside of runs."""


@dataclass(frozen=True, slots=True)
class CheckedTarget:
    """A target that may be written, as it was when that was checked, so that staging need not look again."""

    # Those that a commit would write to or throw away.
    slices: tuple[WrittenSlice, ...] = ()
    # What the slice or table was, to notice another writer.
    seen: str | None = None
    # The output's columns in the table's types, where these hold what the output has; empty where all are the same.
    fitted: tuple[OutputColumn, ...] = ()


@dataclass(frozen=True, slots=True)
class StagedFile:
    """A staged data file; `path` is relative to the staging folder."""

    path: str
    size: int
    rows: int
    modified_ns: int = 0
    # What the format wants to say about the file when it is committed, taken from the footer that gave the rows.
    described: str | None = None


@dataclass(frozen=True, slots=True)
class RowsDigest:
    """Of the rows of an output, whatever their order: without the times at which rows were made, and with them."""

    rows: str
    with_times: str


@dataclass(frozen=True, slots=True)
class StagedOutput:
    """Data that was written but is not yet the target; `staging` is the folder or the table that holds it."""

    staging: str
    rows: int
    # None where the format takes it from the files of a commit when it is asked for.
    fingerprint: str | None = None
    files: tuple[StagedFile, ...] = ()
    # What the slice or table was when it was checked, to notice another writer.
    seen: str | None = None
    # How long writing took; a run measures it.
    duration_ms: int = 0
    # Of the rows, taken while they were written; slices without one are compared by the run that wrote them.
    digest: RowsDigest | None = None


@dataclass(frozen=True, slots=True)
class Commit:
    """What was made the target; `is_repeat` when an earlier attempt of the same run and operation had done it."""

    rows: int
    # Of formats whose versions stay readable.
    version: TableVersion | None = None
    is_repeat: bool = False
    notices: tuple[Notice, ...] = ()


TargetT = TypeVar("TargetT", bound=Target, contravariant=True)


class Writer(Protocol[TargetT]):
    """One format's way to write so that nothing is lost; stateless, safe to call again after any failure."""

    def check(self, target: TargetT) -> CheckedTarget:
        """Refuse, before any work, what would be refused at the commit: other columns, an existing target, a mode."""
        ...

    def stage(self, df: "DataFrame", target: TargetT, checked: CheckedTarget | None = None) -> StagedOutput:
        """Write the rows apart from the target; this is the Spark action. Removes what an ended attempt left there."""
        ...

    def commit(self, staged: StagedOutput, target: TargetT, fence: Fence = no_fence) -> Commit:
        """Make the staged data the target, exactly once per (run, operation)."""
        ...

    def committed(self, target: TargetT) -> Commit | None:
        """The commit of this (run, operation) if there was one."""
        ...

    def slices(self, target: TargetT) -> tuple[WrittenSlice, ...]:
        """The slices that a commit would write to or throw away, as the data itself has them."""
        ...

    def drop_slice(self, target: TargetT, fence: Fence = no_fence) -> Commit:
        """Remove the slice of the target's period, exactly once per (run, operation); IO_001 without a table."""
        ...

    def discard(self, target: TargetT) -> None:
        """Remove what is staged for this (run, operation); harmless after a commit."""
        ...


_MISSING_HINT = "write the missing columns too, or NULL in them with `on_schema_change: keep`"
_REPLACE_HINT = "`mode: replace` uses the new schema and replaces all rows"
_FIXED_COLUMNS_HINT = "Daybook cannot change the columns of this table: drop it, or write to another one"


@dataclass(frozen=True, slots=True)
class SchemaChange:
    """Columns to be added; everything else that differs is refused."""

    added: tuple[OutputColumn, ...] = ()


def declared_type_text(stored: pa.DataType) -> str:
    """The declared type an exact copy of the stored one would have."""
    if pa.types.is_string(stored) or pa.types.is_large_string(stored) or pa.types.is_string_view(stored):
        return "string"
    if pa.types.is_decimal(stored):
        return f"decimal({stored.precision},{stored.scale})"
    if pa.types.is_timestamp(stored) and stored.tz is not None:
        return "timestamp"
    names = {pa.int64(): "integer", pa.float64(): "float", pa.bool_(): "boolean", pa.date32(): "date"}
    return names.get(stored, str(stored))


def check_schema_change(
    target: Target, existing: Mapping[str, str | None], *, is_changeable: bool = True
) -> SchemaChange:
    """IO_021 with the difference; a type of None is one the format does not keep."""
    output_types = {column.name: str(column.type) for column in target.columns}
    added = tuple(column for column in target.columns if column.name not in existing)
    difference = [f"new {column.name} ({column.type})" for column in added]
    lacking = [f"missing {name}" for name in existing if name not in output_types]
    retyped = {
        name: stored
        for name, stored in existing.items()
        if name in output_types and stored is not None and stored != output_types[name]
    }
    is_refused = target.on_schema_change != "add"
    is_kept = target.on_schema_change == "keep"
    if (lacking and not is_kept) or retyped or (added and is_refused):
        changed = [
            f"{name} is {stored} in the table and {output_types[name]} in the output"
            for name, stored in retyped.items()
        ]
        ways = [
            *(_keep_type_hint(name, stored) for name, stored in retyped.items()),
            *([_MISSING_HINT] if lacking and not is_kept else []),
            *(["`on_schema_change: add` adds the new columns"] if added and is_refused and is_changeable else []),
            _REPLACE_HINT if is_changeable else _FIXED_COLUMNS_HINT,
        ]
        listed = "; ".join(difference + lacking + changed)
        raise DaybookError("IO_021", location=target.label, difference=listed, hint="; ".join(ways))
    return SchemaChange(added)


def fit_columns(target: Target, existing: Mapping[str, str | None]) -> tuple[OutputColumn, ...]:
    """The columns of an output in the types of its table: numbers of the same scale, or of a smaller one.

    Whether every value fits is seen when it is written. Empty where there is nothing to fit.
    """
    columns = tuple(
        replace(column, type=stored) if (stored := _wider_type(existing.get(column.name), column.type)) else column
        for column in target.columns
    )
    return columns if columns != target.columns else ()


def _wider_type(stored: str | None, type_: ColumnType) -> ColumnType | None:
    """The type that a table stores if it differs and holds as many places."""
    if stored is None or stored == str(type_) or not stored.startswith(("decimal", "integer")):
        return None
    stored_type = parse_type(stored)
    return stored_type if is_exact(type_) and is_exact(stored_type) and _places(type_) <= _places(stored_type) else None


def is_exact(type_: ColumnType) -> bool:
    return isinstance(type_, DecimalType | IntegerType)


def _places(type_: ColumnType) -> int:
    return type_.scale if isinstance(type_, DecimalType) else 0


def check_fitted(target: Target, existing: Mapping[str, str | None]) -> tuple[OutputColumn, ...]:
    """The columns as `fit_columns` gives them; IO_021 for differences that it cannot remove."""
    fitted = fit_columns(target, existing)
    check_schema_change(replace(target, columns=fitted or target.columns), existing)
    return fitted


def kept_columns(target: Target, existing: Mapping[str, str | None]) -> tuple[OutputColumn, ...]:
    """The columns of a table that an output no longer has and keeps, by `on_schema_change: keep`."""
    if target.on_schema_change != "keep" or target.mode not in ("replace_period", "append"):
        return ()
    own = {column.name for column in target.columns}
    return tuple(OutputColumn(name, parse_type(text or "string")) for name, text in existing.items() if name not in own)


def _keep_type_hint(name: str, stored: str) -> str:
    """No setting of an output changes a type, so the column has to keep the one it has."""
    return f"`type: {stored}` on the assignment or aggregation that computes {name} keeps its type"


# On object stores a move is a copy, so files are moved once, by the commit of their task, to the attempt's own folder.
# Attempts at a task give a file the same name, so one that is repeated replaces what an earlier one has moved.
_ONE_MOVE = {"mapreduce.fileoutputcommitter.algorithm.version": "2"}


def write_options(folder: str, storage: Storage) -> dict[str, str]:
    """What Spark is told to write part files into a folder of an attempt."""
    return {**storage.spark_options(folder), **(_ONE_MOVE if bucket_of(folder) is not None else {})}


_FOOTER_READERS = 8


@contextmanager
def translate_spark_failures(target: Target) -> Iterator[None]:
    """Failures that Spark hands on as they are, such as a full disk, become IO_026; its own errors pass."""
    try:
        yield
    except Exception as failure:
        java = getattr(failure, "java_exception", None)
        if java is None:
            raise
        while (cause := java.getCause()) is not None:
            java = cause
        raise DaybookError("IO_026", location=target.label, reason=str(java.getMessage())) from failure


def staged_parquet_files(
    folder: str,
    describe: Callable[[pq.FileMetaData], str] | None = None,
    storage: Storage = PROVIDER_STORAGE,
) -> tuple[StagedFile, ...]:
    """What Spark wrote, with what its footers say, in the order of its partitions; every footer is read once."""

    def with_rows(file: FileStat) -> StagedFile:
        arrow_file = arrow_path(file.path, storage)
        with arrow_file.system.open_input_file(arrow_file.path) as stream:
            footer = pq.read_metadata(stream)
        described = describe(footer) if describe else None
        return StagedFile(relative_to(file.path, folder), file.size, footer.num_rows, file.modified_ns, described)

    with ThreadPoolExecutor(_FOOTER_READERS) as pool:
        return tuple(pool.map(with_rows, list_files(folder, storage=storage)))


def remove_tree(path: Path) -> None:
    """A folder with all it holds; harmless when it is gone."""
    shutil.rmtree(path, ignore_errors=True)


def sync_to_disk(path: Path) -> None:
    """Make a file or the names in a folder survive a power cut."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


_LOW_HALF = 0xFFFFFFFF
_DIGITS = 12
# Takes the smallest numbers to where powers of ten have all their digits.
_TINY_EXPONENT_SHIFT = 200
ROWS = "rows"
_LOW_SUM = "low"
_HIGH_SUM = "high"


def fingerprint_aggregates(columns: Sequence[OutputColumn]) -> "list[Column]":
    """The aggregates to observe; `format_fingerprint` makes the text of their values."""
    from pyspark.sql import functions as F

    return [F.count(F.lit(1)).alias(ROWS), *hash_sums(row_hash(columns))]


def row_hash(columns: Sequence[OutputColumn]) -> "Column":
    from pyspark.sql import functions as F

    return F.xxhash64(*(part for index, column in enumerate(columns) for part in (F.lit(index), *_hash_inputs(column))))


def hash_sums(hashed: "Column", prefix: str = "") -> "list[Column]":
    """The aggregates of the hashes of rows."""
    from pyspark.sql import functions as F

    return [
        F.sum(hashed.bitwiseAND(F.lit(_LOW_HALF))).alias(f"{prefix}{_LOW_SUM}"),
        F.sum(F.shiftrightunsigned(hashed, 32)).alias(f"{prefix}{_HIGH_SUM}"),
    ]


def _hash_inputs(column: OutputColumn) -> "list[Column]":
    from pyspark.sql import functions as F

    value = F.col(quote_identifier(column.name))
    return float_digits(value) if isinstance(column.type, FloatType) else [value]


def float_digits(value: "Column") -> "list[Column]":
    """The first 12 significant digits of a float and its magnitude: equal for sums that differ in their last bits."""
    from pyspark.sql import functions as F

    # NaN, infinities and zero have no magnitude and stand for themselves.
    is_plain = (value != 0) & ~F.isnan(value) & (F.abs(value) != F.lit(float("inf")))
    magnitude = F.when(is_plain, F.floor(F.log10(F.abs(value))))
    # Of the smallest numbers of all the power of ten would be zero.
    is_tiny = magnitude < -300
    lifted = F.when(is_tiny, value * F.lit(10.0**_TINY_EXPONENT_SHIFT)).otherwise(value)
    power = F.when(is_tiny, magnitude + _TINY_EXPONENT_SHIFT).otherwise(magnitude)
    digits = F.round(lifted / F.pow(F.lit(10.0), power) * F.lit(10.0 ** (_DIGITS - 1)))
    # What is rounded up to the next power of ten is written as that.
    is_carried = F.abs(digits) >= 10.0**_DIGITS
    digits = F.when(is_carried, digits / 10).otherwise(digits)
    magnitude = F.when(is_carried, magnitude + 1).otherwise(magnitude)
    return [F.when(is_plain, digits).otherwise(value + F.lit(0.0)), magnitude]


def format_fingerprint(columns: Sequence[OutputColumn], observed: Mapping[str, Any], prefix: str = "") -> str:
    sums = [observed.get(f"{prefix}{_LOW_SUM}") or 0, observed.get(f"{prefix}{_HIGH_SUM}") or 0]
    content = [[[column.name, str(column.type)] for column in columns], observed[ROWS], sums]
    return hashlib.blake2b(json.dumps(content).encode(), digest_size=16).hexdigest()


def format_parts(columns: Sequence[OutputColumn], parts: Sequence[Mapping[str, Any]]) -> str:
    """The fingerprint of all rows from the aggregates of parts of them."""
    whole = {name: sum(part[name] or 0 for part in parts) for name in (ROWS, _LOW_SUM, _HIGH_SUM)}
    return format_fingerprint(columns, whole)


_WITHOUT_TIMES, _WITH_TIMES = "plain_", "timed_"


class FingerprintObserver:
    """Observes a frame while it is written; another query counts where Spark has lost what it observed.

    With `takes_fingerprint` also the fingerprint by which a replay is compared, which hashes all columns at once.
    """

    def __init__(self, columns: Sequence[OutputColumn], *, takes_fingerprint: bool = True) -> None:
        from pyspark.sql import Observation

        self._columns = tuple(columns)
        self._timeless = tuple(column for column in columns if column.name not in TIME_COLUMNS)
        self._takes_fingerprint = takes_fingerprint
        self._observation = Observation()
        self._df: DataFrame | None = None
        self._found: Mapping[str, Any] = {}

    def on(self, df: "DataFrame") -> "DataFrame":
        self._df = df
        first, *rest = self._aggregates()
        return observe_rows(df, self._observation, first, *rest)

    def _aggregates(self) -> "list[Column]":
        from pyspark.sql import functions as F

        timeless = row_hash(self._timeless)
        aggregates = [F.count(F.lit(1)).alias(ROWS), *hash_sums(timeless, _WITHOUT_TIMES)]
        if self._takes_fingerprint:
            aggregates += hash_sums(row_hash(self._columns))
        elif len(self._timeless) < len(self._columns):
            times = (F.col(quote_identifier(column.name)) for column in self._columns if column.name in TIME_COLUMNS)
            aggregates += hash_sums(F.xxhash64(timeless, *times), _WITH_TIMES)
        return aggregates

    @property
    def rows(self) -> int:
        return int(self._observed()[ROWS])

    @property
    def fingerprint(self) -> str:
        return format_fingerprint(self._columns, self._observed())

    @property
    def digest(self) -> RowsDigest:
        observed = self._observed()
        rows = format_fingerprint(self._timeless, observed, _WITHOUT_TIMES)
        if self._takes_fingerprint:
            return RowsDigest(rows, self.fingerprint)
        has_times = len(self._timeless) < len(self._columns)
        return RowsDigest(rows, format_fingerprint(self._columns, observed, _WITH_TIMES) if has_times else rows)

    def _observed(self) -> Mapping[str, Any]:
        if not self._found:
            self._found = read_observation(self._observation)
        if not self._found and self._df is not None:
            (row,) = self._df.agg(*self._aggregates()).collect()
            self._found = row.asDict()
        return self._found


def fingerprint(df: "DataFrame", columns: Sequence[OutputColumn]) -> str:
    """The fingerprint of a frame by a job of its own, for comparing what is stored."""
    return format_fingerprint(columns, _aggregate_all(df, columns))


def _aggregate_all(df: "DataFrame", columns: Sequence[OutputColumn]) -> Mapping[str, Any]:
    (row,) = df.agg(*fingerprint_aggregates(columns)).collect()
    return row.asDict()
