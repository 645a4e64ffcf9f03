"""The files and folders below a workspace that hold data and no definitions."""

from collections.abc import Iterator

from daybook.model.calendar import Calendar
from daybook.model.dataset import Dataset, PathLocation
from daybook.model.datasource import DataSource, FolderSource
from daybook.model.operation import LocationDestination, OutputOperation
from daybook.model.project import Project
from daybook.model.resolver import Resolver


def data_places(model: Dataset | DataSource | Resolver | Calendar | Project) -> Iterator[str]:
    """Paths relative to the workspace, or absolute."""
    match model:
        case FolderSource():
            yield from _local(model.options.path)
        case Dataset():
            if isinstance(model.main_table.location, PathLocation):
                yield from _local(model.main_table.location.path)
        case Project():
            for operation in model.operations:
                if isinstance(operation, OutputOperation):
                    destination = operation.arguments.destination
                    if isinstance(destination, LocationDestination):
                        yield from _local(destination.location.path)
        case _:
            return


def _local(path: str) -> Iterator[str]:
    """The part of a path before its first template; nothing for a URI or a path that begins with a template."""
    path = path.removeprefix("file://")
    if "://" in path:
        return
    head, template, _ = path.partition("{{")
    known = head.rpartition("/")[0] if template else head
    if known:
        yield known
