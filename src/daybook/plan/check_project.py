"""What is wrong with a project against what it sees, and which columns it uses."""

from dataclasses import dataclass

from daybook.definitions.column_usage import StoredColumnUsage, mark_pinned_usage
from daybook.definitions.value import Definitions
from daybook.errors import DaybookError, Notice
from daybook.model.definition import Definition
from daybook.model.project import Project
from daybook.plan.plan_cache import PlanCache
from daybook.plan.registered_datasets import registration_errors


@dataclass(frozen=True, slots=True)
class ProjectValidation:
    """Without errors, `usage` says exactly which columns which operation uses."""

    errors: tuple[DaybookError, ...] = ()
    notices: tuple[Notice, ...] = ()
    usage: tuple[StoredColumnUsage, ...] = ()
    accepted: int = 0


def check_project(definition: Definition[Project], definitions: Definitions, plans: PlanCache) -> ProjectValidation:
    examined = plans.examine(definition, definitions)
    errors = (*examined.errors, *examined.location_errors)
    if errors or examined.plan is None:
        return ProjectValidation(errors)
    errors = tuple(registration_errors(examined.plan, definition.source, definitions))
    uses = ((use.operation_seq, use.dataset_id, use.column) for use in examined.plan.usage)
    usage = mark_pinned_usage(definition.model, uses)
    return ProjectValidation(errors, examined.plan.notices, usage, examined.plan.accepted)
