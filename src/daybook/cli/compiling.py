"""`daybook compile`: the checked plan of a project, without Spark."""

from typing import TYPE_CHECKING, Annotated

import typer

from daybook.cli.parameters import ProjectArgument, json_option, period_option
from daybook.cli.terminal import say, say_json, show_notice

if TYPE_CHECKING:
    from datetime import date

    from daybook.model.period import Period
    from daybook.resolve.calendars import PeriodCalendar


def compile_project(
    context: typer.Context,
    project: ProjectArgument,
    period: Annotated[str | None, period_option("The period; otherwise this month.")] = None,
    as_json: Annotated[bool, json_option("The plan as JSON.")] = False,
) -> None:
    """Show the steps of a project, with schemas and Spark SQL.

    The project is checked as a whole; Spark is not started.
    """
    from datetime import UTC, datetime

    from daybook.cli.workspace_store import load, opened_or_empty
    from daybook.expression import Constants
    from daybook.plan.explain import describe_plan, explain_plan
    from daybook.plan.planning import plan_project
    from daybook.plan.registered_catalog import RegisteredCatalog
    from daybook.resolve.known_calendars import calendar_for
    from daybook.resolve.periods import period_of
    from daybook.runs.named_project import find_project
    from daybook.store.changes import find_changes
    from daybook.store.prospect import ProspectiveCatalog

    workspace = load(context)
    definition = find_project(workspace, project)
    with opened_or_empty(workspace.settings.store, workspace.root) as store, store.read() as transaction:
        heads = transaction.definitions.heads()
        changes = find_changes(workspace.all(), heads, workspace=workspace.settings.name, prune=False)
        stored = transaction.catalog(with_sandbox=True)
        catalog = RegisteredCatalog(ProspectiveCatalog(stored, changes), workspace)
        now = datetime.now(UTC)
        calendar = calendar_for(definition.model.calendar_id, catalog)
        chosen = period_of(period, calendar) if period else _current(calendar, now.date())
        constants = Constants(now, chosen)
        checked = plan_project(definition.model, definition.source, catalog, constants)
    if as_json:
        say_json(describe_plan(checked, constants))
        return
    say(explain_plan(checked, constants))
    for notice in checked.notices:
        show_notice(notice)


def _current(calendar: "PeriodCalendar", today: "date") -> "Period":
    """The month of a day, or the finest period around it that a calendar without months has."""
    levels = ("month", *reversed(calendar.levels))
    found = (calendar.at(level, today) for level in levels if level in calendar.levels)
    return next(period for period in found if period is not None)
