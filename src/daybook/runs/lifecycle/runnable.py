"""The version of a project that may run."""

from daybook.errors import DaybookError
from daybook.model.project import Project
from daybook.model.serialization import encode_definition
from daybook.store.database.projects import ProjectVersion, find_active_project
from daybook.store.records import ProjectState
from daybook.store.store import Transaction


def require_runnable(transaction: Transaction, project_id: str, written: Project | None = None) -> ProjectVersion:
    """The active version, if the project may run; `written` is its file's text, which must not differ from it."""
    state = transaction.projects.get(project_id)
    match state.status:
        case "conflict":
            raise conflict_error(state)
        case "inactive":
            raise DaybookError("STORE_020", project_id=project_id)
        case "draft" | "active":
            pass
    active = find_active_project(transaction.definitions, transaction.projects, state)
    if active is None:
        raise DaybookError("STORE_022", project_id=project_id)
    head = transaction.definitions.head("project", project_id)
    latest = head.structure_digest if head else None
    digest = latest if written is None else encode_definition("project", written).structure_digest
    if digest != active.structure_digest:
        # On a shared store the file may not even be known yet.
        before = "" if digest == latest else "`daybook apply`, then "
        hint = f"{before}`daybook activate {project_id}`, or `daybook run {project_id} --period PERIOD --draft`"
        raise DaybookError("STORE_021", project_id=project_id, version=active.version, hint=hint)
    for item in active.inputs:
        if not transaction.definitions.has_version("dataset", item.dataset_id, item.version):
            raise DaybookError("STORE_034", project_id=project_id, dataset_id=item.dataset_id, version=item.version)
    return active


def conflict_error(state: ProjectState) -> DaybookError:
    """What `run` says of a project in conflict: the whole report."""
    return DaybookError("STORE_019", project_id=state.project_id, summary="; ".join(state.warnings))


def find_version(transaction: Transaction, written: Project, *, as_draft: bool) -> ProjectVersion:
    """The active version, or the written one as a draft when it was asked for or was never activated."""
    state = transaction.projects.find(written.id)
    if state is None:
        raise DaybookError("RUN_015", project=written.id)
    if as_draft or (state.active_version is None and state.status == "draft"):
        return ProjectVersion(written, state.latest_version, is_draft=True)
    return require_runnable(transaction, written.id, written)
