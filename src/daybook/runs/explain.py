"""Explaining: the rows that an operation of a run picked, computed again by a plan that ends there.

Nothing is committed, no lease is taken, and what is written down on the way is removed.
"""

import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession

from daybook.engine.load_rows import row_positions
from daybook.engine.pipeline import Pipeline
from daybook.engine.source import POSITION_COLUMN, SourceFrame
from daybook.errors import DaybookError, flatten, raise_all
from daybook.errors.suggestion import did_you_mean
from daybook.expression import quote_identifier
from daybook.io.pins import Pin
from daybook.io.read_source import ReadSource
from daybook.io.text_values import BadValueError, parse_texts
from daybook.model.operation import Operation
from daybook.model.types import COLUMN_SYNONYMS, ColumnType, Value
from daybook.plan.partial_plan import PartialPlan, RowKey, key_columns, picked_rows, selectable_columns, summary_rows
from daybook.plan.steps import INPUT_KEY, AppendStep, LoadStep, Plan, Step
from daybook.runs.environment import RunEnvironment, remove_folder
from daybook.runs.preparation import PreparedRun, restore_run
from daybook.runs.recorder import recorded_pins
from daybook.runs.snapshot import RunSnapshot, snapshot_from_json
from daybook.runs.sources import read_sources

# Beside the columns of a row: the file, and the cells or line, that it was read from.
ROW_POSITION = "_row_position"


@dataclass(frozen=True, slots=True)
class ShownRows:
    """The first of `count` rows, by column."""

    columns: tuple[str, ...]
    rows: tuple[Mapping[str, Any], ...]
    count: int


@dataclass(frozen=True, slots=True)
class OperationExplanation:
    """The rows that one operation picked, and the summary rows it made of them where it groups.

    `leads` are the operations that made some of the picked rows, each with those of the question's texts by column
    that name rows there as well.
    """

    run_id: str
    project_id: str
    period: str
    seq: int
    operation_id: str
    name: str
    type: str
    keys: Mapping[str, Any]
    rows: ShownRows
    summary_rows: ShownRows | None
    leads: Mapping[int, Mapping[str, str | None]] = field(default_factory=dict)


# As in a CSV file, where nothing at all is NULL.
_EMPTY_TEXT = '""'


def parse_keys(words: Iterable[str]) -> dict[str, str | None]:
    """COLUMN=VALUE as it stands on a line: the column and the value's text, None for NULL."""
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


def typed_keys(plan: Plan, step: Step, given: Mapping[str, str | None]) -> tuple[RowKey, ...]:
    """The keys in the types of their columns; all that is wrong with them is raised together."""
    columns = key_columns(plan, step)
    table = plan.load(step.load_key).table if isinstance(step, AppendStep) else plan.input.table
    keys: dict[str, RowKey] = {}
    errors: list[DaybookError] = []
    for written, text in given.items():
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
    found: Value = parse_texts(pa.array([text], pa.string()), column_type)[0].as_py()
    return found


def explain(
    around: RunEnvironment, run_id: str, operation: str | None, keys: Mapping[str, str | None], *, limit: int
) -> OperationExplanation:
    """The rows of an operation, by its id or seq, that have these texts in these columns, None being NULL.

    All that can be wrong with the question is raised before Spark is asked for.
    """
    with around.store.read() as transaction:
        run = transaction.runs.get(run_id)
        snapshot = snapshot_from_json(transaction.runs.snapshot(run_id))
        pins = recorded_pins(transaction, run_id)
    wanted = find_operation(snapshot, operation)
    prepared = restore_run(snapshot, around.root)
    step = prepared.plan.step(wanted.seq)
    typed = typed_keys(prepared.plan, step, keys)
    if not pins:
        raise DaybookError("RUN_027", run_id=run_id, status=run.status)
    cuts = [picked_rows(prepared.plan, step, typed)]
    if (made := summary_rows(prepared.plan, step, typed)) is not None:
        cuts.append(made)
    staging = f"{around.state}/staging/{run_id}.explain-{secrets.token_hex(4)}"
    try:
        shown = _compute_rows(around, prepared, pins, cuts, staging, limit=limit)
    finally:
        remove_folder(staging)
    return OperationExplanation(
        run_id=run_id,
        project_id=snapshot.project.id,
        period=snapshot.period.identifier,
        seq=wanted.seq,
        operation_id=wanted.id,
        name=wanted.name,
        type=wanted.type,
        keys={key.column: key.value for key in typed},
        rows=shown[0],
        summary_rows=shown[1] if len(shown) > 1 else None,
        leads=_makers_of_rows(prepared.plan, shown[0], keys),
    )


def _makers_of_rows(plan: Plan, shown: ShownRows, keys: Mapping[str, str | None]) -> dict[int, dict[str, str | None]]:
    makers = sorted({row["_operation_seq"] for row in shown.rows} - {0})
    known = {seq: key_columns(plan, plan.step(seq)) for seq in makers}
    return {seq: {name: text for name, text in keys.items() if name in known[seq]} for seq in makers}


def find_operation(snapshot: RunSnapshot, named: str | None) -> Operation:
    """By its id, else by its seq."""
    operations = snapshot.project.operations
    by_seq = {str(operation.seq): operation for operation in operations}
    by_id = {operation.id: operation for operation in operations}
    if named is None:
        known = ", ".join(f"{operation.seq} ({operation.name})" for operation in operations)
        raise DaybookError("RUN_028", run_id=snapshot.run_id, hint=f"name one of {known}")
    if (found := by_id.get(named) or by_seq.get(named)) is not None:
        return found
    hint = f"its operations are {', '.join(by_seq)}" if named.isdigit() else did_you_mean(named, by_id)
    raise DaybookError("RUN_022", run_id=snapshot.run_id, operation=named, hint=hint)


def _compute_rows(
    around: RunEnvironment,
    prepared: PreparedRun,
    pins: Mapping[str, tuple[Pin, ...]],
    cuts: list[PartialPlan],
    staging: str,
    *,
    limit: int,
) -> list[ShownRows]:
    run_id, plan = prepared.snapshot.run_id, prepared.plan
    needed = {key for cut in cuts for key in cut.feeds.values()}
    loads = [load for load in plan.loads if load.key in needed]
    with around.spark(prepared.snapshot) as spark:
        try:
            sources = read_sources(spark, loads, prepared.snapshot, around.landing(run_id), around.root, pinned=pins)
        except DaybookError as error:
            raise DaybookError("RUN_012", run_id=run_id, causes=flatten(error)) from error
        return [
            _collect_rows(spark, prepared.snapshot, cut, sources, f"{staging}/{number}", limit=limit)
            for number, cut in enumerate(cuts)
        ]


def _collect_rows(
    spark: SparkSession,
    snapshot: RunSnapshot,
    cut: PartialPlan,
    sources: Mapping[str, ReadSource],
    staging: str,
    *,
    limit: int,
) -> ShownRows:
    frames = {key: sources[whole].frame for key, whole in cut.feeds.items()}
    with Pipeline(spark, cut.plan, frames, staging=staging, as_of=snapshot.as_of) as pipeline:
        try:
            (group,) = pipeline.groups()
            (output,) = group.outputs
            first = output.df.orderBy(*map(quote_identifier, cut.order)).limit(limit + 1)
            rows = first.toArrow().to_pylist()
            count = len(rows) if len(rows) <= limit else output.df.count()
            group.verify()
            positions = _find_positions(pipeline, cut.plan.input, frames[INPUT_KEY], rows[:limit])
        except Exception as failure:
            raise pipeline.failure(failure) from failure
    shown = rows[:limit]
    if not positions:
        return ShownRows(tuple(output.step.columns), tuple(shown), count)
    placed = tuple({**row, ROW_POSITION: positions.get(row["_row_id"])} for row in shown)
    return ShownRows((*output.step.columns, ROW_POSITION), placed, count)


def _find_positions(
    pipeline: Pipeline, load: LoadStep, frame: SourceFrame, rows: list[dict[str, Any]]
) -> dict[str, str]:
    """Where loaded rows stand in their files, by their ids."""
    ids = [row["_row_id"] for row in rows if row.get("_operation_seq") == 0]
    if not frame.has_positions or not ids:
        return {}
    found = row_positions(frame, load, pipeline.context, ids).toArrow().to_pylist()
    return {row["_row_id"]: row[POSITION_COLUMN] for row in found}
