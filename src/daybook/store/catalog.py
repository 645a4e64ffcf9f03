"""The catalog of definitions in a store, also as an active project reads them."""

from collections.abc import Iterable
from dataclasses import replace
from typing import cast

from daybook.errors import DaybookError
from daybook.model.calendar import Calendar
from daybook.model.dataset import Dataset
from daybook.model.datasource import DataSource, Resolver
from daybook.model.definition import (
    SANDBOX_PREFIX,
    Catalog,
    CatalogKind,
    CatalogLayer,
    DatasetCatalog,
    DeclaredVersion,
    DefinitionKind,
    DefinitionStatus,
    ResolverVersion,
)
from daybook.model.view import View
from daybook.store.database.definitions import Definitions
from daybook.store.definition_text import decode_definition
from daybook.store.records import ProjectInput


class StoreCatalog(DatasetCatalog):
    """Reads within one transaction, so that everything planned with it sees one state of the store.

    What draft runs registered in the sandbox is visible only `with_sandbox`.
    """

    def __init__(self, definitions: Definitions, *, with_sandbox: bool = False) -> None:
        self._definitions = definitions
        self._with_sandbox = with_sandbox
        self._datasets: dict[tuple[str, int | None], DeclaredVersion | None] = {}

    def declared(self, dataset_id: str, version: int | None = None) -> DeclaredVersion | None:
        if not self._is_visible(dataset_id):
            return None
        key = (dataset_id, version)
        if key not in self._datasets:
            self._datasets[key] = self._read_dataset(dataset_id, version)
        return self._datasets[key]

    def dataset_versions(self, dataset_id: str) -> tuple[int, ...]:
        return self._definitions.versions("dataset", dataset_id) if self._is_visible(dataset_id) else ()

    def datasource(self, datasource_id: str) -> DataSource | None:
        return cast("DataSource | None", self._model("datasource", datasource_id))

    def is_datasource_disabled(self, datasource_id: str) -> bool:
        head = self._definitions.head("datasource", datasource_id)
        return head is not None and head.status == "disabled"

    def resolver(self, resolver_id: str) -> ResolverVersion | None:
        head = self._definitions.head("resolver", resolver_id)
        if head is None:
            return None
        return ResolverVersion(cast(Resolver, self._model("resolver", resolver_id)), head.version, head.status)

    def default_resolver(self) -> ResolverVersion | None:
        ids = self._definitions.default_resolver_ids()
        return self.resolver(ids[0]) if ids else None

    def calendar(self, calendar_id: str) -> Calendar | None:
        head = self._definitions.head("calendar", calendar_id)
        if head is None or head.status == "disabled":
            return None
        return cast(Calendar, self._model("calendar", calendar_id))

    def ids(self, kind: CatalogKind) -> tuple[str, ...]:
        found = self._definitions.ids(kind)
        return tuple(item for item in found if kind != "dataset" or self._is_visible(item))

    def _is_visible(self, dataset_id: str) -> bool:
        return self._with_sandbox or not dataset_id.startswith(SANDBOX_PREFIX)

    def _model(self, kind: DefinitionKind, definition_id: str) -> object | None:
        try:
            return self._definitions.model(kind, definition_id)
        except DaybookError as error:
            if error.code == "STORE_007":
                return None
            raise

    def _read_dataset(self, dataset_id: str, version: int | None) -> DeclaredVersion | None:
        try:
            stored = self._definitions.get("dataset", dataset_id, version)
        except DaybookError as error:
            if error.code in ("STORE_007", "STORE_008"):
                return None
            raise
        declared: Dataset | View = decode_definition("dataset", stored.body)
        status: DefinitionStatus = "disabled" if stored.status == "disabled" else "active"
        pin = self._definitions.pin(dataset_id, stored.version)
        contract = self._definitions.contract(dataset_id) if version is None else None
        return DeclaredVersion(declared, stored.version, status, pin, contract)


class ActivatedCatalog(CatalogLayer):
    """Latest versions without the columns they got after the project was activated.

    An output without `columns` writes all columns; a column that a dataset gained since would otherwise
    slip into it.
    """

    def __init__(self, base: Catalog, inputs: Iterable[ProjectInput]) -> None:
        super().__init__(base)
        self._validated = {item.dataset_id: item.version for item in inputs if not item.is_pinned}

    def declared(self, dataset_id: str, version: int | None = None) -> DeclaredVersion | None:
        latest = super().declared(dataset_id, version)
        if version is not None or latest is None or dataset_id not in self._validated:
            return latest
        validated = super().declared(dataset_id, self._validated[dataset_id])
        if validated is None or validated.version == latest.version:
            return latest
        if not isinstance(validated.dataset, Dataset) or not isinstance(latest.dataset, Dataset):
            return latest
        known = {column.name for column in validated.dataset.main_table.columns}
        table = latest.dataset.main_table
        kept = tuple(column for column in table.columns if column.name in known)
        if not kept or len(kept) == len(table.columns):
            return latest
        dataset = latest.dataset.model_copy(update={"main_table": table.model_copy(update={"columns": kept})})
        return replace(latest, dataset=dataset)
