"""Lineage held against the reference: an input column that is not named changes nothing, and a named one can.

Random projects are executed with their data, then again with one column of one table changed at random.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from random import Random

import pytest

from daybook.model.types import SYSTEM_COLUMNS
from daybook.plan.columns_read import How
from daybook.plan.lineage import PlanLineage, plan_lineage
from daybook.plan.lineage_graph import UNTRACED_COLUMNS
from daybook.recompute.tree import Column, Node
from daybook.recompute.windows import Window
from tests.reference import samples
from tests.reference.evaluate import FailedRunError, ValueFailedError
from tests.reference.generated import GeneratedProject
from tests.reference.operations import (
    Append,
    Operation,
    Record,
    Table,
    Update,
)
from tests.reference.planning import planned
from tests.reference.projects import generate_project

SEEDS = range(75)
# What the random projects have; sorted outputs are held against Spark.
HOWS: tuple[How, ...] = (
    "identity",
    "transformation",
    "aggregation",
    "selector",
    "join",
    "group_by",
    "condition",
    "window",
)


@dataclass(frozen=True)
class Change:
    """A written column whose values are others once an input column has other values."""

    seed: int
    output_seq: int
    column: str
    dataset_id: str
    changed: str

    def hows(self) -> frozenset[How]:
        """How the lineage says that it comes from there; nothing where it does not."""
        found = lineage_of(self.seed).column(self.output_seq, self.column).inputs
        return frozenset(
            each.how for each in found if (each.dataset_id, each.column) == (self.dataset_id, self.changed)
        )


@cache
def lineage_of(seed: int) -> PlanLineage:
    return plan_lineage(planned(generate_project(seed)))


def with_table(project: GeneratedProject, old: Table, new: Table) -> GeneratedProject:
    def changed(operation: Operation) -> Operation:
        if isinstance(operation, Update):
            joins = [replace(join, table=new) if join.table is old else join for join in operation.joins]
            return replace(operation, joins=joins)
        if isinstance(operation, Append) and operation.source is old:
            return replace(operation, source=new)
        return operation

    return replace(
        project,
        input=new if project.input is old else project.input,
        others=[new if table is old else table for table in project.others],
        operations=[changed(operation) for operation in project.operations],
    )


def with_other_values(table: Table, column: str, random: Random, share: float) -> Table:
    type_ = table.columns[column]
    rows = [{**row, column: samples.ordinary(type_, random)} if random.random() < share else row for row in table.rows]
    return replace(table, rows=rows)


def executed(project: GeneratedProject) -> dict[int, list[Record]] | None:
    """The rows of every output; None where the data makes the run fail."""
    try:
        return project.expected()
    except (ValueFailedError, FailedRunError):
        return None


def values(rows: list[Record], column: str) -> Counter[str]:
    return Counter(repr(row[column]) for row in rows if column in row)


def changed_columns(before: dict[int, list[Record]], after: dict[int, list[Record]]) -> Iterator[tuple[int, str]]:
    for seq, rows in before.items():
        for column in dict.fromkeys(name for row in (*rows, *after[seq]) for name in row):
            if column not in UNTRACED_COLUMNS and values(rows, column) != values(after[seq], column):
                yield seq, column


def changes_of(seed: int) -> Iterator[Change]:
    project, random = generate_project(seed), Random(seed)
    before = executed(project)
    if before is None:
        return
    for table in (project.input, *project.others):
        for column in table.columns if table.rows else ():
            after = executed(with_table(project, table, with_other_values(table, column, random, 0.7)))
            if after is not None:
                for seq, written in changed_columns(before, after):
                    yield Change(seed, seq, written, table.dataset_id, column)


@pytest.fixture(scope="module")
def changes() -> list[Change]:
    return [change for seed in SEEDS for change in changes_of(seed)]


def test_what_changes_a_column_is_named_in_its_lineage(changes: list[Change]) -> None:
    assert len(changes) > 1000
    assert [change for change in changes if not change.hows()] == []


@pytest.mark.slow
def test_what_changes_a_column_is_named_in_many_more_projects() -> None:
    assert [change for seed in range(75, 600) for change in changes_of(seed) if not change.hows()] == []


@pytest.mark.parametrize("how", HOWS)
def test_the_check_would_find_any_way_that_lineage_forgot(changes: list[Change], how: How) -> None:
    """Some change can only be explained this way."""
    assert [change for change in changes if change.hows() == {how}] != []


def test_the_two_signatures_of_asking_for_inputs_agree() -> None:
    for seed in SEEDS:
        lineage = lineage_of(seed)
        for seq, column in lineage.columns:
            asked = {
                (each.dataset_id, each.column, how)
                for how, found in lineage.inputs(seq, column).items()
                for each in found
                if each.column is not None
            }
            told = {(each.dataset_id, each.column, each.how) for each in lineage.column(seq, column).inputs}
            assert asked == told


@cache
def row_wise(seed: int) -> GeneratedProject | None:
    """The updates of a project for all rows and without joins, and its last output."""
    project = generate_project(seed)
    *others, output = project.operations
    known, updates = {*project.input.columns, *SYSTEM_COLUMNS}, []
    for each in others:
        if isinstance(each, Update) and not each.joins and _is_of_one_row(each) and _reads_of(each) <= known:
            updates.append(replace(each, selector=None))
            known |= {column for column, _ in each.assignments}
    found = replace(project, operations=[*updates, output], others=(), selectors={})
    return found if updates and project.input.rows and found.is_well_typed() else None


def _is_of_one_row(update: Update) -> bool:
    return not any(isinstance(node, Window) for _, value in update.assignments for node in value.walk())


def _reads_of(update: Update) -> set[str]:
    return {name for _, value in update.assignments for name in _reads(value)}


def _reads(expression: Node) -> set[str]:
    return {node.name for node in expression.walk() if isinstance(node, Column)}


def row_wise_claims(seed: int) -> Iterator[tuple[str, str]]:
    """Columns that have direct inputs only, with each of them."""
    project = row_wise(seed)
    if project is None:
        return
    lineage = plan_lineage(planned(project))
    for seq, column in lineage.columns:
        inputs = lineage.column(seq, column).inputs
        if all(each.kind == "direct" for each in inputs):
            yield from ((column, each.column) for each in inputs if each.column in project.input.columns)


def can_change(seed: int, column: str, changed: str) -> bool | None:
    """Whether some values of the input change the column; None where every try fails."""
    project, random, tries = row_wise(seed), Random(seed), 0
    assert project is not None
    (before, *_) = (executed(project) or {0: []}).values()
    for _ in range(12):
        after = executed(with_table(project, project.input, with_other_values(project.input, changed, random, 1)))
        if before and after is not None:
            tries += 1
            if values(before, column) != values(next(iter(after.values())), column):
                return True
    return False if tries else None


def test_few_named_inputs_of_row_wise_columns_cannot_change_them() -> None:
    claims = [(seed, *claim) for seed in range(200) for claim in row_wise_claims(seed)]
    answers = Counter(can_change(*claim) for claim in claims)
    # What is left are expressions such as `x * 0` and `LEFT(x, 0)`, whose value does not depend on what they read.
    assert answers[True] > 100
    assert answers[False] <= 0.05 * answers[True], answers
