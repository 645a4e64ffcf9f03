"""What is common to formats of files: tables are folders of a data source, or one file at a path."""

from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa

from daybook.io.filesystem import is_uri, list_files, uri_identity
from daybook.io.format import Format, Leftover
from daybook.io.formats.files.manifest import read_manifest
from daybook.io.leftovers import search_folder
from daybook.model.datasource import DataSource, FolderSource
from daybook.resolve.locations.location import Location
from daybook.resolve.locations.paths import absolute_root


class FolderFormat(Format):
    """A format whose tables are files and folders."""

    @property
    def storage_errors(self) -> tuple[type[Exception], ...]:
        return (pa.ArrowException,)

    def exists(self, location: Location) -> bool:
        uri = location.file_uri
        return bool(list_files(uri, location.root or uri)) or read_manifest(uri) is not None

    def identity(self, location: Location, workspace: Path) -> str:
        return uri_identity(location.file_uri, workspace)

    def occupied_path(self, location: Location, workspace: Path) -> str | None:
        return location.uri

    def staging_folder(self, location: Location) -> str | None:
        return (location.file_uri).rstrip("/").rpartition("/")[0]

    def find_leftovers(self, datasource: DataSource, workspace: Path) -> Iterable[Leftover]:
        return search_folder(_source_folder(datasource, workspace))

    def ping(self, datasource: DataSource, workspace: Path) -> str:
        folder = _source_folder(datasource, workspace)
        is_missing = not is_uri(folder) and not Path(folder).is_dir()
        return f"{folder} (created by the first write)" if is_missing else folder


def _source_folder(datasource: DataSource, workspace: Path) -> str:
    if not isinstance(datasource, FolderSource):
        raise ValueError(f"{datasource.id} is no folder")
    return absolute_root(datasource.options.path, workspace)
