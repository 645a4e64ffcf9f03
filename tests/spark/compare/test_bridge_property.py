"""Random pairs of projects and data: every state of a bridge is what the independent reference computes for it."""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any, cast

import pytest
from pyspark.sql import SparkSession

from daybook.compare import shared_rows
from daybook.compare.bridge_walk import BridgeWalk, BridgeWay
from daybook.compare.causes import find_differences, order_causes
from daybook.compare.compared_output import ComparedOutput, RecordedRun, choose_rows
from daybook.compare.compared_run import ComparedRows
from daybook.compare.exact_numbers import Number, add, subtract
from daybook.compare.hybrid import HybridRead, Hybrids
from daybook.compare.measured_state import HybridSources, Measure, StateEngine
from daybook.definitions.loading.definition_texts import load_text
from daybook.engine.context import SourceFrame
from daybook.engine.working_dataset import StagingFolder
from daybook.errors import DaybookError
from daybook.io.pins import LandedPin, Pin
from daybook.model.definition import DatasetVersion
from daybook.model.parameter import parameter_values
from daybook.plan.plan_project import plan_project
from daybook.recompute.arithmetic import is_numeric
from daybook.resolve.location import Resolution
from daybook.runs.attempt.prepare import PreparedRun
from daybook.runs.run_listener import RunListener
from daybook.runs.snapshot import Provenance, RunSettings, RunSnapshot, SourceSnapshot
from daybook.store.records import RunRecord
from tests.reference import declare
from tests.reference.evaluate import FailedRunError, ValueFailedError
from tests.reference.generated import RUN, GeneratedProject
from tests.reference.operations import Append, Operation, Output, Table, Update
from tests.reference.planning import CONSTANTS, table_definitions
from tests.reference.projects import generate_project
from tests.spark.reference.running import source_frame

PAIRS = int(os.environ.get("DAYBOOK_BRIDGE_PAIRS", "8"))
# The others are compared by `make faults`. These have few states, one for each order of the causes.
ALWAYS = (0, 7)
LEAST_CAUSES = 2
REFUSED = (ValueFailedError, FailedRunError, TypeError, ValueError, KeyError)


@dataclass(frozen=True)
class Pair:
    """Two versions of a project over two states of its data; operations keep their number in the list of A."""

    a: GeneratedProject
    b: GeneratedProject
    numbers: Mapping[int, int]

    def tables(self, side: str) -> dict[str, Table]:
        project = self.a if side == "a" else self.b
        return {table.dataset_id: table for table in (project.input, *project.others)}

    def hybrid(self, swapped: frozenset[str]) -> GeneratedProject:
        """The state with these causes swapped, put together from the parts of both sides, without the product."""
        ours, theirs = self.tables("a"), self.tables("b")
        tables = {name: theirs[name] if f"data:{name}" in swapped else ours[name] for name in ours}
        chosen: list[Operation] = []
        for number, operation in enumerate(self.a.operations):
            other = self._in_b(number)
            taken = other if f"definition:s{number}" in swapped else operation
            if taken is not None:
                chosen.append(_with_tables(taken, tables))
        others = [tables[table.dataset_id] for table in self.a.others]
        return replace(self.a, input=tables[self.a.input.dataset_id], others=others, operations=chosen)

    def _in_b(self, number: int) -> Operation | None:
        return next((each for each in self.b.operations if self.numbers[each.seq] == number), None)

    def total(self, swapped: frozenset[str], rows: ComparedRows, measure: str) -> Decimal:
        project = self.hybrid(swapped)
        written = project.expected()[project.operations[-1].seq]
        values = [row.get(measure) for row in written if row["_operation_seq"] == rows.seq_a]
        return sum((Decimal(cast("int | Decimal", value)) for value in values if value is not None), Decimal(0))


def _with_tables(operation: Operation, tables: Mapping[str, Table]) -> Operation:
    if isinstance(operation, Update):
        joins = [replace(join, table=tables[join.table.dataset_id]) for join in operation.joins]
        return replace(operation, joins=joins)
    return (
        replace(operation, source=tables[operation.source.dataset_id]) if isinstance(operation, Append) else operation
    )


def generate_pair(seed: int) -> Pair | None:
    """A generated project, and the same with other rows and with operations that were dropped or act on all rows."""
    random = Random(seed)
    project = generate_project(seed)
    last = [each for each in project.operations if isinstance(each, Output)][-1]
    kept: list[Operation] = [each for each in project.operations if not isinstance(each, Output)]
    kept.append(replace(last, selector=None, columns=None, system_columns=True))
    a = replace(project, operations=kept)
    numbers = {operation.seq: number for number, operation in enumerate(kept)}
    tables = {table.dataset_id: _changed(table, random) for table in (a.input, *a.others)}
    operations = [each for each in (_mutated(each, random) for each in kept) if each is not None]
    b = replace(
        a,
        input=tables[a.input.dataset_id],
        others=[tables[table.dataset_id] for table in a.others],
        operations=[_with_tables(each, tables) for each in operations],
    )
    try:
        if not (a.is_well_typed() and b.is_well_typed()):
            return None
        a.expected(), b.expected()
    except REFUSED:
        return None
    return Pair(a, b, numbers)


def _changed(table: Table, random: Random) -> Table:
    """Other rows: one left out, and values of one column taken from other rows; keys of joins stay unique."""
    rows = [dict(row) for row in table.rows]
    if random.random() < 0.4 or not rows:
        return table
    if random.random() < 0.5:
        rows.pop(random.randrange(len(rows)))
    columns = [name for name in table.columns if name != "key" and name not in table.required]
    for row in rows:
        if columns and random.random() < 0.5:
            name = random.choice(columns)
            row[name] = random.choice(table.rows)[name]
    return replace(table, rows=rows)


def _mutated(operation: Operation, random: Random) -> Operation | None:
    if isinstance(operation, Output) or random.random() < 0.6:
        return operation
    if isinstance(operation, Append):
        return replace(operation, source_selector=None)
    return None if random.random() < 0.3 else replace(operation, selector=None)


def recorded(project: GeneratedProject, pair: Pair, run_id: str) -> RecordedRun:
    """What the store would know of a run of the project."""
    declared = declare.project(project)
    for operation in declared["operations"]:
        operation["id"] = f"s{pair.numbers[operation['seq']]}"
    (definition,) = load_text(json.dumps({"project": declared}), "project.json")
    catalog = table_definitions([project.input, *project.others])
    constants = replace(CONSTANTS, parameters=parameter_values(definition.id, definition.model.parameters, {}))
    plan = plan_project(definition.model, definition.source, catalog, constants, with_locations=False)
    tables = {table.dataset_id: table for table in (project.input, *project.others)}
    versions = {load.dataset_id: load.version for load in plan.loads}
    sources = tuple(SourceSnapshot(load.key, load.dataset_id, 1, Resolution((), ("2026-01",))) for load in plan.loads)
    assert CONSTANTS.period is not None
    snapshot = RunSnapshot(
        run_id=run_id,
        project=definition.model,
        project_version=1,
        project_text="",
        period=CONSTANTS.period,
        as_of=RUN.as_of,
        timestamp=CONSTANTS.timestamp,
        datasets=tuple(DatasetVersion(each.dataset, 1) for each in versions.values()),
        sources=sources,
        settings=RunSettings(),
        provenance=Provenance("tests", "tests", "0", None),
    )
    pins: dict[str, tuple[Pin, ...]] = {
        load.key: (LandedPin((load.dataset_id,), repr(tables[load.dataset_id].rows), 0),) for load in plan.loads
    }
    return RecordedRun(cast("RunRecord", None), PreparedRun(snapshot, plan, ()), pins, {})


class GeneratedSources(HybridSources):
    """Reads the rows of the pair instead of storage."""

    def __init__(self, spark: SparkSession, hybrids: Hybrids, pair: Pair) -> None:
        super().__init__(cast(Any, None), spark, hybrids)
        self._pair = pair

    def _read(self, read: HybridRead) -> SourceFrame:
        table = self._pair.tables(read.data)[read.dataset_id]
        return replace(source_frame(self._spark, table), periods=("2026-01",))


@dataclass(frozen=True)
class Question:
    """A pair with several differences, and a measure whose total they move, as the reference has it."""

    pair: Pair
    a: ComparedOutput
    b: ComparedOutput
    rows: ComparedRows
    measure: str

    def expected(self, swapped: frozenset[str]) -> Decimal:
        return self.pair.total(swapped, self.rows, self.measure)


def ask(pair: Pair) -> Question | None:
    try:
        runs = recorded(pair.a, pair, "a"), recorded(pair.b, pair, "b")
    except DaybookError:
        # An operation was dropped that made a column others need.
        return None
    a, b = (ComparedOutput(run, run.prepared.plan.outputs[-1]) for run in runs)
    if len(find_differences(a, b).causes) < LEAST_CAUSES:
        return None
    rows = choose_rows(a, b, None)
    types = pair.a.types, pair.b.types
    for name in a.step.columns:
        if all(name in each and is_numeric(each[name]) for each in types):
            asked = Question(pair, a, b, rows, name)
            if asked.expected(frozenset()) != asked.expected(_everything(pair)):
                return asked
    return None


def find_question(seed: int) -> Question:
    for attempt in range(1000):
        pair = generate_pair(seed * 1000 + attempt)
        if pair is not None and (asked := ask(pair)) is not None:
            return asked
    raise AssertionError("no pair that moves a total in 1000 tries")


def walk(spark: SparkSession, asked: Question, staging: str, order: Sequence[str]) -> BridgeWay:
    differences = find_differences(asked.a, asked.b)
    hybrids = Hybrids(asked.a, asked.b, asked.rows, differences)
    sources = GeneratedSources(spark, hybrids, asked.pair)
    engine = StateEngine(spark, sources, StagingFolder(spark, staging))
    found = BridgeWalk(engine, hybrids, differences, Measure(asked.measure), {}, RunListener())
    return found.walk(order_causes(differences.causes, order))


@pytest.mark.parametrize(
    "seed", [pytest.param(seed, marks=() if seed in ALWAYS else pytest.mark.slow) for seed in range(PAIRS)]
)
def test_every_state_is_what_the_reference_computes(
    spark: SparkSession, seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = find_question(seed)
    order = ((), ("definition", "data"))[seed % 2]
    # Whatever states have in common is shared, however little it saves.
    monkeypatch.setattr(shared_rows, "_COST_OF_KEEPING", 0 if seed % 4 < 2 else 3)

    way = walk(spark, asked, str(tmp_path), order)

    swapped: frozenset[str] = frozenset()
    assert way.before.total == asked.expected(swapped)
    shares: list[Number] = []
    for step in way.steps:
        swapped |= {name.text for name in step.causes}
        assert step.total_after.total == asked.expected(swapped), step.causes
        shares.append(subtract(step.total_after.total, step.total_before.total))
    assert way.after.total == asked.expected(_everything(asked.pair))
    assert not subtract(subtract(way.after.total, way.before.total), add(*shares))


def _everything(pair: Pair) -> frozenset[str]:
    data = [f"data:{name}" for name in pair.tables("a")]
    return frozenset([*data, *(f"definition:s{number}" for number in pair.numbers.values())])
