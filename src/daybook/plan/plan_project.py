"""Turns a project and the definitions it uses into a checked plan."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, assert_never

from daybook.definitions.value import Definitions
from daybook.errors import DaybookError, Notice, flatten, raise_all
from daybook.expression import Constants, Grouping, NamedExpressions, Scope, compile_expression
from daybook.model.operation import (
    AggregateOperation,
    AppendOperation,
    CheckOperation,
    DeleteOperation,
    Operation,
    OutputOperation,
    UpdateOperation,
)
from daybook.model.parameter import PARAMETER_QUALIFIER
from daybook.model.project import Project, declared_column_types
from daybook.model.source_map import SourceMap
from daybook.model.types import STRING, SYSTEM_COLUMNS, ColumnType, NullType
from daybook.plan.loads import INPUT_KEY, find_load, load_references
from daybook.plan.measures import check_measures, followed_measures
from daybook.plan.operations import plan_aggregate, plan_append, plan_check, plan_delete, plan_output, plan_update
from daybook.plan.plan_checks import (
    check_calendar,
    check_destinations,
    check_output_columns,
    check_overrides,
    check_self_reading,
    check_sources,
    check_windows,
    find_double_counting,
    find_empty_selections,
    find_ineffective_operations,
    find_revived_rows,
    find_single_sorts,
    find_split_periods,
    find_unused_columns,
)
from daybook.plan.steps import LoadStep, Plan, Step
from daybook.plan.walk import CompiledExpressions, Walk

# Types that are still widening after so many walks widen without end, as in x = x * 1.5.
_MAX_WALKS = 6


def check_given_types(walk: Walk) -> Iterator[DaybookError]:
    """Types that are given to columns which have one already."""
    present = {**walk.input.types, **SYSTEM_COLUMNS}
    for declared in declared_column_types(walk.project.operations):
        expected = present.get(declared.column, declared.type)
        if declared.type != expected:
            span = walk.source.span("operations", *declared.path)
            yield DaybookError(
                "PROJECT_029", span=span, operation_seq=declared.seq, column=declared.column, expected=expected
            )


def check_unused_names(walk: Walk) -> Iterator[DaybookError]:
    """Selectors and expressions that no operation uses; the others are checked where they are used.

    One that is right over the rows of some operation is right: the working dataset at the end, with everything that
    is joined anywhere, or the source of an append; an expression also as an aggregation of them.
    """
    aliases = {load.alias: {**load.types, **SYSTEM_COLUMNS} for load in walk.loads if load.alias is not None}
    scopes = [walk.scope(aliases), *(walk.source_scope(load) for load in walk.loads if load.role == "append")]
    reported: set[object] = set()
    for key, code in (("selectors", "PROJECT_028"), ("expressions", "PROJECT_051")):
        for name in [name for name in getattr(walk.project, key) if name not in walk.names.used]:
            errors_by_scope = [errors for scope in scopes for errors in _name_errors(name, scope, walk.names)]
            fewest = min(errors_by_scope, key=len)
            causes = [error for error in fewest if _mistake(error) not in reported]
            reported |= set(map(_mistake, causes))
            if causes:
                span = causes[0].span or walk.source.span(key, name)
                yield DaybookError(code, span=span, causes=causes, used_as=causes[0].used_as, name=name)


def _mistake(error: DaybookError) -> object:
    """What two findings share that are about the same mistake: their span, or the names of a circle."""
    names = error.parameters.get("path")
    return frozenset(str(names).split(" → ")) if names else (error.code, error.span)


def _name_errors(name: str, scope: Scope, names: NamedExpressions) -> Iterator[tuple[DaybookError, ...]]:
    """What is wrong with a name as it may be used over these columns, use by use."""
    if names.is_selector(name):
        yield _errors_of(name, scope, names, expect="boolean")
        return
    yield _errors_of(name, scope, names, allow_windows=True)
    yield _errors_of(name, scope, names, grouping=Grouping(tuple(scope.columns)))


def _errors_of(name: str, scope: Scope, names: NamedExpressions, **options: Any) -> tuple[DaybookError, ...]:
    try:
        compile_expression(f"{{{{{name}}}}}", scope, names=names, **options)
    except DaybookError as error:
        return flatten(error)
    return ()


def check_parameter_name(walk: Walk) -> Iterator[DaybookError]:
    """Tables and aliases that are called as expressions call the parameters."""
    for load in walk.loads if walk.project.parameters else ():
        name = load.alias if load.role == "join" else load.table
        if name is not None and name.casefold() == PARAMETER_QUALIFIER:
            what = f"A join of operation {load.operation_seq}" if load.alias else f"The table of {load.dataset_id}"
            seq = load.operation_seq or None
            yield DaybookError("PROJECT_049", span=walk.span_of(load), operation_seq=seq, what=what, name=name)


# Passes over what the walk found, in the order in which their findings are reported.
CHECKS: tuple[Callable[[Walk], Iterable[DaybookError]], ...] = (
    check_unused_names,
    check_given_types,
    check_parameter_name,
    check_self_reading,
    check_measures,
)
LOCATION_CHECKS: tuple[Callable[[Walk], Iterable[DaybookError]], ...] = (
    check_calendar,
    check_overrides,
    check_sources,
    check_windows,
    check_destinations,
    check_output_columns,
)

WARNINGS: tuple[Callable[[Walk], Iterable[Notice]], ...] = (
    find_double_counting,
    find_ineffective_operations,
    find_empty_selections,
    find_revived_rows,
    find_single_sorts,
    find_split_periods,
    find_unused_columns,
)


@dataclass(frozen=True, slots=True)
class ExaminedProject:
    """What planning found: a plan, or errors; `location_errors` are about where data comes from and goes to."""

    plan: Plan | None
    errors: tuple[DaybookError, ...] = ()
    location_errors: tuple[DaybookError, ...] = ()

    def checked_plan(self, *, with_locations: bool = True) -> Plan:
        """The plan, or all that is wrong; without `with_locations` it does not matter where data is."""
        raise_all((*self.errors, *(self.location_errors if with_locations else ())))
        if self.plan is None:
            raise AssertionError("a project without errors has a plan")
        return self.plan


def plan_project(
    project: Project,
    source: SourceMap,
    definitions: Definitions,
    constants: Constants | None = None,
    *,
    with_locations: bool = True,
) -> Plan:
    """The plan of a project, or all that is wrong with it; without `constants` it can be shown but not executed."""
    plan = examine_project(project, source, definitions).checked_plan(with_locations=with_locations)
    return replace(plan, constants=constants)


def examine_project(project: Project, source: SourceMap, definitions: Definitions) -> ExaminedProject:
    """Everything that can be known of a project without data; nothing is raised."""
    try:
        load = _load_input(project, source, definitions)
    except DaybookError as error:
        return ExaminedProject(None, flatten(error))
    spans = {name: source.scalar(key, name) for key in ("selectors", "expressions") for name in getattr(project, key)}
    names = NamedExpressions(project.selectors, spans, expressions=project.expressions)
    walk = _walk_until_types_settle(project, source, definitions, names, load)
    errors = _flattened((*walk.errors, *(finding for check in CHECKS for finding in check(walk))))
    locations = _flattened(finding for check in LOCATION_CHECKS for finding in check(walk))
    if errors:
        return ExaminedProject(None, errors, locations)
    all_notices = [notice for find in WARNINGS for notice in find(walk)]
    accepted = {(operation.seq, code) for operation in project.operations for code in operation.accept}
    notices = tuple(notice for notice in all_notices if (notice.operation_seq, notice.code) not in accepted)
    types = {name: walk.assumed.get(name, column_type) for name, column_type in walk.columns.items()}
    plan = Plan(
        project,
        tuple(walk.loads),
        tuple(walk.steps),
        types,
        notices,
        walk.usage.frozen(),
        accepted=len(all_notices) - len(notices),
        measures=followed_measures(walk),
    )
    return ExaminedProject(plan, (), locations)


def _flattened(errors: Iterable[DaybookError]) -> tuple[DaybookError, ...]:
    return tuple(single for error in errors for single in flatten(error))


def _load_input(project: Project, source: SourceMap, definitions: Definitions) -> LoadStep:
    """Without an input no operation can be checked; what else does not exist is still worth knowing."""
    loads: list[LoadStep] = []
    errors: list[DaybookError] = []
    for reference in load_references(project):
        try:
            loads.append(find_load(reference, definitions, source, project.id))
        except DaybookError as error:
            errors.append(error)
        if loads and reference.key == INPUT_KEY:
            return loads[0]
    raise_all(errors)
    raise AssertionError("a project has an input")


def _walk_until_types_settle(
    project: Project, source: SourceMap, definitions: Definitions, names: NamedExpressions, load: LoadStep
) -> Walk:
    """Walks until the types of the columns that the project makes no longer widen, or widened to what no type holds."""
    assumed: Mapping[str, ColumnType] = {}
    growing: frozenset[str] = frozenset()
    compiled = CompiledExpressions()
    while True:
        changed: frozenset[str] = frozenset()
        for _ in range(_MAX_WALKS):
            walk = _walk_operations(project, source, definitions, names, load, assumed, growing, compiled)
            types = {name: _string_if_null(column_type) for name, column_type in walk.made.items()}
            if types == assumed or (walk.errors and changed <= growing):
                return walk
            if walk.errors:
                break
            changed = frozenset(name for name, column_type in types.items() if assumed.get(name) != column_type)
            assumed = types
        growing |= changed
        assumed = {name: column_type for name, column_type in assumed.items() if name not in growing}


def _string_if_null(column_type: ColumnType) -> ColumnType:
    """A column that only ever gets NULL is a string."""
    return STRING if isinstance(column_type, NullType) else column_type


def _walk_operations(
    project: Project,
    source: SourceMap,
    definitions: Definitions,
    names: NamedExpressions,
    load: LoadStep,
    assumed: Mapping[str, ColumnType],
    growing: frozenset[str],
    compiled: CompiledExpressions,
) -> Walk:
    declared_types = {declaration.column: declaration.type for declaration in declared_column_types(project.operations)}
    fixed = {**declared_types, **load.types}
    walk = Walk(project, source, definitions, names, load, assumed, growing, dict(load.types), fixed, compiled)
    walk.loads.append(load)
    for index, operation in enumerate(project.operations):
        try:
            step = _plan_operation(walk, operation, index)
        except DaybookError as error:
            walk.errors.append(error)
            continue
        if step:
            walk.steps.append(step)
    return walk


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
