"""Compiles projects to checked steps with Spark SQL, without Spark."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from daybook.errors import Notice, raise_all
from daybook.expression import Constants
from daybook.plan.registered_datasets import registration_errors
from daybook.plan.steps import (
    Plan,
)
from daybook.workspace.open_workspace import OpenedWorkspace
from daybook.workspace.plan_description import describe_plan, explain_plan

if TYPE_CHECKING:
    from datetime import date

    from daybook.model.calendar import Period
    from daybook.resolve.calendars.calendar import PeriodCalendar


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


def _current_period(calendar: "PeriodCalendar", today: "date") -> "Period":
    """The month of a day, or the finest period around it that a calendar without months has."""
    levels = ("month", *reversed(calendar.levels))
    candidates = (calendar.at(level, today) for level in levels if level in calendar.levels)
    return next(period for period in candidates if period is not None)
