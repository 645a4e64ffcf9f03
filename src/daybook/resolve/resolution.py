"""Resolves a dataset and a period to the locations of its data, by project, dataset or default resolver."""

import datetime
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Protocol, TypeAlias, TypeGuard, assert_never

from daybook.definitions.value import Definitions
from daybook.errors import DaybookError
from daybook.errors.error import did_you_mean
from daybook.model.calendar import Period
from daybook.model.dataset import MainTable, PathLocation, TableLocation
from daybook.model.datasource import CatalogStrategy, DataSource, PathStrategy, ResolverRule, Strategy, TableStrategy
from daybook.model.definition import DatasetVersion, RegisteredDataPin, ResolverVersion, TableVersion, ViewedDataset
from daybook.resolve.calendars.calendar import ANY_LEVEL, PeriodCalendar
from daybook.resolve.calendars.periods import (
    as_of_date,
    calendar_for,
    child_periods,
    closest_slice,
    enclosing_period,
    is_coarser,
    periods_of_level,
    window_periods,
)
from daybook.resolve.location import NO_PERIODS, Location, Resolution, inline_location, path_location, table_location
from daybook.resolve.paths import names_one_period, render_template, template_tokens

if TYPE_CHECKING:
    # Most workspaces ask no catalog, and few of their rules have a condition.
    from daybook.resolve.catalog_http import HttpLimits
    from daybook.resolve.catalog_locations import CatalogLocation


@dataclass(frozen=True, slots=True)
class ByResolver:
    resolver: ResolverVersion


@dataclass(frozen=True, slots=True)
class ByLocation:
    location: PathLocation | TableLocation


@dataclass(frozen=True, slots=True)
class ByPin:
    pin: RegisteredDataPin


LocationSource: TypeAlias = ByResolver | ByLocation | ByPin


def choose_location_source(
    dataset_version: DatasetVersion, definitions: Definitions, overrides: Mapping[str, str]
) -> LocationSource:
    """The project's override, then what the dataset says, then the default resolver; RESOLVE_040 if none does."""
    dataset = dataset_version.dataset
    if override := overrides.get(dataset.id):
        return _find_resolver(override, definitions)
    if dataset_version.pin is not None:
        return ByPin(dataset_version.pin)
    if dataset.resolver_id is not None:
        return _find_resolver(dataset.resolver_id, definitions)
    if dataset.main_table.location is not None:
        return ByLocation(dataset.main_table.location)
    if default := definitions.default_resolver():
        return _require_enabled(default)
    raise DaybookError("RESOLVE_040", dataset=dataset.id)


def _find_resolver(resolver_id: str, definitions: Definitions) -> ByResolver:
    version = definitions.resolver(resolver_id)
    if version is None:
        hint = did_you_mean(resolver_id, definitions.ids("resolver"))
        raise DaybookError("RESOLVE_041", hint=hint, resolver=resolver_id)
    return _require_enabled(version)


def _require_enabled(version: ResolverVersion) -> ByResolver:
    if version.status == "disabled":
        raise DaybookError("RESOLVE_042", resolver=version.resolver.id)
    return ByResolver(version)


class PeriodLookup(Protocol):
    """What is known of the periods whose data lies at a location."""

    def slices(self, location: Location) -> Mapping[str, str] | None:
        """The run that wrote each period there as a slice; None when it is no table that collects slices."""
        ...

    def exists(self, location: Location) -> bool: ...


class AnyPeriod:
    """Takes every period to be there."""

    def slices(self, location: Location) -> Mapping[str, str] | None:
        return None

    def exists(self, location: Location) -> bool:
        return True


class LocatedTables:
    """Tables of data sources that were found at one moment: every period and reader asks for the same ones."""

    def __init__(self) -> None:
        # The data source is kept, so that no other one gets its identity.
        self._locations: dict[tuple[int, str, str | None], tuple[DataSource, Location]] = {}

    def find(self, datasource: DataSource, table: str, schema: str | None, root: Path) -> Location:
        key = (id(datasource), table, schema)
        if key not in self._locations:
            self._locations[key] = (datasource, table_location(datasource, table, schema, root))
        return self._locations[key][1]


@dataclass(frozen=True, slots=True)
class LocationContext:
    """What places are looked up in: the definitions, the workspace's folder, the hosts that may be asked."""

    definitions: Definitions
    root: Path
    allowed_hosts: tuple[str, ...]
    limits: "HttpLimits | None"
    # Of callers that ask for many periods at one moment.
    located: LocatedTables | None = None

    def table(self, datasource_id: str, name: str, schema: str | None) -> Location:
        datasource = usable_datasource(datasource_id, self.definitions)
        if self.located is not None:
            return self.located.find(datasource, name, schema, self.root)
        return table_location(datasource, name, schema, self.root)


def usable_datasource(datasource_id: str, definitions: Definitions) -> DataSource:
    """A data source that exists and is not disabled."""
    datasource = definitions.datasource(datasource_id)
    if datasource is None:
        hint = did_you_mean(datasource_id, definitions.ids("datasource"))
        raise DaybookError("RESOLVE_043", hint=hint, datasource=datasource_id)
    if definitions.is_datasource_disabled(datasource_id):
        raise DaybookError("RESOLVE_044", datasource=datasource_id)
    return datasource


def locate_declared(
    location: PathLocation | TableLocation, table_name: str, period: Period, around: LocationContext
) -> tuple[Location, ...]:
    """Where a dataset says itself that its data lies."""
    match location:
        case PathLocation():
            path = render_template(location.path, period, table_name)
            own = period if names_one_period(location.path, period) else None
            return (inline_location(path, location.format, location.options, around.root, period=own),)
        case TableLocation():
            return (_locate_table(location, table_name, period, around),)
        case _:
            assert_never(location)


def locate_by_strategy(
    strategy: Strategy, table_name: str, period: Period, around: LocationContext
) -> tuple[Location, ...]:
    """Where a resolver's rule says that the data lies."""
    match strategy:
        case PathStrategy():
            path = render_template(strategy.path, period, table_name)
            datasource = usable_datasource(strategy.datasource_id, around.definitions)
            return (_with_own_period(path_location(datasource, path, around.root), strategy.path, period),)
        case TableStrategy():
            return (_locate_table(strategy, table_name, period, around),)
        case CatalogStrategy():
            from daybook.resolve.catalog_http import HttpLimits
            from daybook.resolve.catalog_locations import request_locations

            hosts, limits = around.allowed_hosts, around.limits or HttpLimits()
            answered = request_locations(
                strategy, period, table_name, root=around.root, allowed_hosts=hosts, limits=limits
            )
            return tuple(_locate_answered(location, period, around) for location in answered)
        case _:
            assert_never(strategy)


def locate_pinned(pin: RegisteredDataPin, table: MainTable, around: LocationContext) -> Location:
    """A registered version as it was written, under the data source it was written to."""
    if not isinstance(table.location, TableLocation):
        return Location(pin.version.format, uri=pin.uri, version=pin.version)
    datasource = usable_datasource(table.location.datasource_id, around.definitions)
    live = table_location(datasource, table.location.table, table.location.schema_name, around.root)
    return replace(live, uri=None if live.is_database else pin.uri, version=pin.version)


def _locate_table(
    named: TableLocation | TableStrategy, table_name: str, period: Period, around: LocationContext
) -> Location:
    name = render_template(named.table, period, table_name)
    return _with_own_period(around.table(named.datasource_id, name, named.schema_name), named.table, period)


def _locate_answered(answer: "CatalogLocation", period: Period, around: LocationContext) -> Location:
    datasource = usable_datasource(answer.datasource_id, around.definitions)
    if answer.path is not None:
        location = path_location(datasource, answer.path, around.root)
    else:
        location = table_location(datasource, answer.table or "", answer.schema_name, around.root)
    version = None
    if answer.delta_version is not None:
        if location.format != "delta":
            raise DaybookError("RESOLVE_074", datasource=datasource.id, type=location.format)
        version = TableVersion(location.format, str(answer.delta_version))
    return replace(location, period=period if answer.period else None, version=version)


def _with_own_period(location: Location, template: str, period: Period) -> Location:
    return replace(location, period=period) if names_one_period(template, period) else location


NO_OVERRIDES: Mapping[str, str] = MappingProxyType({})
ANY_PERIOD = AnyPeriod()


def resolve_dataset(
    dataset_version: DatasetVersion,
    period: Period,
    definitions: Definitions,
    *,
    root: Path,
    overrides: Mapping[str, str] = NO_OVERRIDES,
    allowed_hosts: tuple[str, ...] = (),
    limits: "HttpLimits | None" = None,
    lookup: PeriodLookup = ANY_PERIOD,
    located: LocatedTables | None = None,
) -> Resolution:
    """Where to read a dataset for a run's period, and which `_period` values belong to it."""
    around = LocationContext(definitions, root, allowed_hosts, limits, located)
    if dataset_version.view is not None:
        return _resolve_view(dataset_version, dataset_version.view, period, around, overrides, lookup)
    resolution = _resolve_table(dataset_version, period, around, overrides)
    if dataset_version.reads_one_slice:
        calendar = calendar_for(period.calendar_id, definitions)
        return _with_nearest_slice(resolution, period, calendar, lookup)
    rule = dataset_version.dataset.main_table.as_of
    return replace(resolution, as_of=as_of_date(rule, period)) if rule is not None else resolution


def _resolve_table(
    dataset_version: DatasetVersion, period: Period, around: LocationContext, overrides: Mapping[str, str]
) -> Resolution:
    definitions, table = around.definitions, dataset_version.dataset.main_table
    calendar = calendar_for(period.calendar_id, definitions)
    match choose_location_source(dataset_version, definitions, overrides):
        case ByPin(pin) if _has_table_per_period(table.location):
            located = locate_declared(table.location, table.name, period, around)
            return Resolution(
                tuple(replace(located_table, version=pin.at(located_table.label)) for located_table in located),
                (period.identifier,),
            )
        case ByPin(pin):
            return Resolution((locate_pinned(pin, table, around),), (period.identifier,))
        case ByLocation(location):
            periods = data_periods(period, location.data_level, calendar)
            locations = (
                place for data_period in periods for place in locate_declared(location, table.name, data_period, around)
            )
            return Resolution(_distinct_locations(locations), _period_identifiers(periods))
        case ByResolver(chosen):
            rule = matching_rule(chosen, table.name, period)
            periods = data_periods(period, rule.data_level, calendar)
            locations = (
                place
                for data_period in periods
                for place in locate_by_strategy(rule.strategy, table.name, data_period, around)
            )
            return Resolution(
                _distinct_locations(locations),
                _period_identifiers(periods),
                chosen.resolver.id,
                chosen.version,
                rule.name,
            )
        case way:
            assert_never(way)


def _with_nearest_slice(
    resolution: Resolution, period: Period, calendar: PeriodCalendar, lookup: PeriodLookup
) -> Resolution:
    """Of a table of slices that each hold all rows: that of the period, else the newest before it, else the first."""
    locations: list[Location] = []
    chosen: list[str] = []
    for location in resolution.locations:
        slices = lookup.slices(location)
        nearest = closest_slice(slices, period, calendar) if slices else None
        locations.append(location if nearest is None else replace(location, slices=(nearest,)))
        chosen += [] if nearest is None else [nearest]
    return replace(resolution, locations=tuple(locations), periods=tuple(dict.fromkeys(chosen)) or resolution.periods)


def _has_table_per_period(location: PathLocation | TableLocation | None) -> TypeGuard[PathLocation]:
    """Whether every period has a path of its own."""
    return isinstance(location, PathLocation) and bool(template_tokens(location.path))


def view_window(
    version: DatasetVersion, period: Period, calendar: PeriodCalendar
) -> tuple[tuple[str, ...], datetime.date | None]:
    """The periods that a view looks at, wherever their data lies, and the day of its as_of rule."""
    view = version.view
    if view is None:
        rule = version.dataset.main_table.as_of
        return (period.identifier,), as_of_date(rule, period) if rule is not None else None
    looked_at = window_periods(view.of.window, period, calendar)
    if looked_at is None:
        looked_at = tuple(periods_of_level(period.level, calendar))
    windows = [view_window(view.dataset, window_period, calendar) for window_period in looked_at]
    identifiers = tuple(dict.fromkeys(identifier for periods, _ in windows for identifier in periods))
    as_of = as_of_date(view.of.as_of or version.dataset.main_table.as_of, looked_at[-1]) if looked_at else None
    return identifiers, as_of


def _resolve_view(
    version: DatasetVersion,
    view: ViewedDataset,
    period: Period,
    around: LocationContext,
    overrides: Mapping[str, str],
    lookup: PeriodLookup,
) -> Resolution:
    """Each period of the window as a run of that period would find it; what comes out several times is read once."""
    calendar = calendar_for(period.calendar_id, around.definitions)
    looked_at = window_periods(view.of.window, period, calendar)
    if looked_at is None:
        looked_at = _existing_periods(view, period, calendar, around, overrides, lookup)
    elif not looked_at and view.of.missing == "error":
        raise DaybookError("RESOLVE_092", view=version.dataset.id, period=period.identifier, calendar=calendar.id)
    resolutions: list[Resolution] = []
    for window_period in looked_at:
        part = _resolve_viewed(view, window_period, around, overrides, lookup)
        present, missing = _divide_by_presence(part, window_period, lookup)
        if missing and view.of.missing == "error":
            raise DaybookError(
                "RESOLVE_093",
                view=version.dataset.id,
                dataset=view.of.of,
                missing=", ".join(missing),
                period=period.identifier,
            )
        resolutions.append(present)
    if version.viewed.reads_one_slice:
        # The same table comes out for every period; of each its slice is read.
        slices = tuple(dict.fromkeys(identifier for part in resolutions for identifier in part.periods))
        resolutions = [
            replace(part, locations=tuple(replace(location, slices=slices) for location in part.locations))
            for part in resolutions
        ]
    resolvers = {(part.resolver_id, part.resolver_version, part.rule) for part in resolutions}
    resolver_id, resolver_version, rule = resolvers.pop() if len(resolvers) == 1 else (None, None, None)
    return Resolution(
        _distinct_locations(location for part in resolutions for location in part.locations),
        tuple(dict.fromkeys(identifier for part in resolutions for identifier in part.periods)) or NO_PERIODS,
        resolver_id,
        resolver_version,
        rule,
        next((part.as_of for part in resolutions if part.as_of is not None), None),
        period.identifier if view.of.period == "run" else None,
    )


def _resolve_viewed(
    view: ViewedDataset, period: Period, around: LocationContext, overrides: Mapping[str, str], lookup: PeriodLookup
) -> Resolution:
    """What a view reads of one period, with the day that its rule names."""
    viewed = view.dataset
    if viewed.view is not None:
        resolution = _resolve_view(viewed, viewed.view, period, around, overrides, lookup)
    else:
        resolution = _resolve_table(viewed, period, around, overrides)
    if viewed.dataset.main_table.temporal_mode != "bitemporal":
        return resolution
    rule = view.of.as_of or viewed.dataset.main_table.as_of
    return (
        replace(resolution, as_of=as_of_date(rule, period))
        if rule is not None or resolution.as_of is None
        else resolution
    )


def _divide_by_presence(
    resolution: Resolution, period: Period, lookup: PeriodLookup
) -> tuple[Resolution, tuple[str, ...]]:
    """The part of a resolution that is there, and the periods that are not."""
    kept: list[Location] = []
    missing: list[str] = []
    for location in resolution.locations:
        own = (location.period or period).identifier
        slices = lookup.slices(location)
        if slices is not None:
            absent = [identifier for identifier in resolution.periods if identifier not in slices]
            missing += absent
            if len(absent) < len(resolution.periods):
                kept.append(location)
        elif lookup.exists(location):
            kept.append(location)
        else:
            missing.append(own)
    periods = tuple(identifier for identifier in resolution.periods if identifier not in missing)
    return replace(resolution, locations=tuple(kept), periods=periods), tuple(dict.fromkeys(missing))


def _existing_periods(
    view: ViewedDataset,
    period: Period,
    calendar: PeriodCalendar,
    around: LocationContext,
    overrides: Mapping[str, str],
    lookup: PeriodLookup,
) -> tuple[Period, ...]:
    """Every period of the run's level: those that runs wrote, or all that a table of many periods may hold."""
    identifiers: set[str] = set()
    for location in _resolve_viewed(view, period, around, overrides, lookup).locations:
        if location.period is not None:
            raise DaybookError("RESOLVE_094", dataset=view.of.of)
        slices = lookup.slices(location)
        if slices is None:
            return tuple(periods_of_level(period.level, calendar))
        identifiers |= slices.keys()
    periods = [
        candidate
        for candidate in map(calendar.find, identifiers)
        if candidate is not None and candidate.level == period.level
    ]
    return tuple(sorted(periods, key=lambda candidate: candidate.start_date))


def matching_rule(chosen: ResolverVersion, table_name: str, period: Period) -> ResolverRule:
    """The first rule whose `when` is true; a NULL does not match."""
    answers: list[str] = []
    for rule in chosen.resolver.rules:
        if rule.when is None:
            return rule
        from daybook.resolve.rule_conditions import evaluate_condition

        answer = evaluate_condition(rule.when, period, table_name)
        if answer:
            return rule
        answers.append(f"{rule.name} ({rule.when}) gave {'NULL' if answer is None else 'FALSE'}")
    raise DaybookError(
        "RESOLVE_045",
        resolver=chosen.resolver.id,
        table=table_name,
        period=period.identifier,
        answers="; ".join(answers),
    )


def data_periods(period: Period, data_level: str | None, calendar: PeriodCalendar) -> tuple[Period, ...]:
    """The periods that data of a level is kept in: those inside the run's period, or the one around it."""
    if data_level is None or data_level == ANY_LEVEL:
        return (period,)
    if is_coarser(data_level, period.level, calendar):
        return (enclosing_period(period, data_level, calendar),)
    return child_periods(period, data_level, calendar)


def _distinct_locations(locations: Iterable[Location]) -> tuple[Location, ...]:
    """One place that holds several periods is read once; it cannot belong to two of them alone."""
    all_locations = tuple(locations)
    if len(all_locations) == 1:
        return all_locations
    kept: list[Location] = []
    alike: dict[tuple[str | None, ...], list[Location]] = {}
    for location in all_locations:
        place = replace(location, period=None)
        others = alike.setdefault((location.uri, location.schema, location.table), [])
        same = next((other for other in others if replace(other, period=None) == place), None)
        if same is None:
            others.append(location)
            kept.append(location)
        elif same.period != location.period:
            periods = sorted(holder.period.identifier if holder.period else "any" for holder in (same, location))
            raise DaybookError("RESOLVE_046", place=location.uri or location.table, periods=" and ".join(periods))
    return tuple(kept)


def _period_identifiers(periods: tuple[Period, ...]) -> tuple[str, ...]:
    return tuple(period.identifier for period in periods)
