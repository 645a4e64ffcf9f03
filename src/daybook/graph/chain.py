"""What runs read of each other, and slices in scratch that are read in the place of those that were written.

A chain computes runs one after another on what the ones before it gave, and writes nothing to targets. Rows from
scratch get ids from their content and a number among equal rows, so that ids do not depend on files of scratch.
"""

import datetime
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, assert_never

from daybook.engine.context import SourceFrame, SourceRows, aliased_sql
from daybook.errors import DaybookError, raise_all
from daybook.expression import cast_sql, quote_identifier, quote_literal, spark_type
from daybook.io.bindings import Binding, Bindings, bind_columns, carried_types, missing_column_errors
from daybook.io.landing.area import identity_columns, number_occurrences
from daybook.io.pins import FilesPin, LandedPin, Pin
from daybook.io.writer import is_exact
from daybook.model.definition import DatasetVersion
from daybook.model.types import RUN_PERIOD_COLUMN, STRING, TIME_COLUMNS, ColumnType, DecimalType
from daybook.resolve.location import Location, Resolution
from daybook.runs.snapshot import RunSnapshot, SourceSnapshot
from daybook.runs.sources import slice_table
from daybook.store.records import OutputCommit
from daybook.store.store import Transaction

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

# A file that was changed later than this after its commit is no longer what the run wrote.
_COMMIT_SECONDS = datetime.timedelta(seconds=2)


@dataclass(frozen=True, slots=True)
class ReadSlice:
    """What an output of another run wrote and a run read; `period` is that of the run that wrote it.

    Of a table that collects slices only the rows of one slice are read; anything else is read as a whole.
    """

    run_id: str
    project_id: str
    seq: int
    period: str
    is_of_table: bool


def find_made_sources(
    transaction: Transaction, snapshot: RunSnapshot, pins: Mapping[str, tuple[Pin, ...]], root: Path
) -> dict[str, tuple[ReadSlice, ...]]:
    """The slices behind each source that other runs made entirely, by the key of the load.

    Left out is what cannot be computed again as it was read: slices that several runs appended to, data of runs that
    are no longer recorded, files that were changed since, and sources with several locations.
    """
    slices_by_key: dict[str, tuple[ReadSlice, ...]] = {}
    for source in snapshot.sources:
        if len(source.resolution.locations) == 1:
            (location,) = source.resolution.locations
            slices = _slices_of(transaction, snapshot, source, location, pins.get(source.key, ()), root)
            if slices:
                slices_by_key[source.key] = slices
    return slices_by_key


def _slices_of(
    transaction: Transaction,
    snapshot: RunSnapshot,
    source: SourceSnapshot,
    location: Location,
    pins: tuple[Pin, ...],
    root: Path,
) -> tuple[ReadSlice, ...]:
    if source.slices:
        if not _is_read_by_slice(snapshot, source, location):
            return ()
        slices = [
            _read_slice(transaction, run_id, period, location, root)
            for period, run_id in sorted(source.slices.items())
            if location.slices is None or period in location.slices
        ]
        return tuple(slice_ for slice_ in slices if slice_ is not None) if all(slices) else ()
    if location.uri is None:
        return ()
    run_id = transaction.outcomes.writers(location.label, before=snapshot.timestamp, version=location.version).get(None)
    commit = _commit_at(transaction, run_id, location, root) if run_id is not None else None
    if run_id is None or commit is None or _is_changed_since(pins, commit):
        return ()
    run = transaction.runs.get(run_id)
    return (ReadSlice(run_id, run.project_id, commit.operation_seq, run.period, is_of_table=False),)


def _is_read_by_slice(snapshot: RunSnapshot, source: SourceSnapshot, location: Location) -> bool:
    """Whether the slices that are known are all that is read of a table."""
    if location.without:
        return False
    if location.slices is not None:
        return True
    version = next(
        version
        for version in snapshot.datasets
        if (version.dataset.id, version.version) == (source.dataset_id, source.dataset_version)
    )
    return version.dataset.main_table.temporal_mode in ("period", "bitemporal")


def _read_slice(transaction: Transaction, run_id: str, period: str, location: Location, root: Path) -> ReadSlice | None:
    commit = _commit_at(transaction, run_id, location, root)
    if commit is None or commit.mode == "append":
        return None
    run = transaction.runs.get(run_id)
    return ReadSlice(run_id, run.project_id, commit.operation_seq, period, is_of_table=True)


def _commit_at(transaction: Transaction, run_id: str, location: Location, root: Path) -> OutputCommit | None:
    """What a run committed there; None for a run that is not recorded any more."""
    if transaction.runs.find(run_id) is None:
        return None
    names = set(slice_table(location, root).names)
    commits = [commit for commit in transaction.outcomes.commits(run_id) if names & set(commit.table.names)]
    return commits[0] if len(commits) == 1 else None


def _is_changed_since(pins: Iterable[Pin], commit: OutputCommit) -> bool:
    """Whether files are younger than the commit that wrote them."""
    if commit.committed_at is None:
        return True
    latest = (commit.committed_at + _COMMIT_SECONDS).timestamp() * 1e9
    return any(modified > latest for pin in pins for modified in _modification_times(pin))


def _modification_times(pin: Pin) -> Iterator[int]:
    match pin:
        case FilesPin(files=files):
            yield from (file.modified_ns for file in files)
        case LandedPin(files=files):
            yield from (file.stat.modified_ns for file in files)
        case _:
            return


@dataclass(frozen=True, slots=True)
class ScratchSlice:
    """Rows that an output would have written, with the types of the columns by the names they are written by."""

    df: "DataFrame"
    types: Mapping[str, ColumnType]


@dataclass(frozen=True, slots=True)
class ReadRows:
    """Rows of a dataset as a run read them, by the version of the definition that the run knew."""

    frame: SourceFrame
    version: DatasetVersion


@dataclass(frozen=True, slots=True)
class SlicePart:
    """Rows of some slices from one place: as a run read them, or from scratch; `periods` are their slices.

    `renamed` are the slices that the rows belong to for their reader, by those that they were written for.
    """

    rows: ReadRows | ScratchSlice
    periods: tuple[str, ...]
    renamed: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class ChainedRead:
    """How the slices of a dataset are read: by which definition, from where, for which periods and which day."""

    version: DatasetVersion
    resolution: Resolution
    periods: tuple[str, ...]
    as_of: datetime.date
    is_of_table: bool

    @property
    def location(self) -> Location:
        (location,) = self.resolution.locations
        return location


def chained_frame(read: ChainedRead, parts: Sequence[SlicePart]) -> SourceFrame:
    """The parts as one source; a declared column that a part does not have is NULL there."""
    from pyspark.sql import functions as F

    divided = [_part_rows(part, read) for part in parts]
    carried = frozenset[str]().union(*(names for _, names in divided))
    types = carried_types()
    names = [*(column.name for column in read.version.dataset.main_table.columns), *sorted(carried)]
    aligned = []
    for rows, own in divided:
        lacking = {name: F.lit(None).cast(spark_type(types[name])) for name in sorted(carried - own)}
        df = rows.withColumns(lacking) if lacking else rows
        aligned.append(df.select(*(quote_identifier(name) for name in names)))
    whole = reduce(lambda left, right: left.unionByName(right), aligned)
    frame = SourceFrame(
        SourceRows.of(whole), carried, read.periods, as_of=read.as_of, row_period=read.resolution.row_period
    )
    return with_content_ids(frame, read.version)


def with_content_ids(frame: SourceFrame, version: DatasetVersion) -> SourceFrame:
    """The same rows, identified by their content and a number among equal ones instead of by their place."""
    declared = {column.name: column.type for column in version.dataset.main_table.columns}
    carried = {name: carried_types()[name] for name in sorted(frame.carried) if name not in TIME_COLUMNS}
    content = [Binding(name, name, type_) for name, type_ in {**declared, **carried}.items()]
    plain = frame.rows.plain

    def identified() -> "DataFrame":
        return number_occurrences(plain, identity_columns(content, version.dataset.natural_key_columns), content)

    return replace(frame, rows=SourceRows(identified, lambda: plain), has_positions=False)


def _part_rows(part: SlicePart, read: ChainedRead) -> "tuple[DataFrame, frozenset[str]]":
    """The rows of a part with the declared columns and those that it carries, and the names of the latter."""
    match part.rows:
        case ReadRows():
            return _read_rows(part.rows, part, read)
        case ScratchSlice():
            return _scratch_rows(part.rows, part, read)
        case rows:
            assert_never(rows)


def _read_rows(rows: ReadRows, part: SlicePart, read: ChainedRead) -> "tuple[DataFrame, frozenset[str]]":
    from pyspark.sql import functions as F

    df, carried = rows.frame.rows.plain, rows.frame.carried
    if read.is_of_table and RUN_PERIOD_COLUMN in carried:
        df = df.where(F.col(RUN_PERIOD_COLUMN).isin(*part.periods))
        if any(before != after for before, after in part.renamed.items()):
            cases = " ".join(
                f"WHEN {quote_literal(before, STRING)} THEN {quote_literal(after, STRING)}"
                for before, after in part.renamed.items()
            )
            df = df.withColumn(RUN_PERIOD_COLUMN, F.expr(f"CASE {RUN_PERIOD_COLUMN} {cases} END"))
    types = {column.name: column.type for column in rows.version.dataset.main_table.columns}
    columns = {name: quote_identifier(name) for name in sorted(carried)}
    for column in read.version.dataset.main_table.columns:
        binding = Binding(column.name, column.name, column.type)
        columns[column.name] = (
            _fitted(quote_identifier(column.name), types[column.name], binding, read.location)
            if column.name in types
            else f"CAST(NULL AS {spark_type(column.type)})"
        )
    return df.selectExpr(*aliased_sql(columns)), carried


def _scratch_rows(scratch: ScratchSlice, part: SlicePart, read: ChainedRead) -> "tuple[DataFrame, frozenset[str]]":
    location = read.location
    types = dict(scratch.types)
    stored: dict[str, str] = {name: quote_identifier(name) for name in types}
    (period,) = (part.renamed[period] for period in part.periods)
    own_period = location.period.identifier if location.period is not None else None
    if read.is_of_table:
        types[RUN_PERIOD_COLUMN], stored[RUN_PERIOD_COLUMN] = STRING, quote_literal(period, STRING)
    elif own_period is not None and "_period" not in types:
        types["_period"], stored["_period"] = STRING, quote_literal(own_period, STRING)
    elif location.null_period is not None and "_period" in types:
        stored["_period"] = f"COALESCE({stored['_period']}, {quote_literal(location.null_period, STRING)})"
    bindings: Bindings = bind_columns(types, read.version, location)
    raise_all(missing_column_errors(bindings, location.label) if bindings.missing else [])
    columns = {
        binding.name: _fitted(stored[binding.stored], types[binding.stored], binding, location)
        for binding in bindings.all
    }
    carried = frozenset(binding.name for binding in bindings.carried)
    return scratch.df.selectExpr(*aliased_sql(columns)), carried


def _fitted(sql: str, type_: ColumnType, binding: Binding, location: Location) -> str:
    """A stored column in the type that its reader declares; IO_003 where a table of that type could not hold it."""
    if type_ == binding.type:
        return sql
    is_wider = is_exact(type_) and is_exact(binding.type) and _scale(type_) <= _scale(binding.type)
    if not is_wider and type_ != STRING and binding.name in carried_types():
        return f"CAST({sql} AS {spark_type(binding.type)})"
    if not is_wider:
        raise DaybookError(
            "IO_003", file=location.label, column=binding.stored, found=str(type_), declared=str(binding.type)
        )
    return cast_sql(sql, type_, binding.type)


def _scale(type_: ColumnType) -> int:
    return type_.scale if isinstance(type_, DecimalType) else 0
