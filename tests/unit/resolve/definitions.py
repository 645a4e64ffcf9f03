"""A catalog in memory and small definitions to resolve."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from pydantic import TypeAdapter

from daybook.model.calendar import Calendar
from daybook.model.dataset import Dataset
from daybook.model.datasource import DataSource, Resolver
from daybook.model.definition import DatasetCatalog, DatasetVersion, RegisteredDataPin, ResolverVersion


@dataclass
class MemoryCatalog(DatasetCatalog):
    datasources: Sequence[DataSource] = ()
    resolvers: Sequence[ResolverVersion] = ()
    calendars: Sequence[Calendar] = ()
    disabled: set[str] = field(default_factory=set)

    def datasource(self, datasource_id: str) -> DataSource | None:
        return next((source for source in self.datasources if source.id == datasource_id), None)

    def is_datasource_disabled(self, datasource_id: str) -> bool:
        return datasource_id in self.disabled

    def resolver(self, resolver_id: str) -> ResolverVersion | None:
        return next((found for found in self.resolvers if found.resolver.id == resolver_id), None)

    def default_resolver(self) -> ResolverVersion | None:
        return next((found for found in self.resolvers if found.resolver.is_default), None)

    def calendar(self, calendar_id: str) -> Calendar | None:
        return next((calendar for calendar in self.calendars if calendar.id == calendar_id), None)

    def ids(self, kind: Literal["dataset", "datasource", "resolver", "calendar"]) -> tuple[str, ...]:
        match kind:
            case "datasource":
                return tuple(source.id for source in self.datasources)
            case "resolver":
                return tuple(found.resolver.id for found in self.resolvers)
            case "calendar":
                return tuple(calendar.id for calendar in self.calendars)
            case "dataset":
                return ()


def orders(
    *, location: dict[str, Any] | None = None, resolver_id: str | None = None, pin: RegisteredDataPin | None = None
) -> DatasetVersion:
    dataset = Dataset.model_validate(
        {
            "id": "orders",
            "name": "Orders",
            "resolver_id": resolver_id,
            "main_table": {
                "name": "orders",
                "temporal_mode": "period",
                "columns": ({"name": "amount", "type": "decimal(18,2)"},),
                "location": location,
            },
        }
    )
    return DatasetVersion(dataset, 1, pin=pin)


def source(source_id: str, source_type: str, **options: Any) -> DataSource:
    adapter: TypeAdapter[DataSource] = TypeAdapter(DataSource)
    return adapter.validate_python({"id": source_id, "name": source_id, "type": source_type, "options": options})


def resolver(resolver_id: str, *rules: dict[str, Any], is_default: bool = False, version: int = 1) -> ResolverVersion:
    model = Resolver.model_validate(
        {"id": resolver_id, "name": resolver_id, "is_default": is_default, "rules": tuple(rules)}
    )
    return ResolverVersion(model, version)
