"""Computes a run: a project, the rows it reads, and the facts of the run become the rows of its outputs."""

from collections.abc import Mapping
from dataclasses import dataclass

from daybook.model.project import Project
from daybook.model.types import ColumnType
from daybook.recompute.operations import ComputedOutput, OperationCount, WorkingDataset
from daybook.recompute.program import Append, Check, Output, Program, Step, Summarise, TableKey, Update, build_program
from daybook.recompute.stored_tables import RunFacts, StoredTable
from daybook.recompute.tree import Column
from daybook.recompute.windows import Window


@dataclass(frozen=True)
class Computation:
    """What a run gives: its outputs in order, how many rows each operation picked and added, the types of columns."""

    outputs: tuple[ComputedOutput, ...]
    input_rows: int
    counts: tuple[OperationCount, ...]
    types: Mapping[str, ColumnType]


def compute(project: Project, tables: Mapping[TableKey, StoredTable], facts: RunFacts) -> Computation:
    """Everything is computed as of the run's facts; what fails the run is raised with the code that the run gives."""
    program = build_program(project, tables, facts)
    working = WorkingDataset(program, tables, facts, with_ids=needs_ids(program))
    working.run()
    return Computation(tuple(working.outputs), working.input_rows, tuple(working.counts), program.types)


def needs_ids(program: Program) -> bool:
    """Whether anything is decided by ids, or writes them."""
    return any(map(_uses_ids, program.steps))


def _uses_ids(step: Step) -> bool:
    if isinstance(step, Output) and "_row_id" in (*step.columns, *step.order_by):
        return True
    nodes = [step.selector.node] if step.selector else []
    if isinstance(step, Update):
        nodes += [join.on.node for join in step.joins]
    if isinstance(step, Update | Summarise | Append):
        nodes += [value.node for value in step.values]
    if isinstance(step, Check):
        nodes.append(step.condition.node)
    parts = [part for node in nodes for part in node.walk()]
    return any(isinstance(part, Window) or (isinstance(part, Column) and part.name == "_row_id") for part in parts)
