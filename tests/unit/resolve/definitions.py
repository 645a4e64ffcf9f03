"""Definitions in memory, small ones to resolve."""

from collections.abc import Sequence
from typing import Any

from pydantic import TypeAdapter

from daybook.definitions.value import Definitions, LatestVersion
from daybook.model.calendar import Calendar
from daybook.model.dataset import Dataset
from daybook.model.datasource import DataSource, Resolver
from daybook.model.definition import DatasetVersion, RegisteredDataPin, ResolverVersion


def in_memory(
    datasources: Sequence[DataSource] = (),
    resolvers: Sequence[ResolverVersion] = (),
    calendars: Sequence[Calendar] = (),
    disabled: frozenset[str] = frozenset(),
) -> Definitions:
    """Definitions without datasets; `disabled` are data sources."""
    return Definitions(
        datasources={
            source.id: LatestVersion.of(source, status="disabled" if source.id in disabled else "active")
            for source in datasources
        },
        resolvers={
            version.resolver.id: LatestVersion.of(version.resolver, version.version, version.status)
            for version in resolvers
        },
        calendars={calendar.id: LatestVersion.of(calendar) for calendar in calendars},
    )


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
