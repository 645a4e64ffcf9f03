"""Who says where a dataset's data lies: project, dataset, or the default resolver."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from daybook.errors import DaybookError
from daybook.model.catalog import Catalog, DataPin, DatasetVersion, ResolverVersion
from daybook.model.dataset import PathLocation, TableLocation
from daybook.model.suggestion import did_you_mean


@dataclass(frozen=True, slots=True)
class ByResolver:
    resolver: ResolverVersion


@dataclass(frozen=True, slots=True)
class ByLocation:
    location: PathLocation | TableLocation


@dataclass(frozen=True, slots=True)
class ByPin:
    pin: DataPin


Way: TypeAlias = ByResolver | ByLocation | ByPin


def way_to(dataset_version: DatasetVersion, catalog: Catalog, overrides: Mapping[str, str]) -> Way:
    """The project's override, then what the dataset says, then the default resolver; RESOLVE_040 if none does."""
    dataset = dataset_version.dataset
    if override := overrides.get(dataset.id):
        return _resolver(override, catalog)
    if dataset_version.pin is not None:
        return ByPin(dataset_version.pin)
    if dataset.resolver_id is not None:
        return _resolver(dataset.resolver_id, catalog)
    if dataset.main_table.location is not None:
        return ByLocation(dataset.main_table.location)
    if default := catalog.default_resolver():
        return _active(default)
    raise DaybookError("RESOLVE_040", dataset=dataset.id)


def _resolver(resolver_id: str, catalog: Catalog) -> ByResolver:
    found = catalog.resolver(resolver_id)
    if found is None:
        hint = did_you_mean(resolver_id, catalog.ids("resolver"))
        raise DaybookError("RESOLVE_041", hint=hint, resolver=resolver_id)
    return _active(found)


def _active(found: ResolverVersion) -> ByResolver:
    if found.status == "disabled":
        raise DaybookError("RESOLVE_042", resolver=found.resolver.id)
    return ByResolver(found)
