"""What is wrong with the definitions of a workspace, without what only follows from something else."""

from dataclasses import dataclass, field

from daybook.definitions.files import definitions_of_files
from daybook.definitions.loading import LoadedWorkspace
from daybook.definitions.registration_owners import shared_registrations
from daybook.errors import DaybookError, Notice, flatten
from daybook.model.operation import OutputOperation
from daybook.plan.check_project import check_project
from daybook.plan.expected import as_expected
from daybook.plan.plan_cache import PlanCache
from daybook.resolve.definition_checks import workspace_errors
from daybook.store import open_store
from daybook.store.address import store_exists
from daybook.store.records import ProjectStatus

# Codes for what does not exist, with the parameter that names it.
_MISSING_ID_PARAMETERS = {
    "MODEL_061": "id",
    "PROJECT_020": "dataset_id",
    "APPEND_001": "dataset_id",
    "OUTPUT_020": "datasource_id",
}
# What is wrong with a view itself, so that nothing needs to be said of projects that read it.
_WRONG_VIEWS = ("MODEL_061", "MODEL_083")


@dataclass(slots=True)
class WorkspaceFindings:
    errors: list[DaybookError] = field(default_factory=list)
    notices: list[Notice] = field(default_factory=list)
    # How many warnings operations accept.
    accepted: int = 0

    def add(self, others: "WorkspaceFindings") -> None:
        self.errors += others.errors
        self.notices += others.notices
        self.accepted += others.accepted


def check_workspace(workspace: LoadedWorkspace) -> WorkspaceFindings:
    """Everything that is wrong with well-formed definitions."""
    findings = check_projects(workspace)
    findings.add(_registration_findings(workspace))
    errors = sorted([*workspace_errors(workspace), *findings.errors], key=_span_key)
    wrong = {error.span.file for error in errors if error.code in _WRONG_VIEWS and error.span is not None}
    views = {key for key, definition in workspace.definitions["dataset"].items() if definition.file in wrong}
    errors = [error for error in errors if not (error.code == "PROJECT_061" and error.parameters["view"] in views)]
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
        from daybook.runs.lifecycle.apply import plan

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
    expected = as_expected(definitions_of_files(workspace), projects, plans)
    for definition in projects:
        validation = check_project(definition, expected, plans)
        findings.errors += validation.errors
        findings.notices += validation.notices
        findings.accepted += validation.accepted
    return findings


def _registration_findings(workspace: LoadedWorkspace) -> WorkspaceFindings:
    """Names that several projects register; a warning for those that all were activated when that was allowed."""
    statuses = _project_statuses(workspace)
    projects = workspace.definitions["project"].values()
    counted = [definition for definition in projects if statuses.get(definition.id) != "inactive"]
    findings = WorkspaceFindings()
    for shared in shared_registrations(counted):
        errors = [shared.error_at(project_id) for project_id in shared.spans]
        if all(statuses.get(project_id) in ("active", "conflict") for project_id in shared.spans):
            findings.notices += map(_as_notice, errors)
        else:
            findings.errors += errors
    return findings


def _project_statuses(workspace: LoadedWorkspace) -> dict[str, ProjectStatus]:
    """Of the projects that the store knows; none where it cannot be read, which is said elsewhere."""
    if not store_exists(workspace.settings.store, workspace.root):
        return {}
    try:
        with open_store(workspace.settings.store, root=workspace.root) as store, store.read() as transaction:
            return {state.project_id: state.status for state in transaction.projects.all()}
    except DaybookError:
        return {}


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
    outputs = (
        operation for project in projects for operation in project.operations if isinstance(operation, OutputOperation)
    )
    return any(output.arguments.registered_id == missing for output in outputs)


def _as_notice(error: DaybookError) -> Notice:
    return Notice(error.code, error.message, error.hint, error.span, error.operation_seq)


def _span_key(error: DaybookError) -> tuple[str, int, int]:
    span = error.span
    return (span.file or "", span.line, span.column) if span else ("", 0, 0)
