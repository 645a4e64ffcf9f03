"""Explains why a total changed between two runs: replaces one cause after another and computes each share."""

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from daybook.compare.bridge_result import BridgeResult, CauseName, CauseShare, GroupBridge
from daybook.compare.bridge_walk import BridgeWalk, BridgeWay
from daybook.compare.causes import find_differences, order_causes
from daybook.compare.chained_states import Chain, ChainedPlans
from daybook.compare.compared_output import (
    ComparedOutput,
    RecordedRun,
    choose_outputs,
    choose_rows,
    find_recorded_run,
)
from daybook.compare.compared_run import ComparedRows
from daybook.compare.exact_numbers import Number, add, subtract
from daybook.compare.hybrid import Hybrids, Side, StatePlans
from daybook.compare.measured_state import (
    GroupKey,
    HybridSources,
    Measure,
    MeasuredState,
    StateEngine,
    WrittenOutput,
    measure_state,
)
from daybook.compare.run_pairs import PairFinder, RunPair, chain_differences
from daybook.errors import DaybookError, Notice, notice
from daybook.errors.error import did_you_mean
from daybook.expression.type_rules import is_number
from daybook.graph.chain import ReadSlice, find_made_sources
from daybook.io.filesystem import remove_folder
from daybook.model.types import SYSTEM_COLUMNS
from daybook.plan.partial_plan import selectable_columns
from daybook.runs.environment import RunEnvironment


@dataclass(frozen=True, slots=True)
class BridgeRequest:
    """Two runs of a project and the column whose total is explained; `order` are kinds, or causes as KIND:NAME.

    With `is_through` causes are looked for in all projects behind the runs, by default where one of the runs reads what
    other projects wrote; else what they wrote is data like any other.
    """

    a: str
    b: str
    measure: str
    output: str | None = None
    rows: int | None = None
    by: tuple[str, ...] = ()
    order: tuple[str, ...] = ()
    is_through: bool | None = None


def bridge(environment: RunEnvironment, request: BridgeRequest) -> BridgeResult:
    """Say why a total moved; all that is wrong with the question is raised before Spark is asked for."""
    run_a, run_b = find_recorded_run(environment, request.a), find_recorded_run(environment, request.b)
    projects = run_a.record.project_id, run_b.record.project_id
    if projects[0] != projects[1]:
        raise DaybookError("RUN_069", a=run_a.id, b=run_b.id, project_a=projects[0], project_b=projects[1])
    output_a, output_b = choose_outputs(run_a, run_b, request.output)
    a = ComparedOutput(run_a, run_a.prepared.output(output_a.operation_seq).step)
    b = ComparedOutput(run_b, run_b.prepared.output(output_b.operation_seq).step)
    rows = choose_rows(a, b, request.rows)
    for side in (a, b):
        _check_columns(side, request)
    measure = Measure(request.measure, tuple(dict.fromkeys(request.by)))
    root = _find_pairs(environment, a, b, request)
    differences = find_differences(a, b) if root is None else chain_differences(root)
    order = order_causes(differences.causes, request.order)
    environment.listener.prepared(run_b.id, run_b.record.project_id, run_b.record.period)
    staging = f"{environment.state}/staging/{run_b.id}.bridge-{secrets.token_hex(4)}"
    with environment.spark(run_b.snapshot) as spark:
        try:
            folder = environment.staging(spark, staging)
            plans: StatePlans
            if root is None:
                plans = hybrids = Hybrids(a, b, rows, differences)
                sources = HybridSources(environment, spark, hybrids)
            else:
                chain = Chain(environment, spark, folder.below("chain"), differences.causes)
                plans = chain.plans_of(root, rows, measure.columns)
                sources = chain.sources_of(plans)
                chain.compute_ahead(root, order, environment.listener.stage)
            engine = StateEngine(spark, sources, folder)
            written: dict[Side, WrittenOutput] = {
                "a": WrittenOutput.find(environment, spark, a),
                "b": WrittenOutput.find(environment, spark, b),
            }
            walk = BridgeWalk(engine, plans, differences, measure, written, environment.listener)
            way = walk.walk(order)
            if isinstance(plans, ChainedPlans):
                walk.notices += _tie_notices(plans, engine, measure, way, order)
            return _result(a, b, rows, output_b.destination, measure, walk, way)
        finally:
            remove_folder(staging, environment.storage)


def _tie_notices(
    plans: ChainedPlans, engine: StateEngine, measure: Measure, way: BridgeWay, order: Sequence[CauseName]
) -> list[Notice]:
    """What is shown of causes whose shares contain that computed rows have other ids than written ones."""
    tied = set(plans.chain.tied_causes(plans.pair, order))
    for side, _, cause in plans.chain.ends_of(plans.pair, order):
        state = plans.by_content(side)
        measured = way.before if side == "a" else way.after
        if state is not None and not measure_state(engine, state, measure).is_same(measured):
            tied.add(cause)
    labels = [cause.label for step in way.shown for cause in step.causes if cause in tied]
    return [notice("RUN_093", names=", ".join(labels))] if labels else []


def _find_pairs(
    environment: RunEnvironment, a: ComparedOutput, b: ComparedOutput, request: BridgeRequest
) -> RunPair | None:
    """The runs behind A and B in pairs; None where the bridge stays in their project."""
    if request.is_through is False:
        return None
    runs = {a.run.id: a.run, b.run.id: b.run}

    def load(run_id: str) -> RecordedRun:
        if run_id not in runs:
            runs[run_id] = find_recorded_run(environment, run_id)
        return runs[run_id]

    def made_sources(run: RecordedRun) -> Mapping[str, tuple[ReadSlice, ...]]:
        with environment.store.read() as transaction:
            return find_made_sources(transaction, run.snapshot, run.pins, environment.root)

    if request.is_through is None:
        read = (slice_ for run in (a.run, b.run) for slices in made_sources(run).values() for slice_ in slices)
        if all(slice_.project_id == b.run.record.project_id for slice_ in read):
            return None
    return PairFinder(load, made_sources, a.run, b.run).pair(a, b)


def _check_columns(side: ComparedOutput, request: BridgeRequest) -> None:
    """The measure is a number that was written; groups may be any columns that the output sees."""
    written = {name: type_ for name, type_ in side.step.columns.items() if name not in SYSTEM_COLUMNS}
    measure, run_id = request.measure, side.run.id
    if measure not in written:
        numbers = [name for name, type_ in written.items() if is_number(type_)]
        reason = f"the output has no such column; numeric columns are {', '.join(numbers) or 'none'}"
        raise DaybookError(
            "RUN_079", measure=measure, run_id=run_id, reason=reason, hint=did_you_mean(measure, numbers)
        )
    if not is_number(written[measure]):
        raise DaybookError("RUN_079", measure=measure, run_id=run_id, reason=f"it is a {written[measure]}")
    seen = {**selectable_columns(side.plan, side.step), **side.step.columns}
    for name in request.by:
        if name not in seen:
            raise DaybookError("RUN_064", column=name, run_id=run_id, hint=did_you_mean(name, seen))


def _result(
    a: ComparedOutput,
    b: ComparedOutput,
    rows: ComparedRows,
    output: str,
    measure: Measure,
    walk: BridgeWalk,
    way: BridgeWay,
) -> BridgeResult:
    causes = tuple(walk.cause(step) for step in way.shown)
    difference = subtract(way.after.total, way.before.total)
    residual = subtract(difference, add(*(cause.share for cause in causes)))
    notices = list(walk.notices)
    if residual and not isinstance(residual, float):
        raise AssertionError(f"the shares of a bridge leave {residual}")
    if residual:
        notices.append(notice("RUN_074", measure=measure.column, residual=residual))
    return BridgeResult(
        a=a.run.compared(is_computed=True),
        b=b.run.compared(is_computed=True),
        output=output,
        operation=rows,
        measure=measure.column,
        before=way.before.total,
        after=way.after.total,
        residual=residual,
        order=tuple(name for step in way.steps for name in step.causes),
        causes=causes,
        by=_groups(way, measure.by) if measure.by else None,
        notices=tuple(notices),
        computations=walk.computations,
    )


def _groups(way: BridgeWay, by: tuple[str, ...]) -> tuple[GroupBridge, ...]:
    states = (way.before, *(step.total_after for step in way.shown), way.after)
    zero: Number = 0 * way.before.total

    def share(key: GroupKey, before: MeasuredState, after: MeasuredState) -> Number:
        return subtract(after.totals.get(key, zero), before.totals.get(key, zero))

    groups = [
        GroupBridge(
            dict(zip(by, key, strict=True)),
            way.before.totals.get(key, zero),
            way.after.totals.get(key, zero),
            tuple(CauseShare.of(step.causes, share(key, step.total_before, step.total_after)) for step in way.shown),
        )
        for key in dict.fromkeys(key for state in states for key in state.totals)
    ]
    return tuple(sorted(groups, key=_largest_first))


def _largest_first(group: GroupBridge) -> tuple[float, str]:
    return -abs(float(subtract(group.after, group.before))), repr(group.key)
