"""What the second engine is given: the tables that a plan loads, and the facts of a run."""

import datetime
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from daybook.model.types import ColumnType
from daybook.plan.steps import LoadStep, Plan
from daybook.recompute import RunFacts, StoredTable, TableKey

if TYPE_CHECKING:
    # What only gives rows to the second engine is imported where they are read.
    from daybook.io.source_rows import StoredSource


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
