"""The full validation of a project: its plan, and that all it names exists."""

from daybook.errors import DaybookError, flatten
from daybook.model.catalog import Catalog
from daybook.model.definition import Definition
from daybook.model.project import Project
from daybook.plan.planning import plan_project
from daybook.resolve.known_calendars import calendar_for
from daybook.store.references import with_pins
from daybook.store.validation import Validation


def check_project(definition: Definition[Project], catalog: Catalog) -> Validation:
    project = definition.model
    errors: list[DaybookError] = []
    try:
        calendar_for(project.calendar_id, catalog)
    except DaybookError as error:
        errors += flatten(error)
    try:
        plan = plan_project(project, definition.source, catalog)
    except DaybookError as error:
        errors += flatten(error)
        return Validation(tuple(errors))
    uses = ((use.operation_seq, use.dataset_id, use.column) for use in plan.usage)
    return Validation(tuple(errors), plan.notices, with_pins(project, uses))
