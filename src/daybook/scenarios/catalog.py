"""The definitions that a scenario uses: its own, and those of its workspace."""

import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import cached_property
from pathlib import Path

from daybook.errors import DaybookError
from daybook.model.calendar import Calendar
from daybook.model.definition import Catalog, CatalogKind, DatasetCatalog, DeclaredVersion, Definition
from daybook.model.loading import LoadedWorkspace, find_workspace
from daybook.model.loading.workspace import WorkspaceCatalog, read_workspace
from daybook.plan.plan_cache import PlanCache, RegisteredCatalog


class Workspaces:
    """The workspaces around scenario files, each read once; scenarios of several threads share it."""

    def __init__(self) -> None:
        self._read: dict[Path, LoadedWorkspace] = {}
        self._lock = threading.Lock()

    def around(self, file: Path) -> LoadedWorkspace | None:
        """The definitions around a file, as far as they are right; None outside of any workspace."""
        try:
            root = find_workspace(file)
        except DaybookError:
            return None
        with self._lock:
            if root not in self._read:
                self._read[root] = read_workspace(root)[0]
            return self._read[root]


class ScenarioCatalog(DatasetCatalog):
    """A scenario's datasets, and the calendars of the workspace it lies in; where data lies does not matter.

    `references` are the datasets that are named by id. With projects of the workspace, its other datasets are known,
    too, and those that the projects register.
    """

    def __init__(
        self,
        versions: Iterable[DeclaredVersion],
        workspace: Callable[[], LoadedWorkspace | None],
        *,
        references: Iterable[str] = (),
        has_workspace_projects: bool = False,
    ) -> None:
        self._references = frozenset(references)
        self._versions = {(each.dataset.id, each.version): each for each in versions}
        self._find_workspace = workspace
        self._has_projects = has_workspace_projects

    @property
    def _workspace(self) -> LoadedWorkspace | None:
        """Read when it is asked for: few scenarios need anything of it."""
        return self._find_workspace()

    @cached_property
    def _base(self) -> Catalog | None:
        """Datasets of the workspace as its projects will have them, those of the scenario before others."""
        if not self._has_projects or (workspace := self._workspace) is None:
            return None
        projects = workspace.definitions["project"].values()
        return RegisteredCatalog(WorkspaceCatalog(workspace), projects, PlanCache())

    @cached_property
    def _calendars(self) -> Mapping[str, Definition[Calendar]]:
        workspace = self._workspace
        return workspace.definitions["calendar"] if workspace is not None else {}

    def declared(self, dataset_id: str, version: int | None = None) -> DeclaredVersion | None:
        own = self._own_versions(dataset_id)
        if own or self._base is None:
            latest = self._versions.get((dataset_id, max(own, default=0)))
            if latest is not None and dataset_id in self._references and version is not None:
                # A scenario that names a dataset of the workspace has one set of rows for all its versions.
                return replace(latest, version=version)
            return self._versions.get((dataset_id, version)) if version is not None else latest
        return self._base.declared(dataset_id, version)

    def dataset_versions(self, dataset_id: str) -> tuple[int, ...]:
        own = self._own_versions(dataset_id)
        return own if own or self._base is None else self._base.dataset_versions(dataset_id)

    def _own_versions(self, dataset_id: str) -> tuple[int, ...]:
        return tuple(sorted(version for known, version in self._versions if known == dataset_id))

    def registering_project(self, dataset_id: str) -> str | None:
        return self._base.registering_project(dataset_id) if self._base is not None else None

    def calendar(self, calendar_id: str) -> Calendar | None:
        found = self._calendars.get(calendar_id)
        return found.model if found is not None else None

    def ids(self, kind: CatalogKind) -> tuple[str, ...]:
        match kind:
            case "dataset":
                others = self._base.ids(kind) if self._base is not None else ()
                return tuple(sorted({*(dataset_id for dataset_id, _ in self._versions), *others}))
            case "calendar":
                return tuple(self._calendars)
            case _:
                return ()
