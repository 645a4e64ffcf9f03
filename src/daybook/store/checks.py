"""What a workspace declares and its projects compute, checked against the files and what the store knows."""

from dataclasses import dataclass, field

from daybook.errors import DaybookError, Notice, flatten
from daybook.model.definition import Catalog, Definition
from daybook.model.loading import LoadedWorkspace
from daybook.model.loading.workspace import WorkspaceCatalog
from daybook.model.operation import OutputOperation
from daybook.model.project import Project
from daybook.plan.plan_cache import PlanCache
from daybook.plan.registered_catalog import RegisteredCatalog
from daybook.plan.registration import registration_errors
from daybook.resolve.checks import workspace_errors
from daybook.store import open_store
from daybook.store.address import store_exists
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


# Codes for what does not exist, with the parameter that names it.
_MISSING_ID_PARAMETERS = {
    "MODEL_061": "id",
    "PROJECT_020": "dataset_id",
    "UPDATE_020": "dataset_id",
    "APPEND_001": "dataset_id",
    "OUTPUT_020": "datasource_id",
}


@dataclass(slots=True)
class WorkspaceFindings:
    errors: list[DaybookError] = field(default_factory=list)
    notices: list[Notice] = field(default_factory=list)
    # How many warnings operations accept.
    accepted: int = 0


def check_workspace(workspace: LoadedWorkspace) -> WorkspaceFindings:
    """Everything that is wrong with well-formed definitions."""
    findings = check_projects(workspace)
    errors = sorted([*workspace_errors(workspace), *findings.errors], key=_span_key)
    first = [error for error in errors if not _is_consequence(error, workspace)]
    # Projects that read each other's outputs have nothing but such findings.
    shown = first if first or workspace.doubtful else errors
    return WorkspaceFindings(shown, findings.notices, findings.accepted)


def check_projects(workspace: LoadedWorkspace) -> WorkspaceFindings:
    """What is wrong with the projects."""
    findings = WorkspaceFindings()
    plans = PlanCache()
    if store_exists(workspace.settings.store, workspace.root):
        # Without a store, validating needs no SQLAlchemy either.
        from daybook.store.apply import plan

        try:
            with open_store(workspace.settings.store, root=workspace.root) as store:
                planned = plan(store, workspace.all(), workspace=workspace.settings.name, plans=plans)
        except DaybookError as error:
            # Without the store the files are still worth checking.
            findings.notices += (_as_notice(single) for single in flatten(error))
        else:
            for effect in planned.effects:
                findings.errors += (*effect.findings, *effect.expected)
                findings.notices += (*effect.notices, *effect.validation.notices)
                findings.accepted += effect.validation.accepted
            return findings
    projects = workspace.definitions["project"].values()
    catalog = RegisteredCatalog(WorkspaceCatalog(workspace), projects, plans)
    for definition in projects:
        validation = check_project(definition, catalog, plans)
        findings.errors += validation.errors
        findings.notices += validation.notices
        findings.accepted += validation.accepted
    return findings


def _is_consequence(error: DaybookError, workspace: LoadedWorkspace) -> bool:
    """Whether something is missing only because what would define or register it is wrong itself."""
    if error.code not in _MISSING_ID_PARAMETERS:
        return False
    missing = str(error.parameters[_MISSING_ID_PARAMETERS[error.code]])
    return missing in workspace.doubtful or is_of_registered_dataset(error, workspace)


def is_of_registered_dataset(error: DaybookError, workspace: LoadedWorkspace) -> bool:
    """Whether something is missing that a project registers."""
    if error.code not in _MISSING_ID_PARAMETERS:
        return False
    missing = str(error.parameters[_MISSING_ID_PARAMETERS[error.code]])
    projects = (definition.model for definition in workspace.definitions["project"].values())
    outputs = (each for project in projects for each in project.operations if isinstance(each, OutputOperation))
    return any(each.arguments.registered_id == missing for each in outputs)


def _as_notice(error: DaybookError) -> Notice:
    return Notice(error.code, error.message, error.hint, error.span, error.operation_seq)


def _span_key(error: DaybookError) -> tuple[str, int, int]:
    span = error.span
    return (span.file or "", span.line, span.column) if span else ("", 0, 0)
