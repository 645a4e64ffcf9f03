"""The catalog of definitions as the files have them."""

from typing import Any, Literal

from daybook.model.calendar import Calendar
from daybook.model.catalog import DatasetVersion, ResolverVersion
from daybook.model.datasource import DataSource
from daybook.model.definition import Kind
from daybook.model.loading.workspace import Workspace


class WorkspaceCatalog:
    """A Catalog of files alone: everything is active, and every version is 1."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    def dataset(self, dataset_id: str, version: int | None = None) -> DatasetVersion | None:
        dataset = self._model("dataset", dataset_id)
        return DatasetVersion(dataset, 1) if dataset is not None and version in (None, 1) else None

    def dataset_versions(self, dataset_id: str) -> tuple[int, ...]:
        return (1,) if self._model("dataset", dataset_id) is not None else ()

    def datasource(self, datasource_id: str) -> DataSource | None:
        found: DataSource | None = self._model("datasource", datasource_id)
        return found

    def is_datasource_disabled(self, datasource_id: str) -> bool:
        return False

    def resolver(self, resolver_id: str) -> ResolverVersion | None:
        resolver = self._model("resolver", resolver_id)
        return ResolverVersion(resolver, 1) if resolver is not None else None

    def default_resolver(self) -> ResolverVersion | None:
        resolvers = (definition.model for definition in self._workspace.definitions["resolver"].values())
        default = next((resolver for resolver in resolvers if resolver.is_default), None)
        return ResolverVersion(default, 1) if default is not None else None

    def calendar(self, calendar_id: str) -> Calendar | None:
        found: Calendar | None = self._model("calendar", calendar_id)
        return found

    def ids(self, kind: Literal["dataset", "datasource", "resolver", "calendar"]) -> tuple[str, ...]:
        return tuple(self._workspace.definitions[kind])

    def _model(self, kind: Kind, id_: str) -> Any:
        definition = self._workspace.get(kind, id_)
        return definition.model if definition is not None else None
