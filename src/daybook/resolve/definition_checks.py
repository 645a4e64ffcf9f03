"""The checks of `validate` on well-formed definitions, in order; a check is one function of the workspace."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any

from daybook.definitions.files import definitions_of_files
from daybook.definitions.loading.loaded_workspace import LoadedWorkspace
from daybook.definitions.value import Definitions
from daybook.errors import DaybookError, Span, flatten
from daybook.errors.error import did_you_mean
from daybook.model.dataset import Dataset, MainTable, PathLocation, TableLocation, View, is_single_period
from daybook.model.datasource import CatalogStrategy, FolderSource, PathStrategy, Resolver, TableStrategy
from daybook.model.definition import DEFINITION_KINDS, SANDBOX_PREFIX, Definition, DefinitionKind
from daybook.model.formats import FORMATS, formats_by_extension, option_violations
from daybook.model.operation import LocationDestination, OutputMode, OutputOperation
from daybook.model.project import Project
from daybook.model.source_map import KeyPath, SourceMap
from daybook.resolve.calendars.calendar import ANY_LEVEL, GREGORIAN_CALENDAR
from daybook.resolve.calendars.calendar_checks import calendar_errors, checked_calendar
from daybook.resolve.calendars.periods import calendar_for, level_position
from daybook.resolve.location import check_table_name, extension, format_by_extension, is_one_file
from daybook.resolve.paths import path_template_errors, template_errors, template_tokens

# The calendar that needs no definition.
BUILT_IN_CALENDAR = "gregorian"


def check_references(workspace: LoadedWorkspace) -> list[DaybookError]:
    """Every reference to something no file defines, and what only two definitions together get wrong."""
    checker = _ReferenceChecker(workspace)
    errors = list(_check_single_default(workspace))
    for definition in workspace.all():
        errors += checker.check(definition)
    return errors


class _ReferenceChecker:
    """The ids of a workspace, those that its projects register included."""

    def __init__(self, workspace: LoadedWorkspace) -> None:
        self._workspace = workspace
        registered = {
            operation.arguments.registered_id
            for definition in workspace.definitions["project"].values()
            for operation in definition.model.operations
            if isinstance(operation, OutputOperation) and operation.arguments.registered_id
        }
        self._ids: dict[DefinitionKind, frozenset[str]] = {
            kind: frozenset(workspace.definitions[kind]) for kind in DEFINITION_KINDS
        }
        self._ids["dataset"] |= registered
        self._ids["calendar"] |= {BUILT_IN_CALENDAR}

    def check(self, definition: Definition[Any]) -> Iterator[DaybookError]:
        match definition.model:
            case Dataset() as dataset:
                yield from self._dataset(dataset, definition.source)
            case View() as view:
                yield from self._view(view, definition.source)
            case Resolver() as resolver:
                yield from self._resolver(resolver, definition.source)
            case _:
                return

    def _dataset(self, dataset: Dataset, source: SourceMap) -> Iterator[DaybookError]:
        if dataset.id.startswith(SANDBOX_PREFIX):
            reason = f"ids that begin with {SANDBOX_PREFIX} are those of what drafts register"
            yield DaybookError("MODEL_028", span=source.span("id"), where="id", reason=reason)
        if dataset.resolver_id is not None:
            yield from self._exists("resolver", dataset.resolver_id, source, "resolver_id")
        if isinstance(location := dataset.main_table.location, TableLocation):
            yield from self._exists(
                "datasource", location.datasource_id, source, "main_table", "location", "datasource_id"
            )

    def _view(self, view: View, source: SourceMap) -> Iterator[DaybookError]:
        yield from self._exists("dataset", view.view.of, source, "view", "of")
        seen = [view.id]
        while isinstance(model := self._declared(view.view.of), View):
            seen.append(model.id)
            if model.id in seen[:-1]:
                yield DaybookError("MODEL_083", span=source.span("view", "of"), path=" → ".join(seen))
                return
            view = model
        if not isinstance(model, Dataset):
            return
        match model.main_table.temporal_mode:
            case None | "snapshot":
                yield DaybookError("MODEL_084", span=source.span("view", "of"), dataset=model.id)
            case "bitemporal" if not is_single_period(view.view.window):
                yield DaybookError("MODEL_085", span=source.span("view", "window"), dataset=model.id)
            case _:
                pass

    def _declared(self, dataset_id: str) -> object:
        definition = self._workspace.get("dataset", dataset_id)
        return definition.model if definition is not None else None

    def _resolver(self, resolver: Resolver, source: SourceMap) -> Iterator[DaybookError]:
        for index, rule in enumerate(resolver.rules):
            if not isinstance(rule.strategy, CatalogStrategy):
                path: KeyPath = ("rules", index, "strategy", "datasource_id")
                yield from self._exists("datasource", rule.strategy.datasource_id, source, *path)

    def _exists(self, kind: DefinitionKind, id_: str, source: SourceMap, *path: str | int) -> Iterator[DaybookError]:
        if id_ not in self._ids[kind]:
            yield self._unknown(kind, id_, source.span(*path))

    def _unknown(self, kind: DefinitionKind, id_: str, span: Span | None) -> DaybookError:
        return DaybookError("MODEL_061", span=span, hint=did_you_mean(id_, self._ids[kind]), kind=kind, id=id_)


def _check_single_default(workspace: LoadedWorkspace) -> Iterable[DaybookError]:
    defaults = [definition for definition in workspace.definitions["resolver"].values() if definition.model.is_default]
    for second in defaults[1:]:
        span = second.source.span("is_default")
        yield DaybookError("MODEL_062", span=span, first=defaults[0].id, second=second.id)


def format_errors(model: object, source: SourceMap) -> Iterator[DaybookError]:
    """Of a data source's folder, a dataset's own location and the destinations of outputs."""
    match model:
        case FolderSource():
            yield from _option_errors(model.type, model.options.options, source, ("options", "options"))
        case Dataset():
            if isinstance(location := model.main_table.location, PathLocation):
                yield from _location_errors(location, source, ("main_table", "location"))
        case Project():
            for index, operation in enumerate(model.operations):
                if isinstance(operation, OutputOperation):
                    yield from _output_errors(operation, source, ("operations", index, "arguments"))
        case _:
            return


def one_file_mode_error(mode: OutputMode | None, location: str, span: Span | None = None) -> DaybookError | None:
    """Why one file cannot be written in a mode, if it cannot."""
    if mode == "append":
        return DaybookError("IO_022", span=span, location=location)
    if mode == "replace_period":
        hint = "Use mode replace, or a path without an extension."
        reason = "one file holds one period"
        return DaybookError("IO_032", span=span, location=location, mode=mode, reason=reason, hint=hint)
    return None


def output_path_error(format_: str, path: str, span: Span | None = None) -> DaybookError | None:
    """Why no output of a format can be written to a path, if it cannot."""
    needed = FORMATS[format_].output_extension
    if needed is None or extension(path) == needed:
        return None
    hint = f"write to a path that ends in .{needed}"
    reason = f"its name does not end in .{needed}"
    return DaybookError("IO_056", span=span, location=path, reason=reason, hint=hint)


def _output_errors(operation: OutputOperation, source: SourceMap, path: KeyPath) -> Iterator[DaybookError]:
    destination, mode = operation.arguments.destination, operation.arguments.mode
    if not isinstance(destination, LocationDestination):
        return
    location = destination.location
    yield from _location_errors(location, source, (*path, "destination", "location"), is_output=True)
    format_ = location.format or formats_by_extension().get(extension(location.path) or "")
    if format_ is None:
        return
    if is_one_file(format_, location.path):
        error = one_file_mode_error(mode, location.path, source.span(*path, "mode"))
        yield from [error] if error else []
    error = output_path_error(format_, location.path, source.span(*path, "destination", "location", "path"))
    yield from [error] if error else []


def _location_errors(
    location: PathLocation, source: SourceMap, path: KeyPath, *, is_output: bool = False
) -> Iterator[DaybookError]:
    try:
        format_ = location.format or format_by_extension(location.path, source.span(*path, "path"))
    except DaybookError as error:
        yield error
        return
    yield from _option_errors(format_, location.options, source, (*path, "options"), is_output=is_output)


def _option_errors(
    format_: str, options: Mapping[str, Any], source: SourceMap, path: KeyPath, *, is_output: bool = False
) -> Iterator[DaybookError]:
    for violation in option_violations(format_, options, is_output=is_output):
        yield DaybookError(
            violation.code, span=source.key(*path, *violation.path), hint=violation.hint, **violation.parameters
        )


def resolver_errors(
    resolver: Resolver,
    source: SourceMap,
    *,
    levels: Collection[str] | None = None,
    allowed_hosts: tuple[str, ...] | None = None,
) -> Iterator[DaybookError]:
    """Conditions, levels and catalog calls of all rules; `levels` are those of every calendar that is known."""
    for index, rule in enumerate(resolver.rules):
        if rule.when is not None:
            from daybook.resolve.rule_conditions import compile_condition

            try:
                compile_condition(rule.when, span=source.scalar("rules", index, "when"))
            except DaybookError as error:
                yield from flatten(error)
        if levels is not None:
            yield from data_level_errors(rule.data_level, levels, source.span("rules", index, "data_level"))
        if isinstance(rule.strategy, CatalogStrategy):
            from daybook.resolve.catalog_locations import strategy_errors

            yield from strategy_errors(rule.strategy, allowed_hosts, source.span("rules", index, "strategy"))


def data_level_errors(level: str | None, levels: Collection[str], span: Span | None) -> Iterator[DaybookError]:
    """A `data_level` that no calendar has."""
    if level is not None and level != ANY_LEVEL and level not in levels:
        hint = did_you_mean(level, (*levels, ANY_LEVEL))
        yield DaybookError("RESOLVE_050", span=span, hint=hint, level=level)


class StructureContext:
    """The workspace that definitions are checked in, with what several checks need of all its definitions."""

    def __init__(self, workspace: LoadedWorkspace) -> None:
        self.workspace = workspace

    @cached_property
    def definitions(self) -> Definitions:
        return definitions_of_files(self.workspace)

    @cached_property
    def levels(self) -> frozenset[str]:
        """The levels of every calendar that is known."""
        calendars = self.workspace.definitions["calendar"].values()
        models = [GREGORIAN_CALENDAR, *(definition.model for definition in calendars)]
        return frozenset(level.name for calendar in models for level in calendar.levels)


StructuralCheck = Callable[[Definition[Any], StructureContext], Iterable[DaybookError]]


def check_calendar_structure(definition: Definition[Any], context: StructureContext) -> Iterator[DaybookError]:
    if definition.kind == "calendar":
        try:
            checked_calendar(definition.model)
        except DaybookError:
            yield from calendar_errors(definition.model, definition.source)


def check_rules(definition: Definition[Any], context: StructureContext) -> Iterator[DaybookError]:
    """Conditions, levels and catalog calls of rules, and the level of a dataset's own location."""
    model, source = definition.model, definition.source
    if isinstance(model, Resolver):
        hosts = context.workspace.settings.catalogs.allowed_hosts
        yield from resolver_errors(model, source, levels=context.levels, allowed_hosts=hosts)
    if isinstance(model, Dataset) and (location := model.main_table.location) is not None:
        span = source.span("main_table", "location", "data_level")
        yield from data_level_errors(location.data_level, context.levels, span)


def check_formats(definition: Definition[Any], context: StructureContext) -> Iterator[DaybookError]:
    """Unknown options of formats, and inline paths with an unknown format."""
    return format_errors(definition.model, definition.source)


def check_templates(definition: Definition[Any], context: StructureContext) -> Iterator[DaybookError]:
    """Unknown tokens and paths that leave their folder, in resolvers, locations and destinations."""
    for path, text in _declared_templates(definition.model):
        span = definition.source.scalar(*path) or definition.source.span(*path)
        if path[-1] == "path":
            yield from path_template_errors(text, is_inline=definition.kind != "resolver", span=span)
        else:
            yield from template_errors(text, span)


def check_tables(definition: Definition[Any], context: StructureContext) -> Iterator[DaybookError]:
    """Names that no table of their data source can have; those with tokens are checked for each period."""
    for path, named in _declared_tables(definition.model):
        datasource = context.workspace.definitions["datasource"].get(named.datasource_id)
        for key, name in (("table", named.table), ("schema", named.schema_name)):
            if datasource is None or name is None or template_tokens(name):
                continue
            try:
                check_table_name(datasource.model, name, definition.source.span(*path, key))
            except DaybookError as error:
                yield error


def _declared_tables(model: object) -> Iterator[tuple[KeyPath, TableLocation | TableStrategy]]:
    match model:
        case Dataset(main_table=MainTable(location=TableLocation() as location)):
            yield ("main_table", "location"), location
        case Resolver():
            for index, rule in enumerate(model.rules):
                if isinstance(rule.strategy, TableStrategy):
                    yield ("rules", index, "strategy"), rule.strategy
        case _:
            return


def _declared_templates(model: object) -> Iterator[tuple[KeyPath, str]]:
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


def check_level(definition: Definition[Any], context: StructureContext) -> Iterator[DaybookError]:
    """The level of a project that its calendar does not have; an unknown calendar is reported by itself."""
    if not isinstance(project := definition.model, Project) or project.level is None:
        return
    try:
        calendar = calendar_for(project.calendar_id, context.definitions)
    except DaybookError:
        return
    try:
        level_position(project.level, calendar)
    except DaybookError as error:
        error.span = definition.source.span("level")
        yield error


# What is wrong with a definition whatever else is defined; references also depend on the store.
_STRUCTURAL_CHECKS: tuple[StructuralCheck, ...] = (
    check_calendar_structure,
    check_rules,
    check_level,
    check_templates,
    check_tables,
    check_formats,
)


def definition_errors(definition: Definition[Any], context: StructureContext) -> Iterator[DaybookError]:
    """What no run may begin with, in one definition."""
    for check in _STRUCTURAL_CHECKS:
        yield from check(definition, context)


def structural_errors(workspace: LoadedWorkspace) -> Iterator[DaybookError]:
    """What no run may begin with, in all definitions of a workspace: check by check."""
    context = StructureContext(workspace)
    for check in _STRUCTURAL_CHECKS:
        for definition in workspace.all():
            yield from check(definition, context)


def workspace_errors(workspace: LoadedWorkspace) -> Iterator[DaybookError]:
    """Everything the checks find."""
    yield from check_references(workspace)
    yield from structural_errors(workspace)
