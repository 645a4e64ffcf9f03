"""The version of a project that runs."""

from dataclasses import dataclass

from daybook.model.project import Project
from daybook.store.definitions import Definitions
from daybook.store.projects import Projects
from daybook.store.records import ColumnUsage, ProjectInput, ProjectState
from daybook.store.texts import from_text


@dataclass(frozen=True, slots=True)
class ActiveProject:
    """`project` reads the input version it was activated for, where the activation named one."""

    project: Project
    version: int
    structure_digest: str
    inputs: tuple[ProjectInput, ...]
    usage: tuple[ColumnUsage, ...]


def active_project(definitions: Definitions, projects: Projects, state: ProjectState) -> ActiveProject | None:
    """None when the project was never activated."""
    if state.active_version is None:
        return None
    written = definitions.written("project", state.project_id, state.active_version)
    project: Project = from_text("project", written.body)
    head = definitions.head("project", state.project_id)
    if head is not None and head.structure_digest == written.structure_digest:
        # Names and descriptions may be newer than the activation.
        current: Project = from_text("project", definitions.get("project", state.project_id).body)
        project = current.model_copy(update={"input": project.input})
    return ActiveProject(
        project,
        written.version,
        written.structure_digest,
        projects.inputs(state.project_id, written.version),
        projects.usage(state.project_id, written.version),
    )
