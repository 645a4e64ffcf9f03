"""Finds the project that a user names in the files of a workspace, with what is wrong with all it reaches."""

from collections.abc import Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from functools import cached_property
from pathlib import Path
from typing import Any

from daybook.definitions.files import makers_of
from daybook.definitions.loading import LoadedWorkspace
from daybook.definitions.reachable import DefinitionKey, reachable_definitions, reached_keys
from daybook.definitions.value import Definitions
from daybook.errors import DaybookError, Notice, notice, raise_all
from daybook.errors.error import did_you_mean
from daybook.model.definition import Definition
from daybook.model.project import Project
from daybook.resolve.definition_checks import StructureContext, definition_errors


def find_project(workspace: LoadedWorkspace, name: str) -> Definition[Project]:
    """A project by its id or by the file that defines it."""
    projects = workspace.definitions["project"]
    if name in projects:
        return projects[name]
    path = Path(name)
    if path.is_file():
        there = [
            definition
            for definition in projects.values()
            if definition.file and Path(definition.file).resolve() == path.resolve()
        ]
        if len(there) == 1:
            return there[0]
        if there:
            ids = ", ".join(definition.id for definition in there)
            raise DaybookError("RUN_001", project=name, hint=f"the file defines several: {ids}")
    raise DaybookError("RUN_001", project=name, hint=did_you_mean(name, tuple(projects)))


def is_pattern(name: str) -> bool:
    """Whether a name stands for all projects that fit it: `clean-*`."""
    return any(sign in name for sign in "*?[")


def matching_projects(ids: Iterable[str], pattern: str) -> tuple[str, ...]:
    """The projects that fit a pattern, in order; RUN_001 where none does."""
    ids = tuple(ids)
    matches = tuple(sorted(id_ for id_ in ids if fnmatchcase(id_, pattern)))
    if not matches:
        raise DaybookError("RUN_001", project=pattern, hint=did_you_mean(pattern, ids))
    return matches


def named_projects(workspace: LoadedWorkspace, name: str) -> tuple[str, ...]:
    """The projects that a pattern or a file stands for; a name of one project as it is."""
    projects = workspace.definitions["project"]
    if name in projects:
        return (name,)
    if (path := Path(name)).is_file():
        path = path.resolve()
        return tuple(id_ for id_, item in projects.items() if item.file and Path(item.file).resolve() == path) or (
            name,
        )
    return matching_projects(projects, name) if is_pattern(name) else (name,)


class CheckedFiles:
    """The files of a workspace; the structure of each definition is checked once, when it is first asked for."""

    def __init__(self, workspace: LoadedWorkspace) -> None:
        self.workspace = workspace
        self._context = StructureContext(workspace)
        self._structural: dict[DefinitionKey, tuple[DaybookError, ...]] = {}
        # By project, which may have many periods.
        self._reached_errors: dict[str, tuple[DaybookError, ...]] = {}

    @property
    def definitions(self) -> Definitions:
        """What the files alone define."""
        return self._context.definitions

    @cached_property
    def makers(self) -> Mapping[str, str]:
        """The datasets that projects register, each with its project."""
        projects = self.workspace.definitions["project"].values()
        return {dataset_id: project.id for dataset_id, project in makers_of(projects).items()}

    def load_project(self, name: str) -> tuple[Definition[Project], tuple[Notice, ...]]:
        """A project by its id or file, when everything it reaches is right; errors elsewhere are a notice.

        Raises all that is wrong with what it reaches, with files that should define it or what it refers to included.
        """
        workspace = self.workspace
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
        raise_all(self.reached_errors(definition.id))
        others = self.files_with_errors
        if not others:
            return definition, ()
        return definition, (notice("MODEL_087", files=", ".join(others), project=definition.id),)

    def reached_errors(self, project_id: str) -> tuple[DaybookError, ...]:
        """What is wrong with a project and all it leads to, with files that should define some of it included."""
        if project_id not in self._reached_errors:
            self._reached_errors[project_id] = tuple(self._find_reached_errors(project_id))
        return self._reached_errors[project_id]

    def _find_reached_errors(self, project_id: str) -> list[DaybookError]:
        workspace = self.workspace
        reached = reached_keys(workspace, project_id)
        missing = [key for key in reached if workspace.get(*key) is None]
        needed = [
            file
            for file in workspace.broken
            if file.may_define_default_resolver or any(file.may_define(*key) for key in missing)
        ]
        errors = [error for file in needed for error in file.errors]
        errors += [
            error for error in workspace.duplicates if (error.parameters["kind"], error.parameters["id"]) in reached
        ]
        errors += self._errors_of(reachable_definitions(workspace, project_id))
        return errors

    @cached_property
    def files_with_errors(self) -> tuple[str, ...]:
        """The files that do not hold what they should, in order."""
        workspace = self.workspace
        files = {file.path.as_posix() for file in workspace.broken}
        errors = (*workspace.duplicates, *self._errors_of(workspace.all()))
        files |= {error.span.file or "" for error in errors if error.span}
        return tuple(sorted(files))

    def _errors_of(self, definitions: Iterable[Definition[Any]]) -> Iterator[DaybookError]:
        for definition in definitions:
            key = (definition.kind, definition.id)
            if key not in self._structural:
                self._structural[key] = tuple(definition_errors(definition, self._context))
            yield from self._structural[key]
