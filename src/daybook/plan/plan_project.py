"""A project and the definitions it reaches become a checked plan."""

import re
from collections.abc import Iterator, Mapping
from typing import assert_never

from daybook.errors import DaybookError, flatten, raise_all
from daybook.expression import Constants, Selectors
from daybook.model.definition import Catalog
from daybook.model.operation import (
    AggregateOperation,
    AppendOperation,
    CheckOperation,
    DeleteOperation,
    Operation,
    OutputOperation,
    UpdateOperation,
)
from daybook.model.project import Project, declared_column_types
from daybook.model.source_map import SourceMap
from daybook.model.types import STRING, SYSTEM_COLUMNS, ColumnType, NullType
from daybook.plan.operations import plan_aggregate, plan_append, plan_check, plan_delete, plan_output, plan_update
from daybook.plan.references import check_locations, find_dataset, find_self_reading
from daybook.plan.steps import INPUT_KEY, LoadStep, Plan, Step
from daybook.plan.walk import Walk
from daybook.plan.warnings import (
    find_double_counting,
    find_empty_selections,
    find_ineffective_operations,
    find_unused_columns,
)

# Types that are still widening after so many walks widen without end, as in x = x * 1.5.
_MAX_WALKS = 6


def plan_project(
    project: Project,
    source: SourceMap,
    catalog: Catalog,
    constants: Constants | None = None,
    *,
    with_places: bool = True,
) -> Plan:
    """The plan of a project, or all that is wrong with it.

    Without `constants` the plan can be shown and validated but not executed; without `with_places` nobody asks
    where data comes from and goes to.
    """
    load = _load_input(project, source, catalog)
    spans = {name: source.scalar("selectors", name) for name in project.selectors}
    selectors = Selectors(project.selectors, spans)
    walk, steps = _walk_until_types_settle(project, source, catalog, selectors, load)
    findings = [*walk.errors, *_unused_selectors(project, source, selectors), *_retyped_columns(project, source, load)]
    findings += find_self_reading(project, source, walk.loads)
    if with_places:
        findings += check_locations(project, source, catalog, walk.loads)
    raise_all(findings)
    walk.notices += find_double_counting(steps, load, source)
    walk.notices += find_ineffective_operations(steps, source)
    walk.notices += find_empty_selections(steps, source)
    walk.notices += find_unused_columns(steps, load, source)
    types = {name: walk.assumed.get(name, column_type) for name, column_type in walk.columns.items()}
    return Plan(project, tuple(walk.loads), steps, types, tuple(walk.notices), walk.usage.frozen(), constants)


def _unused_selectors(project: Project, source: SourceMap, selectors: Selectors) -> Iterator[DaybookError]:
    """Findings about selectors that no operation names; the others are checked where they are used."""
    texts = [operation.selector or "" for operation in project.operations if not isinstance(operation, AppendOperation)]
    texts += [each.arguments.source_selector or "" for each in project.operations if isinstance(each, AppendOperation)]
    used = " ".join([*texts, *project.selectors.values()])
    for name in project.selectors:
        if not re.search(r"\{\{\s*" + re.escape(name) + r"\s*\}\}", used):
            try:
                selectors.tree(name)
            except DaybookError as cause:
                span = cause.span or source.span("selectors", name)
                yield DaybookError("PROJECT_028", span=span, causes=flatten(cause), name=name)


def _retyped_columns(project: Project, source: SourceMap, load: LoadStep) -> Iterator[DaybookError]:
    """Findings about types that are given to columns which have one already."""
    present = {**load.types, **SYSTEM_COLUMNS}
    for given in declared_column_types(project.operations):
        expected = present.get(given.column, given.type)
        if given.type != expected:
            span = source.span("operations", *given.path)
            yield DaybookError(
                "PROJECT_029", span=span, operation_seq=given.seq, column=given.column, expected=expected
            )


def _load_input(project: Project, source: SourceMap, catalog: Catalog) -> LoadStep:
    codes = ("PROJECT_020", "PROJECT_021", "PROJECT_022")
    version = find_dataset(project.input, catalog, source, "input", codes=codes, seq=None)
    return LoadStep(INPUT_KEY, "input", 0, version)


def _walk_until_types_settle(
    project: Project, source: SourceMap, catalog: Catalog, selectors: Selectors, load: LoadStep
) -> tuple[Walk, tuple[Step, ...]]:
    """Walks until the types of the columns that the project makes no longer widen, or widened to what no type holds."""
    assumed: Mapping[str, ColumnType] = {}
    growing: frozenset[str] = frozenset()
    while True:
        changed: frozenset[str] = frozenset()
        for _ in range(_MAX_WALKS):
            walk, steps = _walk_operations(project, source, catalog, selectors, load, assumed, growing)
            found = {name: _string_if_null(made) for name, made in walk.made.items()}
            if found == assumed or (walk.errors and changed <= growing):
                return walk, steps
            if walk.errors:
                break
            changed = frozenset(name for name, made in found.items() if assumed.get(name) != made)
            assumed = found
        growing |= changed
        assumed = {name: made for name, made in assumed.items() if name not in growing}


def _string_if_null(made: ColumnType) -> ColumnType:
    """A column that only ever gets NULL is a string."""
    return STRING if isinstance(made, NullType) else made


def _walk_operations(
    project: Project,
    source: SourceMap,
    catalog: Catalog,
    selectors: Selectors,
    load: LoadStep,
    assumed: Mapping[str, ColumnType],
    growing: frozenset[str],
) -> tuple[Walk, tuple[Step, ...]]:
    given = {each.column: each.type for each in declared_column_types(project.operations)}
    fixed = {**given, **load.types}
    walk = Walk(project, source, catalog, selectors, load, assumed, growing, dict(load.types), fixed)
    walk.loads.append(load)
    steps = []
    for index, operation in enumerate(project.operations):
        try:
            step = _plan_operation(walk, operation, index)
        except DaybookError as error:
            walk.errors.append(error)
            continue
        if step:
            steps.append(step)
    return walk, tuple(steps)


def _plan_operation(walk: Walk, operation: Operation, index: int) -> Step | None:
    match operation:
        case UpdateOperation():
            return plan_update(walk, operation, index)
        case AggregateOperation():
            return plan_aggregate(walk, operation, index)
        case AppendOperation():
            return plan_append(walk, operation, index)
        case DeleteOperation():
            return plan_delete(walk, operation, index)
        case CheckOperation():
            return plan_check(walk, operation, index)
        case OutputOperation():
            return plan_output(walk, operation, index)
        case _:
            assert_never(operation)
