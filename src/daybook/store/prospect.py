"""The catalog as it will be once changes are applied."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Literal, cast

from daybook.model.calendar import Calendar
from daybook.model.catalog import Catalog, DatasetVersion, ResolverVersion
from daybook.model.dataset import Dataset
from daybook.model.datasource import DataSource
from daybook.model.definition import Kind
from daybook.model.resolver import Resolver
from daybook.store.changes import Change


class ProspectiveCatalog:
    def __init__(self, base: Catalog, changes: Iterable[Change]) -> None:
        self._base = base
        self._changes = {(change.kind, change.id): change for change in changes}

    def dataset(self, dataset_id: str, version: int | None = None) -> DatasetVersion | None:
        change = self._changes.get(("dataset", dataset_id))
        if change is None:
            return self._base.dataset(dataset_id, version)
        status: Literal["active", "disabled"] = "disabled" if change.action == "disabled" else "active"
        if change.definition is not None and version in (None, change.version):
            return DatasetVersion(cast(Dataset, change.definition.model), change.version, status)
        known = self._base.dataset(dataset_id, version)
        return replace(known, status=status) if known else None

    def dataset_versions(self, dataset_id: str) -> tuple[int, ...]:
        known = self._base.dataset_versions(dataset_id)
        change = self._changes.get(("dataset", dataset_id))
        return (*known, change.version) if change and change.is_structural else known

    def datasource(self, datasource_id: str) -> DataSource | None:
        written = self._written("datasource", datasource_id)
        return cast(DataSource, written) if written else self._base.datasource(datasource_id)

    def is_datasource_disabled(self, datasource_id: str) -> bool:
        change = self._changes.get(("datasource", datasource_id))
        return self._base.is_datasource_disabled(datasource_id) if change is None else change.action == "disabled"

    def resolver(self, resolver_id: str) -> ResolverVersion | None:
        change = self._changes.get(("resolver", resolver_id))
        if change is None:
            return self._base.resolver(resolver_id)
        if change.definition is not None:
            return ResolverVersion(cast(Resolver, change.definition.model), change.version)
        known = self._base.resolver(resolver_id)
        return replace(known, status="disabled") if known else None

    def default_resolver(self) -> ResolverVersion | None:
        candidates = self.default_resolver_ids()
        return self.resolver(candidates[0]) if candidates else None

    def default_resolver_ids(self) -> tuple[str, ...]:
        """All that claim to be the default; more than one is refused."""
        written = {
            change.id
            for change in self._changes.values()
            if change.definition is not None and getattr(change.definition.model, "is_default", False)
        }
        stored = self._base.default_resolver()
        if stored is not None and ("resolver", stored.resolver.id) not in self._changes:
            written.add(stored.resolver.id)
        return tuple(sorted(written))

    def calendar(self, calendar_id: str) -> Calendar | None:
        change = self._changes.get(("calendar", calendar_id))
        if change is None:
            return self._base.calendar(calendar_id)
        return cast(Calendar, change.definition.model) if change.definition else None

    def ids(self, kind: Literal["dataset", "datasource", "resolver", "calendar"]) -> tuple[str, ...]:
        changes = [change for change in self._changes.values() if change.kind == kind]
        gone = {change.id for change in changes if change.definition is None}
        present = {change.id for change in changes if change.definition is not None}
        return tuple(sorted((set(self._base.ids(kind)) | present) - gone))

    def _written(self, kind: Kind, identifier: str) -> object | None:
        change = self._changes.get((kind, identifier))
        return change.definition.model if change and change.definition else None
