"""What the second engine is given: the tables that a plan loads, and the facts of a run."""

import datetime
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from daybook.errors import DaybookError
from daybook.model.types import ColumnType
from daybook.plan.steps import LoadStep, Plan
from daybook.recompute import Computation, RunFacts, StoredTable, TableKey, compute

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    # What only gives rows to the second engine is imported where they are read.
    from daybook.io.landing.area import LandingArea
    from daybook.io.pins import Pin
    from daybook.io.source_rows import StoredSource
    from daybook.runs.attempt.prepare import PreparedRun


@dataclass(frozen=True, slots=True)
class ReadWindow:
    """Which rows of a source a run sees: its periods, the day at which rows are valid, the period that rows get."""

    periods: tuple[str, ...] = ()
    as_of: datetime.date | None = None
    row_period: str | None = None


def table_key(load: LoadStep) -> TableKey:
    return load.operation_seq, load.alias


def stored_table(load: LoadStep, source: "StoredSource", window: ReadWindow) -> StoredTable:
    """A source as the second engine takes it."""
    identity = None
    if source.identity is not None:
        names = (*source.columns, *source.carried)
        identity = tuple(names.index(name) for name in source.identity)
    return make_table(
        load,
        source.columns,
        source.carried,
        source.rows,
        window,
        identity=identity,
        may_repeat_ids=source.may_repeat_ids,
    )


def make_table(
    load: LoadStep,
    columns: Mapping[str, ColumnType],
    carried: tuple[str, ...],
    rows: Callable[[], Iterator[tuple[Any, ...]]],
    window: ReadWindow,
    *,
    identity: tuple[int, ...] | None = None,
    may_repeat_ids: bool = False,
) -> StoredTable:
    dataset = load.version.dataset
    return StoredTable(
        dataset_id=load.dataset_id,
        name=load.table,
        columns=columns,
        carried=carried,
        rows=rows,
        required=load.required_columns,
        temporal_mode=load.temporal_mode,
        reads_slices=load.reads_slices,
        has_period_of_slice=load.has_period_of_slice,
        natural_key=tuple(dataset.natural_key_columns),
        periods=window.periods,
        as_of=window.as_of,
        as_of_rule=load.version.as_of_rule,
        row_period=window.row_period,
        may_repeat_ids=may_repeat_ids,
        identity=identity,
    )


def run_facts(plan: Plan, as_of: datetime.date | None) -> RunFacts:
    """The facts of the run that a plan was made for."""
    constants = plan.constants
    if constants is None or constants.period is None:
        raise ValueError("a plan without timestamp and period cannot be executed")
    period = constants.period
    return RunFacts(
        plan.project.id, period, as_of or period.start_date, constants.timestamp, dict(constants.parameters)
    )


def compute_run(
    prepared: "PreparedRun",
    landings: "Sequence[LandingArea]",
    root: Path,
    *,
    pins: "Mapping[str, tuple[Pin, ...]] | None" = None,
    before: Callable[[Mapping[TableKey, StoredTable], int], None] = lambda tables, rows: None,
    spark: "SparkSession | None" = None,
) -> Computation:
    """What a prepared run computes; with `pins` from exactly the data of an earlier run.

    `before` sees the tables, and how many rows they have together, before anything is computed. `spark` only fetches
    the rows of tables that nothing else reads.
    """
    from daybook.io.source_rows import read_source_rows

    snapshot, plan = prepared.snapshot, prepared.plan
    sources: dict[tuple[str, int], StoredSource] = {}
    tables: dict[TableKey, StoredTable] = {}
    by_source: dict[tuple[str, int, str], StoredTable] = {}
    for load in plan.loads:
        key = (load.dataset_id, load.version.version)
        resolution = snapshot.source(load.key).resolution
        if key not in sources:
            pinned = None if pins is None else pins.get(load.key, ())
            try:
                sources[key] = read_source_rows(
                    resolution, load.version, landings, workspace=root, pinned=pinned, spark=spark
                )
            except DaybookError as error:
                from daybook.runs.sources import load_error

                raise load_error(error, load) from error
        window = ReadWindow(resolution.periods, resolution.as_of, resolution.row_period)
        # One table for one dataset, so that the second engine loads it once.
        tables[table_key(load)] = by_source.setdefault((*key, load.table), stored_table(load, sources[key], window))
    before(tables, sum(source.count for source in sources.values()))
    computation = compute(plan.project, tables, run_facts(plan, snapshot.as_of))
    check_types(plan, computation)
    return computation


def check_types(plan: Plan, computation: Computation) -> None:
    """The second engine finds the types of columns by itself; where the plan has others, one of the two is wrong."""
    for name, type_ in plan.types.items():
        if (computed := computation.types.get(name, type_)) != type_:
            raise AssertionError(f"{name} is {type_} by the plan, and {computed} by the second engine")
