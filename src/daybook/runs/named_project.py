"""The project that a user names."""

from pathlib import Path

from daybook.errors import DaybookError
from daybook.model.definition import Definition
from daybook.model.loading import Workspace
from daybook.model.project import Project
from daybook.model.suggestion import did_you_mean


def find_project(workspace: Workspace, name: str) -> Definition[Project]:
    """A project by its id or by the file that defines it."""
    projects = workspace.definitions["project"]
    if name in projects:
        return projects[name]
    path = Path(name)
    if path.is_file():
        there = [each for each in projects.values() if each.file and Path(each.file).resolve() == path.resolve()]
        if len(there) == 1:
            return there[0]
        if there:
            ids = ", ".join(each.id for each in there)
            raise DaybookError("RUN_001", project=name, hint=f"the file defines several: {ids}")
    raise DaybookError("RUN_001", project=name, hint=did_you_mean(name, tuple(projects)))
