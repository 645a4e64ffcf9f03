"""Everything a workspace declares and its projects compute, checked against the files and what the store knows."""

from dataclasses import dataclass, field

from daybook.errors import DaybookError, Notice, flatten
from daybook.model.catalog import Catalog
from daybook.model.definition import Definition
from daybook.model.loading import Workspace
from daybook.model.operation import OutputOperation
from daybook.model.project import Project
from daybook.model.workspace_catalog import WorkspaceCatalog
from daybook.plan.registered_catalog import RegisteredCatalog
from daybook.resolve.workspace_checks import problems
from daybook.store import open_store
from daybook.store.address import is_present
from daybook.store.checking import check_project
from daybook.store.validation import Validation

# Codes for what does not exist, with the parameter that names it.
_MISSING = {
    "MODEL_061": "id",
    "PROJECT_020": "dataset_id",
    "UPDATE_020": "dataset_id",
    "APPEND_001": "dataset_id",
    "OUTPUT_020": "datasource_id",
}


@dataclass(slots=True)
class Findings:
    errors: list[DaybookError] = field(default_factory=list)
    notices: list[Notice] = field(default_factory=list)


def check_workspace(workspace: Workspace) -> Findings:
    """Everything that is wrong with well-formed definitions; of two findings at one place a project's own counts."""
    findings = check_projects(workspace)
    taken = {_place(error) for error in findings.errors if error.span is not None}
    structure = [error for error in problems(workspace) if _place(error) not in taken]
    errors = sorted([*structure, *findings.errors], key=_place)
    first = [error for error in errors if not _follows(error, workspace)]
    # Projects that read each other's outputs have nothing but such findings.
    return Findings(first if first or workspace.doubtful else errors, findings.notices)


def check_projects(workspace: Workspace) -> Findings:
    """What is wrong with the projects."""
    findings = Findings()

    def validate(definition: Definition[Project], catalog: Catalog) -> Validation:
        return check_project(definition, RegisteredCatalog(catalog, workspace))

    if is_present(workspace.settings.store, workspace.root):
        # Without a store, validating needs no SQLAlchemy either.
        from daybook.store.apply import plan

        try:
            with open_store(workspace.settings.store, root=workspace.root) as store:
                planned = plan(store, workspace.all(), workspace=workspace.settings.name, validate=validate)
        except DaybookError as error:
            # Without the store the files are still worth checking.
            findings.notices += (_as_notice(single) for single in flatten(error))
        else:
            for effect in planned.effects:
                findings.errors += effect.findings
                findings.notices += (*effect.notices, *effect.validation.notices)
            return findings
    catalog = RegisteredCatalog(WorkspaceCatalog(workspace), workspace)
    for definition in workspace.definitions["project"].values():
        validation = check_project(definition, catalog)
        findings.errors += validation.errors
        findings.notices += validation.notices
    return findings


def _follows(error: DaybookError, workspace: Workspace) -> bool:
    """Whether something is missing only because what would define or register it is wrong itself."""
    if error.code not in _MISSING:
        return False
    missing = str(error.parameters[_MISSING[error.code]])
    if missing in workspace.doubtful:
        return True
    projects = (definition.model for definition in workspace.definitions["project"].values())
    outputs = (each for project in projects for each in project.operations if isinstance(each, OutputOperation))
    return any(each.arguments.register_as_dataset == missing for each in outputs)


def _as_notice(error: DaybookError) -> Notice:
    return Notice(error.code, error.message, error.hint, error.span, error.operation_seq)


def _place(error: DaybookError) -> tuple[str, int, int]:
    span = error.span
    return (span.file or "", span.line, span.column) if span else ("", 0, 0)
