"""What can be wrong with how files are written: a format that cannot be told, an option or a mode it does not have."""

from collections.abc import Iterator, Mapping
from typing import Any

from daybook.errors import DaybookError, Span
from daybook.model.dataset import Dataset, PathLocation
from daybook.model.datasource import FolderSource
from daybook.model.formats import option_findings
from daybook.model.operation import LocationDestination, OutputMode, OutputOperation
from daybook.model.project import Project
from daybook.model.source_map import Path, SourceMap
from daybook.resolve.location import extension
from daybook.resolve.places import format_of


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


def mode_error(mode: OutputMode | None, location: str, span: Span | None = None) -> DaybookError | None:
    """Why one file cannot be written in a mode, if it cannot."""
    if mode == "append":
        return DaybookError("IO_022", span=span, location=location)
    if mode == "replace_period":
        hint = "Use mode replace, or a path without an extension."
        reason = "one file holds one period"
        return DaybookError("IO_032", span=span, location=location, mode=mode, reason=reason, hint=hint)
    return None


def _output_errors(operation: OutputOperation, source: SourceMap, path: Path) -> Iterator[DaybookError]:
    destination, mode = operation.arguments.destination, operation.arguments.mode
    if not isinstance(destination, LocationDestination):
        return
    location = destination.location
    yield from _location_errors(location, source, (*path, "destination", "location"), is_output=True)
    if location.format != "delta" and extension(location.path):
        error = mode_error(mode, location.path, source.span(*path, "mode"))
        yield from [error] if error else []


def _location_errors(
    location: PathLocation, source: SourceMap, path: Path, *, is_output: bool = False
) -> Iterator[DaybookError]:
    try:
        format_ = location.format or format_of(location.path, source.span(*path, "path"))
    except DaybookError as error:
        yield error
        return
    yield from _option_errors(format_, location.options, source, (*path, "options"), is_output=is_output)


def _option_errors(
    format_: str, options: Mapping[str, Any], source: SourceMap, path: Path, *, is_output: bool = False
) -> Iterator[DaybookError]:
    for one in option_findings(format_, options, is_output=is_output):
        yield DaybookError(one.code, span=source.key(*path, *one.path), hint=one.hint, **one.parameters)
