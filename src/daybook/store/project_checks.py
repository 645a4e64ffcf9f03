"""The full validation of a project: its plan, and that all it names exists."""

from daybook.model.definition import Catalog, Definition
from daybook.model.project import Project
from daybook.plan.plan_cache import PlanCache
from daybook.plan.registration import registration_errors
from daybook.store.records import ProjectValidation
from daybook.store.references import mark_pinned_usage


def check_project(definition: Definition[Project], catalog: Catalog, plans: PlanCache) -> ProjectValidation:
    examined = plans.examine(definition, catalog)
    errors = (*examined.errors, *examined.location_errors)
    if errors or examined.plan is None:
        return ProjectValidation(errors)
    errors = tuple(registration_errors(examined.plan, definition.source, catalog))
    uses = ((use.operation_seq, use.dataset_id, use.column) for use in examined.plan.usage)
    usage = mark_pinned_usage(definition.model, uses)
    return ProjectValidation(errors, examined.plan.notices, usage, examined.plan.accepted)
