"""The definitions a scenario brings with it."""

from collections.abc import Iterable
from typing import Literal

from daybook.model.calendar import Calendar
from daybook.model.catalog import DatasetVersion, ResolverVersion
from daybook.model.datasource import DataSource


class ScenarioCatalog:
    """Datasets only: where data lies does not matter to a scenario."""

    def __init__(self, versions: Iterable[DatasetVersion]) -> None:
        self._versions = {(each.dataset.id, each.version): each for each in versions}

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
        return None

    def ids(self, kind: Literal["dataset", "datasource", "resolver", "calendar"]) -> tuple[str, ...]:
        return tuple(sorted({dataset_id for dataset_id, _ in self._versions})) if kind == "dataset" else ()
