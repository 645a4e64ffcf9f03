"""The catalog as an active project sees it."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Literal

from daybook.model.calendar import Calendar
from daybook.model.catalog import Catalog, DatasetVersion, ResolverVersion
from daybook.model.datasource import DataSource
from daybook.store.records import ProjectInput


class ActivatedCatalog:
    """Latest versions without the columns they got after the project was activated.

    An output without `columns` writes all columns; a column that a dataset gained since would otherwise
    slip into it.
    """

    def __init__(self, base: Catalog, inputs: Iterable[ProjectInput]) -> None:
        self._base = base
        self._validated = {item.dataset_id: item.version for item in inputs if not item.is_pinned}

    def dataset(self, dataset_id: str, version: int | None = None) -> DatasetVersion | None:
        latest = self._base.dataset(dataset_id, version)
        if version is not None or latest is None or dataset_id not in self._validated:
            return latest
        validated = self._base.dataset(dataset_id, self._validated[dataset_id])
        if validated is None or validated.version == latest.version:
            return latest
        known = {column.name for column in validated.dataset.main_table.columns}
        table = latest.dataset.main_table
        kept = tuple(column for column in table.columns if column.name in known)
        if not kept or len(kept) == len(table.columns):
            return latest
        dataset = latest.dataset.model_copy(update={"main_table": table.model_copy(update={"columns": kept})})
        return replace(latest, dataset=dataset)

    def dataset_versions(self, dataset_id: str) -> tuple[int, ...]:
        return self._base.dataset_versions(dataset_id)

    def datasource(self, datasource_id: str) -> DataSource | None:
        return self._base.datasource(datasource_id)

    def is_datasource_disabled(self, datasource_id: str) -> bool:
        return self._base.is_datasource_disabled(datasource_id)

    def resolver(self, resolver_id: str) -> ResolverVersion | None:
        return self._base.resolver(resolver_id)

    def default_resolver(self) -> ResolverVersion | None:
        return self._base.default_resolver()

    def calendar(self, calendar_id: str) -> Calendar | None:
        return self._base.calendar(calendar_id)

    def ids(self, kind: Literal["dataset", "datasource", "resolver", "calendar"]) -> tuple[str, ...]:
        return self._base.ids(kind)
