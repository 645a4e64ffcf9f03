"""From (dataset, period) to the places its data lies."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import assert_never

from daybook.errors import DaybookError
from daybook.model.catalog import Catalog, DatasetVersion, ResolverVersion
from daybook.model.period import Period
from daybook.model.resolver import ResolverRule
from daybook.resolve.calendars import PeriodCalendar
from daybook.resolve.condition import holds
from daybook.resolve.fetching import HttpLimits
from daybook.resolve.known_calendars import calendar_for
from daybook.resolve.locating import Surroundings, locate_by, locate_own, locate_pin
from daybook.resolve.location import Location, Resolution
from daybook.resolve.names import ANY_LEVEL
from daybook.resolve.periods import children, enclosing, is_coarser
from daybook.resolve.precedence import ByLocation, ByPin, ByResolver, way_to

NO_OVERRIDES: Mapping[str, str] = MappingProxyType({})
LIMITS = HttpLimits()


def resolve(
    dataset_version: DatasetVersion,
    period: Period,
    catalog: Catalog,
    *,
    root: Path,
    overrides: Mapping[str, str] = NO_OVERRIDES,
    allowed_hosts: tuple[str, ...] = (),
    limits: HttpLimits = LIMITS,
) -> Resolution:
    """Where to read a dataset for a run's period, and which `_period` values belong to it."""
    around = Surroundings(catalog, root, allowed_hosts, limits)
    table = dataset_version.dataset.main_table
    calendar = calendar_for(period.calendar_id, catalog)
    match way_to(dataset_version, catalog, overrides):
        case ByPin(pin):
            return Resolution((locate_pin(pin, table, around),), (period.identifier,))
        case ByLocation(location):
            periods = data_periods(period, location.data_level, calendar)
            found = (place for each in periods for place in locate_own(location, table.name, each, around))
            return Resolution(_distinct(found), _identifiers(periods))
        case ByResolver(chosen):
            rule = matching_rule(chosen, table.name, period)
            periods = data_periods(period, rule.data_level, calendar)
            found = (place for each in periods for place in locate_by(rule.strategy, table.name, each, around))
            return Resolution(_distinct(found), _identifiers(periods), chosen.resolver.id, chosen.version, rule.name)
        case way:
            assert_never(way)


def matching_rule(chosen: ResolverVersion, table_name: str, period: Period) -> ResolverRule:
    """The first rule whose `when` is true; a NULL does not match."""
    answers: list[str] = []
    for rule in chosen.resolver.rules:
        if rule.when is None:
            return rule
        answer = holds(rule.when, period, table_name)
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
        return (enclosing(period, data_level, calendar),)
    return children(period, data_level, calendar)


def _distinct(locations: Iterable[Location]) -> tuple[Location, ...]:
    """One place that holds several periods is read once; it cannot belong to two of them alone."""
    kept: list[tuple[Location, Location]] = []
    for location in locations:
        place = replace(location, period=None)
        same = next((other for seen, other in kept if seen == place), None)
        if same is None:
            kept.append((place, location))
        elif same.period != location.period:
            periods = sorted(each.period.identifier if each.period else "any" for each in (same, location))
            raise DaybookError("RESOLVE_046", place=location.uri or location.table, periods=" and ".join(periods))
    return tuple(location for _, location in kept)


def _identifiers(periods: tuple[Period, ...]) -> tuple[str, ...]:
    return tuple(period.identifier for period in periods)
