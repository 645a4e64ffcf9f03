"""Checks definitions, compiles a project and describes its plan, writes JSON Schemas; never starts Spark."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, assert_never

from daybook.definitions.files import definitions_of_files
from daybook.definitions.loading.definition_texts import read_definitions
from daybook.definitions.loading.text import read_text
from daybook.definitions.loading.workspace import WORKSPACE_FILE, find_workspace, load_settings, read_workspace
from daybook.errors import DaybookError, Notice, raise_all
from daybook.expression import CompiledExpression, Constants, cast_sql
from daybook.model.json_fields import Errors, Hidden, Notices, named
from daybook.model.operation import TableDestination
from daybook.model.project import target_name
from daybook.model.types import ColumnType
from daybook.plan.loads import INPUT_KEY
from daybook.plan.registration import registration_errors
from daybook.plan.steps import (
    AggregateStep,
    AppendStep,
    CheckStep,
    ComputedColumn,
    DeleteStep,
    LoadStep,
    OutputStep,
    Plan,
    Schema,
    Step,
    UpdateStep,
)
from daybook.resolve.paths import render_template
from daybook.workspace.open_workspace import OpenedWorkspace, workspace_root

if TYPE_CHECKING:
    from datetime import date

    from daybook.definitions.loading import LoadedWorkspace
    from daybook.model.calendar import Period
    from daybook.resolve.calendars.calendar import PeriodCalendar


@dataclass(frozen=True, slots=True)
class ValidationResult:
    """How many definitions were checked, and everything that was found in them."""

    is_ok: Annotated[bool, named("ok")] = field(init=False, default=True)
    definition_count: Annotated[int, named("definitions")]
    errors: Errors = ()
    notices: Notices = ()
    # How many warnings operations accept.
    accepted: int = 0
    # The files that define nothing.
    skipped: Hidden[tuple[Path, ...]] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "is_ok", not self.errors)


@dataclass(frozen=True, slots=True)
class CompiledProject:
    """The checked steps of a project for one period."""

    project_id: str
    period: "Period"
    plan: Plan
    constants: Constants

    @property
    def notices(self) -> tuple[Notice, ...]:
        return self.plan.notices

    @property
    def description(self) -> dict[str, Any]:
        """The steps as data that JSON can hold."""
        return describe_plan(self.plan, self.constants)

    @property
    def text(self) -> str:
        """The steps with their schemas and Spark SQL, for people."""
        return explain_plan(self.plan, self.constants)


def validate_definitions(path: Path | None = None, *, workspace: Path | None = None) -> ValidationResult:
    """Check all definitions of a workspace and what projects compute; with a path, report only what is below it.

    Without `workspace` it is the one around the path; a file outside of any workspace is checked by itself.
    """
    from daybook.runs.permissions import own_file_errors
    from daybook.workspace.validation import check_workspace

    if path is not None and not path.exists():
        raise DaybookError("MODEL_064", path=path.as_posix())
    root = _root_around(path, workspace)
    if root is None:
        return _validate_file(path or Path())
    definitions, errors = read_workspace(root)
    findings = check_workspace(definitions)
    errors += [*_with_cycles(definitions, findings.errors), *own_file_errors(definitions)]
    if path is None:
        return ValidationResult(
            len(tuple(definitions.all())),
            tuple(errors),
            tuple(findings.notices),
            findings.accepted,
            definitions.skipped,
        )
    below = [definition for definition in definitions.all() if _is_within(definition.file, path)]
    concerned = [error for error in errors if error.span is None or _is_within(error.span.file, path)]
    if path.is_file() and not below and not concerned:
        # The workspace skips the file, so it is checked by itself.
        return _validate_file(path)
    notices = [finding for finding in findings.notices if finding.span is None or _is_within(finding.span.file, path)]
    skipped = tuple(file for file in definitions.skipped if _is_within(file.as_posix(), path))
    return ValidationResult(len(below), tuple(concerned), tuple(notices), skipped=skipped)


def _with_cycles(definitions: "LoadedWorkspace", errors: "list[DaybookError]") -> "list[DaybookError]":
    """The errors with those of projects that wait for each other, instead of what follows from that alone."""
    from daybook.graph.dependencies import cycle_errors, derive_graph
    from daybook.workspace.validation import is_of_registered_dataset

    projects = definitions.definitions["project"]
    graph = derive_graph(
        {key: definition.model for key, definition in projects.items()}, definitions_of_files(definitions)
    )
    cycles = list(cycle_errors(graph, span_of=lambda project_id: projects[project_id].source.span("input")))
    # A project that reads what it writes itself has been refused with the output to blame.
    if not cycles or any(error.code == "PROJECT_009" for error in errors):
        return errors
    return [*(error for error in errors if not is_of_registered_dataset(error, definitions)), *cycles]


def compile_projects(
    workspace: OpenedWorkspace,
    name: str,
    *,
    period: str | None = None,
    parameters: "Mapping[str, Any] | None" = None,
) -> tuple[CompiledProject, ...]:
    """Check the projects that an id, a pattern or a file names: with `for_each`, every instance."""
    from daybook.resolve.project_files import named_projects

    return tuple(
        compile_project(workspace, project, period=period, parameters=parameters)
        for project in named_projects(workspace.read_definitions(), name)
    )


def compile_project(
    workspace: OpenedWorkspace,
    project: str,
    *,
    period: str | None = None,
    parameters: "Mapping[str, Any] | None" = None,
) -> CompiledProject:
    """Check a project, by its id or file, as it would run for a period, by default the current month."""
    from daybook.definitions.changes import find_changes, with_changes
    from daybook.model.parameter import given_values
    from daybook.plan.expected import as_expected, awaited_datasets
    from daybook.plan.plan_cache import PlanCache
    from daybook.resolve.calendars.periods import calendar_for, period_of
    from daybook.resolve.project_files import CheckedFiles

    definitions = workspace.read_definitions()
    definition, notices = CheckedFiles(definitions).load_project(project)
    declared = definition.model.parameters
    defaults = {name: parameter.default for name, parameter in declared.items() if parameter.default is not None}
    values = {**defaults, **given_values(definition.id, declared, parameters or {})}
    now = workspace.clock()
    with workspace.open_store_or_empty() as store, store.read() as transaction:
        heads = transaction.definitions.heads()
        changes = find_changes(definitions.all(), heads, workspace=workspace.settings.name, prune=False)
        stored = transaction.stored_definitions(with_sandbox=True)
        plans = PlanCache()
        projects = definitions.definitions["project"].values()
        applied = with_changes(stored, changes)
        awaited = tuple(awaited_datasets(definition.model, applied))
        seen = as_expected(applied, projects, plans, dataset_ids=awaited)
        calendar = calendar_for(definition.model.calendar_id, seen)
        chosen = period_of(period, calendar) if period else _current_period(calendar, now.date())
        constants = Constants(now, chosen, values)
        plan = plans.plan(definition, seen, constants)
        raise_all(registration_errors(plan, definition.source, seen))
    plan = replace(plan, notices=(*notices, *plan.notices))
    return CompiledProject(definition.id, chosen, plan, constants)


def write_schemas(folder: Path) -> tuple[Path, ...]:
    """Write JSON Schemas of all definition files into a folder; the files that were written."""
    from daybook.model import serialization

    try:
        return tuple(serialization.write_schemas(folder))
    except OSError as error:
        raise DaybookError("MODEL_066", path=folder.as_posix(), reason=error.strerror or str(error)) from error


def _root_around(path: Path | None, workspace: Path | None) -> Path | None:
    """None for a file outside of any workspace."""
    if path is None or workspace is not None:
        return workspace_root(workspace)
    try:
        return find_workspace(path)
    except DaybookError:
        if path.is_file():
            return None
        raise


def _validate_file(path: Path) -> ValidationResult:
    """One file by itself: its form, without what it refers to."""
    if path.name == WORKSPACE_FILE:
        return ValidationResult(0, tuple(load_settings(path.parent)[1]))
    definitions, errors = read_definitions(read_text(path), path.as_posix())
    if not definitions and not errors:
        raise DaybookError("MODEL_065", file=path.as_posix())
    return ValidationResult(len(definitions), tuple(errors))


def _is_within(file: str | None, path: Path) -> bool:
    return file is not None and Path(file).resolve().is_relative_to(path.resolve())


def _current_period(calendar: "PeriodCalendar", today: "date") -> "Period":
    """The month of a day, or the finest period around it that a calendar without months has."""
    levels = ("month", *reversed(calendar.levels))
    candidates = (calendar.at(level, today) for level in levels if level in calendar.levels)
    return next(period for period in candidates if period is not None)


def describe_plan(plan: Plan, constants: Constants) -> dict[str, Any]:
    """The plan as data that JSON can hold; `constants` stand in for the run's timestamp and period in the SQL."""
    return {
        "project": plan.project.id,
        "loads": [_describe_load(load) for load in plan.loads],
        "operations": [_describe_step(plan, step, constants) for step in plan.steps],
        "columns": _type_names(plan.types),
        "usage": [
            {"operation": column_use.operation_seq, "dataset": column_use.dataset_id, "column": column_use.column}
            for column_use in plan.usage
        ],
        "notices": [
            {"code": warning.code, "message": warning.message, "operation": warning.operation_seq}
            for warning in plan.notices
        ],
        "accepted": plan.accepted,
    }


def explain_plan(plan: Plan, constants: Constants) -> str:
    """The plan as text, one block a step; the columns of a step are shown where they differ from those before."""
    return "\n".join(_plan_lines(plan, constants))


def _plan_lines(plan: Plan, constants: Constants) -> Iterator[str]:
    data = describe_plan(plan, constants)
    yield f"project {data['project']}"
    before: dict[str, str] = {}
    for load in data["loads"]:
        mode = f", {load['temporal_mode']}" if load["temporal_mode"] else ""
        yield f"  read {load['dataset']} version {load['version']} ({load['table']}{mode}), {_load_purpose(load)}"
        if load["key"] == INPUT_KEY:
            before = load["columns"]
            yield from (f"    {name} {kind}" for name, kind in before.items())
    for step in data["operations"]:
        yield ""
        yield f"{step['seq']} {step['type']}: {step['name']}"
        yield from (f"  {line}" for line in _step_lines(step))
        for name, kind in step["columns"].items():
            if before.get(name) != kind:
                yield f"  -> {name} {kind}"
        before = step["columns"]


def _load_purpose(load: Mapping[str, Any]) -> str:
    """What a table is read for; a join under the name that expressions know it by."""
    match load["role"]:
        case "join":
            return f"joined as {load['alias']} in {load['operation']}"
        case "append":
            return f"appended in {load['operation']}"
        case _:
            return "the input"


def _step_lines(step: Mapping[str, Any]) -> Iterator[str]:
    if source := step.get("source"):
        yield f"from {source}"
    for join in step.get("joins", ()):
        yield f"join {join['dataset']} as {join['alias']} on {join['sql']}"
    if selector := step.get("selector"):
        yield f"where {selector['sql']}"
    if group_by := step.get("group_by"):
        yield f"group by {', '.join(group_by)}"
    if condition := step.get("condition"):
        yield f"must hold: {condition['sql']}"
    for value in step.get("values", ()):
        yield f"{value['column']} {value['type']} = {value['sql']}"
    if "destination" in step:
        yield f"to {step['destination']}: {', '.join(step['output'])}"
        if step["order_by"]:
            yield f"order by {', '.join(step['order_by'])}"


def _describe_load(load: LoadStep) -> dict[str, Any]:
    return {
        "key": load.key,
        "role": load.role,
        "operation": load.operation_seq or None,
        "alias": load.alias,
        "dataset": load.dataset_id,
        "version": load.version.version,
        "table": load.table,
        "temporal_mode": load.temporal_mode,
        "columns": _type_names(load.types),
    }


def _describe_step(plan: Plan, step: Step, constants: Constants) -> dict[str, Any]:
    data: dict[str, Any] = {"seq": step.seq, "id": step.operation_id, "name": step.name}
    selector = step.source_selector if isinstance(step, AppendStep) else step.selector
    if selector:
        data["selector"] = _describe_expression(selector, constants)
    match step:
        case UpdateStep():
            joins = [
                {
                    "alias": join.alias,
                    "load": join.load_key,
                    "dataset": plan.load(join.load_key).dataset_id,
                    "columns": list(join.columns),
                    **_describe_expression(join.on, constants),
                }
                for join in step.joins
            ]
            data |= {
                "type": "update",
                "joins": joins,
                "values": [_describe_value(value, constants) for value in step.assignments],
            }
        case AggregateStep():
            values = [_describe_value(value, constants) for value in step.aggregations]
            data |= {"type": "aggregate", "group_by": list(step.group_by), "values": values}
        case AppendStep():
            values = [_describe_value(value, constants) for value in (*step.aggregations, *step.mapped)]
            source = plan.load(step.load_key).dataset_id
            data |= {"type": "append", "source": source, "group_by": list(step.group_by), "values": values}
        case DeleteStep():
            data |= {"type": "delete"}
        case CheckStep():
            data |= {"type": "check", "condition": _describe_expression(step.condition, constants)}
        case OutputStep():
            data |= {
                "type": "output",
                "destination": _destination_name(plan, step, constants),
                "output": _type_names(step.columns),
                "order_by": list(step.order_by),
                "include_deleted": step.arguments.include_deleted,
            }
        case _:
            assert_never(step)
    return {**data, "columns": _type_names(step.schema)}


def _destination_name(plan: Plan, step: OutputStep, constants: Constants) -> str:
    """Where an output goes in the period, as a run names it."""
    name = target_name(step.arguments.destination)
    if constants.period is None or isinstance(step.arguments.destination, TableDestination):
        return name
    try:
        return render_template(name, constants.period, plan.input.table)
    except DaybookError:
        # A period that cannot fill it is for the run to refuse; the plan is right all the same.
        return name


def _describe_expression(expression: CompiledExpression, constants: Constants) -> dict[str, str]:
    return {"text": expression.text, "sql": expression.sql(constants)}


def _describe_value(value: ComputedColumn, constants: Constants) -> dict[str, str]:
    sql = cast_sql(value.expression.sql(constants), value.expression.type, value.type)
    return {"column": value.column, "type": str(value.type), "text": value.expression.text, "sql": sql}


def _type_names(schema: Schema | Mapping[str, ColumnType]) -> dict[str, str]:
    return {name: str(column_type) for name, column_type in schema.items()}
