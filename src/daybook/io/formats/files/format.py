"""What file formats share: a table is a folder of a data source, or one file at a path."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from daybook.errors import DaybookError
from daybook.io.filesystem import is_uri, join_uri, list_files, local_path, partition_values, translate_read_errors
from daybook.io.format import Format, Leftover
from daybook.io.formats.files.manifest import read_manifest
from daybook.io.formats.files.one_file import committed_file
from daybook.io.landing.request import TextFile
from daybook.io.landing.rows import ImpliedColumns
from daybook.io.leftovers import search_folder
from daybook.io.rows.stored import SourceBlock, StoredRows, dataset_of
from daybook.io.target import FileTarget
from daybook.io.writer import Commit
from daybook.model.datasource import DataSource, FolderSource
from daybook.resolve.locations.location import Location
from daybook.resolve.locations.paths import absolute_root


@dataclass(frozen=True, slots=True)
class FilePart:
    """A file of an output, with what its folder names and the columns that are NULL where it lacks them."""

    path: str
    constants: Mapping[str, str | None]
    promised: frozenset[str] = frozenset()


class FolderFormat(Format):
    """A format whose tables are files and folders."""

    @property
    def storage_errors(self) -> tuple[type[Exception], ...]:
        return (pa.ArrowException,)

    def committed_rows(self, target: FileTarget, commit: Commit) -> StoredRows:
        """Of the files that the run wrote, as long as no other commit has replaced them."""
        parts = tuple(_committed_parts(target))
        with translate_read_errors(target.label):
            return self.stored_rows(target, parts)

    def stored_rows(self, target: FileTarget, parts: Sequence[FilePart]) -> StoredRows:
        """The rows of files that a run wrote."""
        version = dataset_of(target.columns)
        blocks = []
        for part in parts:
            (stat,) = list_files(part.path)
            file = TextFile(stat, "", target.location, ImpliedColumns(part.constants, part.promised))
            blocks.append(SourceBlock(self.file_rows(file, version)))
        return StoredRows(target.columns, tuple(blocks), is_columnar=False)

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


def _committed_parts(target: FileTarget) -> Iterator[FilePart]:
    """The files of a run's commit; RUN_084 when they are gone, or another commit has taken their place."""
    path = local_path(target.uri)
    if path is not None and target.is_one_file:
        if committed_file(target.workspace / path, target) is None:
            raise _replaced_error(target, "the file has been replaced or changed since then")
        yield FilePart(str(target.workspace / path), {})
        return
    manifest = read_manifest(target.uri)
    entry = next(
        (
            each
            for each in (manifest.entries if manifest else ())
            if (each.run_id, each.operation_seq) == (target.run_id, target.operation_seq)
        ),
        None,
    )
    if manifest is None or entry is None:
        raise _replaced_error(
            target, "another run has replaced them since then" if manifest else "the folder no longer exists"
        )
    for name in entry.files:
        file = join_uri(target.uri, name)
        if not list_files(file):
            raise _replaced_error(target, f"{name} is missing")
        yield FilePart(file, partition_values(name), frozenset(manifest.columns))


def _replaced_error(target: FileTarget, reason: str) -> DaybookError:
    return DaybookError("RUN_084", run_id=target.run_id, location=target.label, reason=reason)
