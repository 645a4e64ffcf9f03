"""From (dataset, period) to the places its data lies."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import assert_never

from daybook.errors import DaybookError
from daybook.model.catalog import Catalog, DataPin, DatasetVersion, ResolverVersion
from daybook.model.dataset import MainTable, PathLocation, TableLocation
from daybook.model.datasource import DataSource
from daybook.model.period import Period
from daybook.model.resolver import CatalogStrategy, PathStrategy, ResolverRule, Strategy, TableStrategy
from daybook.model.suggestion import did_you_mean
from daybook.resolve.calendars import PeriodCalendar
from daybook.resolve.condition import holds
from daybook.resolve.known_calendars import calendar_for
from daybook.resolve.location import Location, Resolution
from daybook.resolve.periods import children, enclosing, is_coarser
from daybook.resolve.places import inline_location, path_location, table_location
from daybook.resolve.precedence import ByLocation, ByPin, ByResolver, way_to
from daybook.resolve.template import is_own, render_template

NO_OVERRIDES: Mapping[str, str] = MappingProxyType({})
ANY = "any"


def resolve(
    dataset_version: DatasetVersion,
    period: Period,
    catalog: Catalog,
    *,
    root: Path,
    overrides: Mapping[str, str] = NO_OVERRIDES,
    allowed_hosts: tuple[str, ...] = (),
) -> Resolution:
    """Where to read a dataset for a run's period, and which `_period` values belong to it."""
    table = dataset_version.dataset.main_table
    calendar = calendar_for(period.calendar_id, catalog)
    match way_to(dataset_version, catalog, overrides):
        case ByPin(pin):
            return Resolution((_pinned(pin, table, catalog, root),), (period.identifier,))
        case ByLocation(location):
            periods = data_periods(period, location.data_level, calendar)
            found = (_own(location, table, each, catalog, root) for each in periods)
            return Resolution(_distinct(found), _identifiers(periods))
        case ByResolver(chosen):
            rule = matching_rule(chosen, table, period)
            periods = data_periods(period, rule.data_level, calendar)
            found = (
                location
                for each in periods
                for location in _by_strategy(rule.strategy, table, each, catalog, root, allowed_hosts)
            )
            return Resolution(_distinct(found), _identifiers(periods), chosen.resolver.id, chosen.version, rule.name)
        case way:
            assert_never(way)


def matching_rule(chosen: ResolverVersion, table: MainTable, period: Period) -> ResolverRule:
    """The first rule whose `when` is true; a NULL does not match."""
    answers: list[str] = []
    for rule in chosen.resolver.rules:
        if rule.when is None:
            return rule
        answer = holds(rule.when, period, table.name)
        if answer:
            return rule
        answers.append(f"{rule.name} ({rule.when}) gave {'NULL' if answer is None else 'FALSE'}")
    raise DaybookError(
        "RESOLVE_045",
        resolver=chosen.resolver.id,
        table=table.name,
        period=period.identifier,
        answers="; ".join(answers),
    )


def data_periods(period: Period, data_level: str | None, calendar: PeriodCalendar) -> tuple[Period, ...]:
    """The periods data of a level is kept in: those inside the run's period, or the one around it."""
    if data_level is None or data_level == ANY:
        return (period,)
    if is_coarser(data_level, period.level, calendar):
        return (enclosing(period, data_level, calendar),)
    return children(period, data_level, calendar)


def usable_datasource(datasource_id: str, catalog: Catalog) -> DataSource:
    """A data source that exists and is not disabled."""
    datasource = catalog.datasource(datasource_id)
    if datasource is None:
        hint = did_you_mean(datasource_id, catalog.ids("datasource"))
        raise DaybookError("RESOLVE_043", hint=hint, datasource=datasource_id)
    if catalog.is_datasource_disabled(datasource_id):
        raise DaybookError("RESOLVE_044", datasource=datasource_id)
    return datasource


def _own(
    location: PathLocation | TableLocation, table: MainTable, period: Period, catalog: Catalog, root: Path
) -> Location:
    match location:
        case PathLocation(path=template):
            path = render_template(template, period, table.name)
            found = inline_location(path, location.format, location.options, root)
        case TableLocation(table=template, datasource_id=datasource_id, schema_name=schema):
            name = render_template(template, period, table.name)
            found = table_location(usable_datasource(datasource_id, catalog), name, schema, root)
        case _:
            assert_never(location)
    return replace(found, period=period) if is_own(template, period) else found


def _by_strategy(
    strategy: Strategy, table: MainTable, period: Period, catalog: Catalog, root: Path, allowed_hosts: tuple[str, ...]
) -> tuple[Location, ...]:
    match strategy:
        case PathStrategy(path=template, datasource_id=datasource_id):
            path = render_template(template, period, table.name)
            found = path_location(usable_datasource(datasource_id, catalog), path, root)
        case TableStrategy(table=template, datasource_id=datasource_id, schema_name=schema):
            name = render_template(template, period, table.name)
            found = table_location(usable_datasource(datasource_id, catalog), name, schema, root)
        case CatalogStrategy():
            raise NotImplementedError
        case _:
            assert_never(strategy)
    return (replace(found, period=period) if is_own(template, period) else found,)


def _pinned(pin: DataPin, table: MainTable, catalog: Catalog, root: Path) -> Location:
    """A registered version as it was written, under the data source it was written to."""
    if isinstance(table.location, TableLocation):
        datasource = usable_datasource(table.location.datasource_id, catalog)
        live = table_location(datasource, table.location.table, table.location.schema_name, root)
        return replace(live, uri=pin.uri, delta_version=pin.delta_version)
    return Location("delta", uri=pin.uri, delta_version=pin.delta_version)


def _distinct(locations: Iterable[Location]) -> tuple[Location, ...]:
    """One file that holds several periods is read once."""
    kept: list[Location] = []
    for location in locations:
        if location not in kept:
            kept.append(location)
    return tuple(kept)


def _identifiers(periods: tuple[Period, ...]) -> tuple[str, ...]:
    return tuple(period.identifier for period in periods)
