"""Whether what a run would read is there, without reading it."""

from daybook.errors import DaybookError, raise_all
from daybook.io.formats.files.manifest import read_manifest
from daybook.io.place import list_files
from daybook.resolve.location import Location, Resolution


def check_found(resolution: Resolution) -> None:
    """IO_001 for files and Delta tables that do not exist; databases are asked when they are read."""
    raise_all(DaybookError("IO_001", location=each.uri) for each in resolution.locations if not _exists(each))


def _exists(location: Location) -> bool:
    if location.uri is None:
        return True
    if location.format == "delta":
        from daybook.io.formats.delta.tables import open_table

        return open_table(location.uri, location.delta_version) is not None
    return bool(list_files(location.uri)) or read_manifest(location.uri) is not None
