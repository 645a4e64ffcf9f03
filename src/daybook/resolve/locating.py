"""The places one strategy, location or pin names for one period."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import assert_never

from daybook.errors import DaybookError
from daybook.model.catalog import Catalog, DataPin
from daybook.model.dataset import MainTable, PathLocation, TableLocation
from daybook.model.datasource import DataSource
from daybook.model.period import Period
from daybook.model.resolver import CatalogStrategy, PathStrategy, Strategy, TableStrategy
from daybook.model.suggestion import did_you_mean
from daybook.resolve.asking import ask
from daybook.resolve.catalog_answer import AnsweredLocation
from daybook.resolve.fetching import HttpLimits
from daybook.resolve.location import Location
from daybook.resolve.places import inline_location, path_location, table_location
from daybook.resolve.template import is_own, render_template


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What places are looked up in: the definitions, the workspace's folder, the hosts that may be asked."""

    catalog: Catalog
    root: Path
    allowed_hosts: tuple[str, ...]
    limits: HttpLimits


def usable_datasource(datasource_id: str, catalog: Catalog) -> DataSource:
    """A data source that exists and is not disabled."""
    datasource = catalog.datasource(datasource_id)
    if datasource is None:
        hint = did_you_mean(datasource_id, catalog.ids("datasource"))
        raise DaybookError("RESOLVE_043", hint=hint, datasource=datasource_id)
    if catalog.is_datasource_disabled(datasource_id):
        raise DaybookError("RESOLVE_044", datasource=datasource_id)
    return datasource


def locate_own(
    location: PathLocation | TableLocation, table_name: str, period: Period, around: Surroundings
) -> tuple[Location, ...]:
    """Where a dataset says itself that its data lies."""
    match location:
        case PathLocation():
            path = render_template(location.path, period, table_name)
            found = inline_location(path, location.format, location.options, around.root)
            return (_owned(found, location.path, period),)
        case TableLocation():
            return (_table(location, table_name, period, around),)
        case _:
            assert_never(location)


def locate_by(strategy: Strategy, table_name: str, period: Period, around: Surroundings) -> tuple[Location, ...]:
    """Where a resolver's rule says that the data lies."""
    match strategy:
        case PathStrategy():
            path = render_template(strategy.path, period, table_name)
            datasource = usable_datasource(strategy.datasource_id, around.catalog)
            return (_owned(path_location(datasource, path, around.root), strategy.path, period),)
        case TableStrategy():
            return (_table(strategy, table_name, period, around),)
        case CatalogStrategy():
            hosts, limits = around.allowed_hosts, around.limits
            answered = ask(strategy, period, table_name, root=around.root, allowed_hosts=hosts, limits=limits)
            return tuple(_answered(location, period, around) for location in answered)
        case _:
            assert_never(strategy)


def locate_pin(pin: DataPin, table: MainTable, around: Surroundings) -> Location:
    """A registered version as it was written, under the data source it was written to."""
    if not isinstance(table.location, TableLocation):
        return Location("delta", uri=pin.uri, delta_version=pin.delta_version)
    datasource = usable_datasource(table.location.datasource_id, around.catalog)
    live = table_location(datasource, table.location.table, table.location.schema_name, around.root)
    return replace(live, uri=pin.uri, delta_version=pin.delta_version)


def _table(named: TableLocation | TableStrategy, table_name: str, period: Period, around: Surroundings) -> Location:
    name = render_template(named.table, period, table_name)
    datasource = usable_datasource(named.datasource_id, around.catalog)
    return _owned(table_location(datasource, name, named.schema_name, around.root), named.table, period)


def _answered(answer: AnsweredLocation, period: Period, around: Surroundings) -> Location:
    datasource = usable_datasource(answer.datasource_id, around.catalog)
    if answer.path is not None:
        found = path_location(datasource, answer.path, around.root)
    else:
        found = table_location(datasource, answer.table or "", answer.schema_name, around.root)
    if answer.delta_version is not None and found.format != "delta":
        raise DaybookError("RESOLVE_074", datasource=datasource.id, type=found.format)
    return replace(found, period=period if answer.period else None, delta_version=answer.delta_version)


def _owned(found: Location, template: str, period: Period) -> Location:
    return replace(found, period=period) if is_own(template, period) else found
