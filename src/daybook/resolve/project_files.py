"""Finds the project that a user names in the files of a workspace, with what is wrong with all it reaches."""

from pathlib import Path

from daybook.definitions.reachable import reachable_definitions, reached_keys
from daybook.errors import DaybookError, Notice, notice, raise_all
from daybook.errors.error import did_you_mean
from daybook.model.definition import Definition
from daybook.model.loading import LoadedWorkspace
from daybook.model.project import Project
from daybook.resolve.checks import structural_errors


def find_project(workspace: LoadedWorkspace, name: str) -> Definition[Project]:
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


def load_project(workspace: LoadedWorkspace, name: str) -> tuple[Definition[Project], tuple[Notice, ...]]:
    """A project by its id or file, when everything it reaches is right; errors elsewhere are a notice.

    Raises all that is wrong with what it reaches, with files that should define it or what it refers to included.
    """
    try:
        definition = find_project(workspace, name)
    except DaybookError:
        path = Path(name).resolve()
        raise_all(
            error
            for file in workspace.broken
            if file.path.resolve() == path or file.may_define("project", name)
            for error in file.errors
        )
        raise
    raise_all(reached_errors(workspace, definition.id))
    others = files_with_errors(workspace)
    if not others:
        return definition, ()
    return definition, (notice("MODEL_087", files=", ".join(others), project=definition.id),)


def reached_errors(workspace: LoadedWorkspace, project_id: str) -> list[DaybookError]:
    """What is wrong with a project and everything it leads to, with files that should define some of it included."""
    reached = reached_keys(workspace, project_id)
    missing = [key for key in reached if workspace.get(*key) is None]
    needed = [
        file
        for file in workspace.broken
        if file.may_define_default_resolver or any(file.may_define(*key) for key in missing)
    ]
    errors = [error for file in needed for error in file.errors]
    errors += [one for one in workspace.duplicates if (one.parameters["kind"], one.parameters["id"]) in reached]
    errors += structural_errors(workspace, reachable_definitions(workspace, project_id))
    return errors


def files_with_errors(workspace: LoadedWorkspace) -> tuple[str, ...]:
    """The files that do not hold what they should, in order."""
    found = {file.path.as_posix() for file in workspace.broken}
    found |= {one.span.file or "" for one in (*workspace.duplicates, *structural_errors(workspace)) if one.span}
    return tuple(sorted(found))
