"""Selects rows of an operation of a recorded run, and finds where each of them comes from.

A row that an operation of the run made leads to that operation. A row that was read from what another run wrote leads
to the operation of that run which made it. Every other row is a line of a source.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cached_property
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeAlias

import pyarrow as pa

from daybook.engine.context import SourceFrame
from daybook.engine.load_rows import has_new_ids
from daybook.errors import DaybookError, flatten, raise_all
from daybook.errors.error import did_you_mean
from daybook.io.column_types import BadValueError, parse_texts
from daybook.io.pins import Pin
from daybook.io.read_source import ReadSource
from daybook.model.json_fields import ExactRow, Hidden
from daybook.model.types import (
    COLUMN_SYNONYMS,
    RUN_PERIOD_COLUMN,
    SYSTEM_COLUMNS,
    ColumnType,
    FloatType,
    Value,
    value_text,
)
from daybook.plan.conditions import excludes, is_exact, total_columns
from daybook.plan.measures import columns_not_summed, summed_totals
from daybook.plan.output_rows import columns_assigned, key_of_output, makers_of_output
from daybook.plan.partial_plan import RowKey, key_columns, selectable_columns
from daybook.plan.steps import AggregateStep, AppendStep, LoadStep, OutputStep, Plan, Step
from daybook.runs.attempt.prepare import PreparedRun, restore_run
from daybook.runs.attempt.recorder import recorded_pins
from daybook.runs.environment import RunEnvironment
from daybook.runs.snapshot import RunSnapshot, snapshot_from_json
from daybook.runs.sources import read_sources
from daybook.store.records import OutputCommit, RunRecord

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True)
class RestoredRun:
    """A run with its plan; sources that were read once are kept."""

    record: RunRecord
    prepared: PreparedRun
    pins: Mapping[str, tuple[Pin, ...]]
    commits: tuple[OutputCommit, ...]
    # Reading changes settings of the session for a while.
    _reading: Lock = field(default_factory=Lock)
    _sources: dict[str, ReadSource] = field(default_factory=dict)

    @property
    def run_id(self) -> str:
        return self.record.id

    @property
    def plan(self) -> Plan:
        return self.prepared.plan

    @property
    def snapshot(self) -> RunSnapshot:
        return self.prepared.snapshot

    def read(self, environment: RunEnvironment, spark: "SparkSession", keys: Iterable[str]) -> Mapping[str, ReadSource]:
        """The data that the run read for these loads; RUN_012 when it is gone."""
        load_keys = set(keys)
        with self._reading:
            loads = [load for load in self.plan.loads if load.key in load_keys and load.key not in self._sources]
            try:
                sources = read_sources(
                    spark, loads, self.snapshot, environment.landing(self.run_id), environment.root, pinned=self.pins
                )
            except DaybookError as error:
                raise DaybookError("RUN_012", run_id=self.run_id, causes=flatten(error)) from error
            self._sources.update(sources)
            return self._sources


@dataclass(frozen=True, slots=True)
class WrittenOutput:
    """An output of a run that others read."""

    run: RestoredRun
    step: OutputStep

    @property
    def makers(self) -> Iterator[AggregateStep | AppendStep]:
        """The operations before the output that make rows of groups."""
        for step in self.run.plan.steps:
            if step.seq < self.step.seq and group_columns(step):
                assert isinstance(step, AggregateStep | AppendStep)
                yield step

    @property
    def columns_not_summed(self) -> frozenset[str]:
        """The keys and ratios among the columns, whichever operation made a row."""
        makers = makers_of_output(self.run.plan, self.step)
        return frozenset().union(*(columns_not_summed(self.run.plan, self.step.seq, maker) for maker in makers))

    @property
    def unique_key(self) -> tuple[str, ...]:
        """The columns that no two rows of the output share; none where nothing guarantees that."""
        return key_of_output(self.run.plan, self.step)

    @property
    def row_key(self) -> tuple[str, ...]:
        """What people know the rows by: what they are grouped by, and the natural key of the input."""
        groups = [name for maker in self.makers for name in maker.group_by]
        natural = self.run.plan.input.version.dataset.natural_key_columns
        return tuple(
            name for name in dict.fromkeys((*groups, *natural)) if name in self.step.columns and not _is_system(name)
        )


class RestoredRuns:
    """Runs by their ids, each restored once; several threads may ask."""

    def __init__(self, environment: RunEnvironment) -> None:
        self.environment = environment
        self._known: dict[str, RestoredRun] = {}
        self._restoring, self._reading = Lock(), Lock()

    def get(self, run_id: str) -> RestoredRun:
        with self._restoring:
            if run_id not in self._known:
                self._known[run_id] = self._restore(run_id)
            return self._known[run_id]

    def _restore(self, run_id: str) -> RestoredRun:
        with self.environment.store.read() as transaction:
            record = transaction.runs.get(run_id)
            snapshot = snapshot_from_json(transaction.runs.snapshot(run_id))
            pins = recorded_pins(transaction, run_id)
            commits = transaction.outcomes.commits(run_id)
        return RestoredRun(
            record, restore_run(snapshot, self.environment.root, self.environment.storage), pins, commits, self._reading
        )

    def writers(self, run: RestoredRun, load_key: str) -> dict[str | None, str]:
        """The runs that wrote what a run read, by the period of the slice; None where it is no slice."""
        source = run.snapshot.source(load_key)
        run_ids: dict[str | None, str] = {}
        if not source.slices or run.plan.load(load_key).temporal_mode in (None, "snapshot"):
            with self.environment.store.read() as transaction:
                for location in source.resolution.locations:
                    own = location.period.identifier if location.period else None
                    written = transaction.outcomes.writers(
                        location.label, before=run.record.created_at, version=location.version
                    )
                    run_ids |= {period if own is None else own: run_id for period, run_id in written.items()}
        for period, run_id in source.slices.items():
            run_ids[period] = run_id
        return run_ids

    def written_output(self, run_id: str, reader: RestoredRun, load_key: str) -> WrittenOutput | None:
        """What a run wrote where another one read; None when the run is no longer kept."""
        labels = {location.label for location in reader.snapshot.source(load_key).resolution.locations}
        try:
            run = self.get(run_id)
        except DaybookError:
            return None
        seqs = [commit.operation_seq for commit in run.commits if commit.destination in labels]
        steps = [step for step in run.plan.outputs if step.seq in seqs]
        return WrittenOutput(run, steps[0]) if steps else None


def group_columns(step: Step) -> tuple[str, ...]:
    return step.group_by if isinstance(step, AggregateStep | AppendStep) else ()


def _is_system(name: str) -> bool:
    return name in SYSTEM_COLUMNS


# As in a CSV file, where nothing at all is NULL.
_EMPTY_TEXT = '""'


def parse_keys(words: Iterable[str]) -> dict[str, str | None]:
    """Parses COLUMN=VALUE: the column and the text of the value, None for NULL."""
    keys: dict[str, str | None] = {}
    for word in words:
        column, sign, text = word.partition("=")
        if not sign:
            raise DaybookError("RUN_026", text=word, reason="the sign = is missing")
        if column in keys:
            raise DaybookError("RUN_026", text=word, reason=f"{column} is given twice")
        keys[column] = "" if text == _EMPTY_TEXT else text or None
    return keys


def format_keys(keys: Mapping[str, str | None]) -> list[str]:
    """The same keys as they stand on a line."""
    return [f"{column}={'' if text is None else text or _EMPTY_TEXT}" for column, text in keys.items()]


def typed_keys(plan: Plan, step: Step, texts_by_column: Mapping[str, str | None]) -> tuple[RowKey, ...]:
    """The keys in the types of their columns; all that is wrong with them is raised together."""
    columns = key_columns(plan, step)
    table = plan.load(step.load_key).table if isinstance(step, AppendStep) else plan.input.table
    keys: dict[str, RowKey] = {}
    errors: list[DaybookError] = []
    for written, text in texts_by_column.items():
        name = written if written in columns else written.removeprefix(f"{table}.")
        name = COLUMN_SYNONYMS.get(name, name)
        if name not in columns:
            errors.append(_unknown_column_error(plan, step, name))
        elif name in keys:
            errors.append(DaybookError("RUN_026", text=written, reason=f"{name} is given twice"))
        else:
            try:
                keys[name] = RowKey(name, _parse_value(text, columns[name]), columns[name])
            except BadValueError as bad:
                errors.append(DaybookError("RUN_025", value=bad.value, type=columns[name], column=name))
    raise_all(errors)
    return tuple(keys.values())


def _unknown_column_error(plan: Plan, step: Step, name: str) -> DaybookError:
    columns = key_columns(plan, step)
    if name in selectable_columns(plan, step):
        hint = f"it groups by {', '.join(columns)}"
        return DaybookError("RUN_024", operation_seq=step.seq, seq=step.seq, column=name, hint=hint)
    hint_ = did_you_mean(name, columns)
    return DaybookError("RUN_023", operation_seq=step.seq, seq=step.seq, column=name, hint=hint_)


def _parse_value(text: str | None, column_type: ColumnType) -> Value:
    value: Value = parse_texts(pa.array([text], pa.string()), column_type)[0].as_py()
    return value


def key_text(value: Any) -> str | None:
    """A value as a key is written; a decimal without zeros that only its type adds."""
    if value is None:
        return None
    return format(value.normalize(), "f") if isinstance(value, Decimal) else value_text(value)


Row: TypeAlias = Mapping[str, Any]
ROW_ID = "_row_id"
ORIGIN_SEQ = "_origin_seq"


@dataclass(frozen=True, slots=True)
class NextQuestion:
    """What to ask for the rows behind a row: an operation of a run, and the texts of the row's values there."""

    run_id: str
    project_id: str
    period: str
    seq: int
    keys: Mapping[str, str | None]


@dataclass(frozen=True, slots=True)
class RowOrigin:
    """`key` is what people know the row by; a row without `next` is a line of a source.

    `values` are the amounts, by column, that the rows behind it must sum up to. `is_by_content` is true while `next`
    names a row by its values, because the output it was read from keeps no ids: other rows may have the same values.
    """

    key: ExactRow
    dataset_id: str | None = None
    next: NextQuestion | None = None
    values: Hidden[Mapping[str, Any]] = field(default_factory=dict)
    is_by_content: Hidden[bool] = False


class RowOrigins:
    """Finds the origins of the rows that one operation picked."""

    def __init__(self, runs: RestoredRuns, run: RestoredRun, step: Step) -> None:
        self._runs = runs
        self._run = run
        self._step = step
        self._seen = selectable_columns(run.plan, step)
        self.load: LoadStep = run.plan.load(step.load_key) if isinstance(step, AppendStep) else run.plan.input
        self._writers = runs.writers(run, self.load.key)
        self._changed = set() if isinstance(step, AppendStep) else columns_assigned(run.plan, -1, step.seq)

    @property
    def key_columns(self) -> tuple[str, ...]:
        """What people know loaded rows by: the natural key, else what the run that wrote them knows them by."""
        natural = self.load.version.dataset.natural_key_columns
        return tuple(name for name in natural or self._written_key if name in self._seen)

    @cached_property
    def _written_key(self) -> tuple[str, ...]:
        """By the run of the last slice: a table has one owner."""
        for run_id in reversed(self._writers.values()):
            if (output := self._runs.written_output(run_id, self._run, self.load.key)) is not None:
                return output.row_key
        return ()

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of rows that origins are found by."""
        selector = None if isinstance(self._step, AppendStep) else self._step.selector
        makers = [
            step for step in self._run.plan.steps if step.seq < self._step.seq and not excludes(selector, step.seq)
        ]
        names = [*self.key_columns, *(name for step in makers for name in _columns_of_maker(step))]
        if self._writers:
            names += [*self.load.types, ORIGIN_SEQ, "_period"]
        return tuple(name for name in dict.fromkeys(names) if name in self._seen)

    def needs_stored(self, frame: SourceFrame) -> bool:
        """Whether the rows as they are stored must be looked at, since the working rows do not contain all of it."""
        if not self._writers:
            return False
        is_one_slice = self.load.temporal_mode is not None or RUN_PERIOD_COLUMN not in frame.carried
        return (
            len(self._writers) > 1
            or not is_one_slice
            or has_new_ids(frame, self.load)
            or bool(self._changed & self.load.types.keys())
        )

    def find(self, rows: Iterable[Row], frame: SourceFrame, stored: Mapping[str, Row]) -> tuple[RowOrigin, ...]:
        """One for each row; `stored` has loaded rows by their ids, where they were looked at."""
        return tuple(self._origin(row, frame, stored) for row in rows)

    def _origin(self, row: Row, frame: SourceFrame, stored: Mapping[str, Row]) -> RowOrigin:
        seq = row["_operation_seq"]
        if seq and not isinstance(self._step, AppendStep):
            return self._made_row(row, self._run.plan.step(seq))
        return self._loaded_row(row, stored.get(row[ROW_ID]), frame)

    def _made_row(self, row: Row, maker: Step) -> RowOrigin:
        changed = columns_assigned(self._run.plan, maker.seq, self._step.seq)
        if grouped := group_columns(maker):
            # A group is known by its id where its values were changed since.
            names = (ROW_ID,) if changed.intersection(grouped) else grouped
            key = {name: row[name] for name in grouped}
            question = self._question(self._run, maker, {name: row[name] for name in names})
            return RowOrigin(key, None, question, _totals(self._run.plan, row, maker, changed))
        assert isinstance(maker, AppendStep)
        arrived = {source: name for name, source in maker.carried.items() if name not in changed}
        load = self._run.plan.load(maker.load_key)
        # People know the row by what it has here. Rows of the source may be alike in all of it.
        key = {arrived[source]: row[arrived[source]] for source in _source_key(load, arrived)}
        question = self._question(self._run, maker, {ROW_ID: row[ROW_ID]})
        not_summed = changed | columns_not_summed(self._run.plan, self._step.seq, maker.seq)
        amounts = {
            source: row[name]
            for name, source in maker.carried.items()
            if name not in not_summed and maker.schema[name] == load.types.get(source) and is_exact(maker.schema[name])
        }
        return RowOrigin(key, None, question, amounts)

    def _loaded_row(self, row: Row, stored: Row | None, frame: SourceFrame) -> RowOrigin:
        key = {name: row[name] for name in self.key_columns}
        origin = RowOrigin(key, self.load.dataset_id)
        writer = self._writer(stored)
        if writer is None:
            return origin
        written_row = stored or row
        maker_seq = stored.get("_operation_seq") if stored else row.get(ORIGIN_SEQ)
        # A view may have given the working row another period.
        named = {*self.load.types, "_period"} if stored else {*self.load.types}
        names = named & writer.step.columns.keys()
        for maker in writer.makers:
            changed = columns_assigned(writer.run.plan, maker.seq, writer.step.seq)
            if maker.seq == maker_seq and names.issuperset(maker.group_by) and not changed.intersection(maker.group_by):
                question = self._question(writer.run, maker, {name: written_row[name] for name in maker.group_by})
                totals = _totals(writer.run.plan, written_row, maker, changed)
                amounts = {name: value for name, value in totals.items() if name in names}
                return RowOrigin(key, self.load.dataset_id, question, amounts)
        types = {name: type_ for name, type_ in self.load.types.items() if name in writer.step.columns}
        not_summed = {*writer.columns_not_summed, *self.load.version.dataset.natural_key_columns}
        amounts = {
            name: written_row[name] for name, type_ in types.items() if is_exact(type_) and name not in not_summed
        }
        group_key = writer.unique_key
        has_id = ROW_ID in frame.carried
        names_row: tuple[str, ...]
        if has_id:
            names_row = (ROW_ID,)
        elif group_key and types.keys() >= {*group_key}:
            names_row = group_key
        else:
            # A float may be read as another than was written.
            names_row = tuple(name for name, type_ in types.items() if not isinstance(type_, FloatType))
        question = self._question(writer.run, writer.step, {name: written_row[name] for name in names_row})
        is_by_content = not has_id and names_row != group_key
        return RowOrigin(key, self.load.dataset_id, question, amounts, is_by_content)

    def _writer(self, stored: Row | None) -> WrittenOutput | None:
        if stored is None:
            run_id = next(iter(self._writers.values())) if len(self._writers) == 1 else None
        else:
            period = stored.get(RUN_PERIOD_COLUMN) or stored.get("_period")
            run_id = self._writers.get(period) or self._writers.get(None)
        return self._runs.written_output(run_id, self._run, self.load.key) if run_id else None

    def _question(self, run: RestoredRun, step: Step, values: Mapping[str, Any]) -> NextQuestion:
        keys = {name: key_text(value) for name, value in values.items()}
        return NextQuestion(run.run_id, run.record.project_id, run.record.period, step.seq, keys)


def _columns_of_maker(step: Step) -> tuple[str, ...]:
    """What names the rows that an operation made, and the amounts it made."""
    match step:
        case AggregateStep() | AppendStep() if step.group_by:
            return (*step.group_by, *total_columns(step))
        case AppendStep():
            return tuple(step.carried)
        case _:
            return ()


def _source_key(load: LoadStep, arrived: Mapping[str, str]) -> tuple[str, ...]:
    """What names a row in the source of an append: its natural key, else all values that came with it."""
    natural = load.version.dataset.natural_key_columns
    if natural and arrived.keys() >= {*natural}:
        return natural
    return tuple(name for name in arrived if not isinstance(load.types.get(name), FloatType))


def _totals(plan: Plan, row: Row, maker: Step, changed: set[str]) -> dict[str, Any]:
    """The amounts of a row that was made of a group, as far as no operation changed them since."""
    names = summed_totals(plan, maker) if isinstance(maker, AggregateStep | AppendStep) else ()
    return {name: row[name] for name in names if name not in changed and name in row}
