"""What `validate` checks on well-formed definitions, in order; a check is one function of the workspace."""

from collections.abc import Callable, Iterable, Iterator

from daybook.errors import DaybookError
from daybook.model.dataset import Dataset, PathLocation, TableLocation
from daybook.model.loading import Workspace
from daybook.model.operation import LocationDestination, OutputOperation
from daybook.model.project import Project
from daybook.model.references import check_references
from daybook.model.resolver import PathStrategy, Resolver, TableStrategy
from daybook.model.source_map import Path
from daybook.resolve.calendar_checks import calendar_errors
from daybook.resolve.calendars import GREGORIAN_CALENDAR
from daybook.resolve.format_checks import format_errors
from daybook.resolve.resolver_checks import level_errors, resolver_errors
from daybook.resolve.template import check_path_template, check_template

Check = Callable[[Workspace], Iterable[DaybookError]]


def check_calendars(workspace: Workspace) -> Iterator[DaybookError]:
    for definition in workspace.definitions["calendar"].values():
        yield from calendar_errors(definition.model, definition.source)


def check_resolvers(workspace: Workspace) -> Iterator[DaybookError]:
    """Conditions, levels and catalog calls of rules, and the levels of datasets' own locations."""
    calendars = [GREGORIAN_CALENDAR, *(definition.model for definition in workspace.definitions["calendar"].values())]
    levels = {level.name for calendar in calendars for level in calendar.levels}
    hosts = workspace.settings.catalogs.allowed_hosts
    for definition in workspace.definitions["resolver"].values():
        yield from resolver_errors(definition.model, definition.source, levels=levels, allowed_hosts=hosts)
    for definition in workspace.definitions["dataset"].values():
        if (location := definition.model.main_table.location) is not None:
            span = definition.source.span("main_table", "location", "data_level")
            yield from level_errors(location.data_level, levels, span)


def check_formats(workspace: Workspace) -> Iterator[DaybookError]:
    """Options a format does not have, and inline paths whose format nobody can tell."""
    for definition in workspace.all():
        yield from format_errors(definition.model, definition.source)


def check_templates(workspace: Workspace) -> Iterator[DaybookError]:
    """Tokens nobody knows and paths that lead elsewhere, in resolvers, locations and destinations."""
    for definition in workspace.all():
        for path, text in _templates(definition.model):
            span = definition.source.scalar(*path) or definition.source.span(*path)
            if path[-1] == "path":
                yield from check_path_template(text, is_inline=definition.kind != "resolver", span=span)
            else:
                yield from check_template(text, span)


def _templates(model: object) -> Iterator[tuple[Path, str]]:
    match model:
        case Resolver():
            for index, rule in enumerate(model.rules):
                match rule.strategy:
                    case PathStrategy(path=text):
                        yield ("rules", index, "strategy", "path"), text
                    case TableStrategy(table=text):
                        yield ("rules", index, "strategy", "table"), text
                    case _:
                        pass
        case Dataset():
            match model.main_table.location:
                case PathLocation(path=text):
                    yield ("main_table", "location", "path"), text
                case TableLocation(table=text):
                    yield ("main_table", "location", "table"), text
                case None:
                    pass
        case Project():
            for index, operation in enumerate(model.operations):
                if isinstance(operation, OutputOperation):
                    destination = operation.arguments.destination
                    if isinstance(destination, LocationDestination):
                        path = ("operations", index, "arguments", "destination", "location", "path")
                        yield path, destination.location.path
        case _:
            return


# What is wrong with a definition whatever else is defined; references depend on what the store knows besides.
_STRUCTURAL: tuple[Check, ...] = (check_calendars, check_resolvers, check_templates, check_formats)


def structural_problems(workspace: Workspace) -> Iterator[DaybookError]:
    """What no run may begin with."""
    for check in _STRUCTURAL:
        yield from check(workspace)


def problems(workspace: Workspace) -> Iterator[DaybookError]:
    """Everything the checks find."""
    yield from check_references(workspace)
    yield from structural_problems(workspace)
