"""Explaining: the rows that an operation of a run picked, computed again by a plan that ends there.

Nothing is committed, no lease is taken, and what is written down on the way is removed.
"""

import secrets
from collections.abc import Mapping
from dataclasses import replace

from pyspark.sql import SparkSession

from daybook.engine.pipeline import Pipeline
from daybook.errors import DaybookError, flatten
from daybook.expression import quote_identifier
from daybook.io.pins import Pin
from daybook.io.reading import ReadSource
from daybook.model.operation import Operation
from daybook.model.suggestion import did_you_mean
from daybook.plan.cutting import Cut, key_columns, picked_rows, summary_rows
from daybook.plan.plan import Plan
from daybook.plan.steps import Step
from daybook.runs.attempt import Surroundings
from daybook.runs.explanation import Explanation, ShownRows
from daybook.runs.preparing import Prepared, restore
from daybook.runs.recording import recorded_pins
from daybook.runs.row_keys import typed_keys
from daybook.runs.scratch import remove_folder
from daybook.runs.snapshot import RunSnapshot, snapshot_from_json
from daybook.runs.sources import read_sources


def explain(
    around: Surroundings, run_id: str, operation: str | None, keys: Mapping[str, str | None], *, limit: int
) -> Explanation:
    """The rows of an operation, by its id or seq, that have these texts in these columns, None being NULL.

    All that can be wrong with the question is raised before Spark is asked for.
    """
    with around.store.read() as transaction:
        run = transaction.runs.get(run_id)
        snapshot = snapshot_from_json(transaction.runs.snapshot(run_id))
        pins = recorded_pins(transaction, run_id)
    wanted = find_operation(snapshot, operation)
    prepared = restore(snapshot, around.root)
    step = _step(prepared.plan, wanted.seq)
    typed = typed_keys(prepared.plan, step, keys)
    if not pins:
        raise DaybookError("RUN_027", run_id=run_id, status=run.status)
    cuts = [picked_rows(prepared.plan, step, typed)]
    if (made := summary_rows(prepared.plan, step, typed)) is not None:
        cuts.append(made)
    staging = f"{around.state}/staging/{run_id}.explain-{secrets.token_hex(4)}"
    try:
        shown = _computed(around, prepared, pins, cuts, staging, limit=limit)
    finally:
        remove_folder(staging)
    return Explanation(
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
        leads=_leads(prepared.plan, shown[0], keys),
    )


def _leads(plan: Plan, shown: ShownRows, keys: Mapping[str, str | None]) -> dict[int, dict[str, str | None]]:
    makers = sorted({row["_operation_seq"] for row in shown.rows} - {0})
    known = {seq: key_columns(plan, _step(plan, seq)) for seq in makers}
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


def _step(plan: Plan, seq: int) -> Step:
    return next(step for step in plan.steps if step.seq == seq)


def _computed(
    around: Surroundings,
    prepared: Prepared,
    pins: Mapping[str, tuple[Pin, ...]],
    cuts: list[Cut],
    staging: str,
    *,
    limit: int,
) -> list[ShownRows]:
    run_id, plan = prepared.snapshot.run_id, prepared.plan
    needed = {key for cut in cuts for key in cut.feeds.values()}
    read = replace(prepared, plan=replace(plan, loads=tuple(load for load in plan.loads if load.key in needed)))
    spark = around.session()
    try:
        sources = read_sources(spark, read, around.landing(run_id), around.root, pinned=pins)
    except DaybookError as error:
        raise DaybookError("RUN_012", run_id=run_id, causes=flatten(error)) from error
    return [
        _shown(spark, prepared.snapshot, cut, sources, f"{staging}/{number}", limit=limit)
        for number, cut in enumerate(cuts)
    ]


def _shown(
    spark: SparkSession,
    snapshot: RunSnapshot,
    cut: Cut,
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
        except Exception as failure:
            raise pipeline.failure(failure) from failure
    return ShownRows(tuple(output.step.columns), tuple(rows[:limit]), count)
