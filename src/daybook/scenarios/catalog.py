"""The definitions a scenario brings with it."""

from collections.abc import Iterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Literal

from daybook.errors import DaybookError
from daybook.model.calendar import Calendar
from daybook.model.catalog import DatasetVersion, ResolverVersion
from daybook.model.datasource import DataSource
from daybook.model.definition import Definition
from daybook.model.loading import find_workspace
from daybook.model.loading.workspace import read_workspace


class ScenarioCatalog:
    """A scenario's datasets, and the calendars of the workspace it lies in; where data lies does not matter."""

    def __init__(self, versions: Iterable[DatasetVersion], file: Path) -> None:
        self._versions = {(each.dataset.id, each.version): each for each in versions}
        self._file = file

    @cached_property
    def _calendars(self) -> Mapping[str, Definition[Calendar]]:
        """Read when they are asked for: few projects have a calendar of their own."""
        try:
            root = find_workspace(self._file)
        except DaybookError:
            return {}
        workspace, _ = read_workspace(root)
        return workspace.definitions["calendar"]

    def dataset(self, dataset_id: str, version: int | None = None) -> DatasetVersion | None:
        latest = max(self.dataset_versions(dataset_id), default=0)
        return self._versions.get((dataset_id, version or latest))

    def dataset_versions(self, dataset_id: str) -> tuple[int, ...]:
        return tuple(sorted(version for known, version in self._versions if known == dataset_id))

    def datasource(self, datasource_id: str) -> DataSource | None:
        return None

    def is_datasource_disabled(self, datasource_id: str) -> bool:
        return False

    def resolver(self, resolver_id: str) -> ResolverVersion | None:
        return None

    def default_resolver(self) -> ResolverVersion | None:
        return None

    def calendar(self, calendar_id: str) -> Calendar | None:
        found = self._calendars.get(calendar_id)
        return found.model if found is not None else None

    def ids(self, kind: Literal["dataset", "datasource", "resolver", "calendar"]) -> tuple[str, ...]:
        match kind:
            case "dataset":
                return tuple(sorted({dataset_id for dataset_id, _ in self._versions}))
            case "calendar":
                return tuple(self._calendars)
            case _:
                return ()
