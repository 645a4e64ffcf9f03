"""What file formats share: a table is a folder or one file; part files are staged, and one rename commits them."""

import shutil
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from daybook.errors import DaybookError
from daybook.expression import quote_identifier
from daybook.io.bindings import checked_options
from daybook.io.column_types import spark_data_type
from daybook.io.filesystem import (
    is_uri,
    join_uri,
    list_files,
    list_folder,
    local_path,
    partition_values,
    spark_uri,
    translate_read_errors,
)
from daybook.io.format import Format, Leftover
from daybook.io.formats.files.folder import (
    check_folder,
    commit_folder,
    committed_folder,
    drop_folder_slice,
    folder_columns,
    folder_slices,
    slice_state,
)
from daybook.io.formats.files.manifest import read_manifest
from daybook.io.formats.files.one_file import check_file, commit_file, committed_file
from daybook.io.formats.files.one_object import (
    check_object,
    commit_object,
    committed_object,
    discard_objects,
    fetch_parts,
    put_file,
    staging_folder,
)
from daybook.io.landing.batches import ImpliedColumns
from daybook.io.landing.landing_request import TextFile
from daybook.io.leftovers import search_folder
from daybook.io.state_tables import stream_parquet
from daybook.io.storage import PROVIDER_STORAGE, Storage, bucket_of
from daybook.io.stored_rows import SourceBlock, StoredRows, dataset_of
from daybook.io.target import FileTarget, OutputColumn, WrittenSlice
from daybook.io.writer import (
    CheckedTarget,
    Commit,
    Fence,
    FingerprintObserver,
    StagedOutput,
    kept_columns,
    no_fence,
    remove_tree,
    translate_spark_failures,
)
from daybook.model.datasource import DataSource, FolderSource
from daybook.resolve.location import Location
from daybook.resolve.paths import absolute_root

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


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
            (stat,) = list_files(part.path, storage=target.storage)
            implied = ImpliedColumns(part.constants, part.promised)
            file = TextFile(stat, "", target.location, implied, target.storage)
            blocks.append(SourceBlock(self.file_rows(file, version)))
        return StoredRows(target.columns, tuple(blocks), is_columnar=False)

    def staging_folder(self, location: Location) -> str | None:
        return (location.file_uri).rstrip("/").rpartition("/")[0]

    def find_leftovers(
        self, datasource: DataSource, workspace: Path, storage: Storage = PROVIDER_STORAGE
    ) -> Iterable[Leftover]:
        return search_folder(_source_folder(datasource, workspace), storage)

    def ping(self, datasource: DataSource, workspace: Path, storage: Storage = PROVIDER_STORAGE) -> str:
        folder = _source_folder(datasource, workspace)
        if bucket_of(folder) is not None:
            return f"{folder}, {_count_text(len(list_folder(folder, storage)))}"
        is_missing = not is_uri(folder) and not Path(folder).is_dir()
        return f"{folder} (created by the first write)" if is_missing else folder


def _count_text(count: int) -> str:
    return f"{count} {'entry' if count == 1 else 'entries'}"


def _source_folder(datasource: DataSource, workspace: Path) -> str:
    if not isinstance(datasource, FolderSource):
        raise ValueError(f"{datasource.id} is no folder")
    return absolute_root(datasource.options.path, workspace)


def _committed_parts(target: FileTarget) -> Iterator[FilePart]:
    """The files of a run's commit; RUN_084 when they are gone, or another commit has taken their place."""
    if _is_object(target):
        if committed_object(target) is None:
            raise _replaced_error(target, "the file has been replaced or changed since then")
        yield FilePart(target.uri, {})
        return
    path = local_path(target.uri)
    if path is not None and target.is_one_file:
        if committed_file(target.workspace / path, target) is None:
            raise _replaced_error(target, "the file has been replaced or changed since then")
        yield FilePart(str(target.workspace / path), {})
        return
    manifest = read_manifest(target.uri)
    entry = next(
        (
            manifest_entry
            for manifest_entry in (manifest.entries if manifest else ())
            if (manifest_entry.run_id, manifest_entry.operation_seq) == (target.run_id, target.operation_seq)
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


_PARTS = "parts"


class FileWriter(ABC):
    """What formats of files share; each says how its files are written and what is known of those it finds."""

    # Of files that may be part of a folder.
    extensions: tuple[str, ...]

    @abstractmethod
    def write_parts(self, df: "DataFrame", folder: str, target: FileTarget, options: Mapping[str, Any]) -> None:
        """Let Spark write part files into a new folder, which is given in Spark's form."""
        ...

    def stream_parts(self, df: "DataFrame", folder: Path, target: FileTarget, options: Mapping[str, Any]) -> None:
        """The same where Spark sees no folder of this machine: rows come here and become one part file."""
        stream_parquet(df, folder, target.columns)

    def join_parts(self, parts: Sequence[Path], file: Path, target: FileTarget, options: Mapping[str, Any]) -> None:
        """Make one file of part files, in their order, which is the order of the rows."""
        raise NotImplementedError(f"{target.format} is never one file")

    def complete_folder(
        self, folder: Path, parts: Sequence[Path], target: FileTarget, options: Mapping[str, Any]
    ) -> None:
        """Add to the part files of a folder what Spark left out."""
        return

    def complete_parts(self, parts: Path, file: Path, target: FileTarget, options: Mapping[str, Any]) -> None:
        """Make what is committed of the part files: the file, or the folder `parts` itself."""
        part_files = sorted(part for part in parts.iterdir() if not part.name.startswith(("_", ".")))
        if target.is_one_file:
            self.join_parts(part_files, file, target, options)
            remove_tree(parts)
        else:
            self.complete_folder(parts, part_files, target, options)

    def row_count(self, file: Path) -> int:
        """Of files that do not say it, it is enough to know whether they hold anything."""
        return min(file.stat().st_size, 1)

    def stored_columns(self, file: Path) -> Mapping[str, str] | None:
        """Columns with their declared types as text, empty where the file has none; None where it names no columns."""
        return None

    def check(self, target: FileTarget) -> CheckedTarget:
        checked_options(target.format, target.options, is_output=True)
        if _is_object(target):
            check_object(target)
            return CheckedTarget()
        path = _target_path(target)
        if target.is_one_file:
            check_file(path, target)
            return CheckedTarget()
        fitted = check_folder(path, target, self, may_fit=True)
        return CheckedTarget(folder_slices(path, target), slice_state(path, target), fitted)

    def stage(self, df: "DataFrame", target: FileTarget, checked: CheckedTarget | None = None) -> StagedOutput:
        from pyspark.sql import functions as F

        options = checked_options(target.format, target.options, is_output=True)
        if _is_object(target):
            return self._stage_object(df, target, options)
        path = _target_path(target)
        path.parent.mkdir(parents=True, exist_ok=True)
        work = path.parent / f".{target.new_attempt_name()}"
        work.mkdir()
        seen = self._seen(path, target) if checked is None else checked.seen
        watch = FingerprintObserver(target.columns)
        parts = work / _PARTS
        kept = () if target.is_one_file else kept_columns(target, folder_columns(path, target, self))
        # Every file of a folder has all columns.
        stored = replace(target, columns=(*target.columns, *kept))
        nulls = {column.name: F.lit(None).cast(spark_data_type(column.type)) for column in kept}
        rows = watch.on(df).withColumns(nulls) if nulls else watch.on(df)
        if target.storage.tables is not None:
            parts.mkdir()
            self.stream_parts(rows, parts, stored, options)
        else:
            with translate_spark_failures(target):
                self.write_parts(rows, str(parts), stored, options)
        try:
            self.complete_parts(parts, work / path.name, stored, options)
        except OSError as failure:
            raise DaybookError("IO_026", location=target.label, reason=str(failure)) from failure
        return StagedOutput(str(work), watch.rows, watch.fingerprint, digest=watch.digest, seen=seen)

    def _stage_object(self, df: "DataFrame", target: FileTarget, options: Mapping[str, Any]) -> StagedOutput:
        """Spark writes parts beside the target, the file made of them is put beside them as a whole."""
        work, name = staging_folder(target), target.uri.rpartition("/")[2]
        parts = join_uri(work, _PARTS)
        watch = FingerprintObserver(target.columns)
        with translate_spark_failures(target):
            self.write_parts(watch.on(df), spark_uri(parts, target.storage), target, options)
        try:
            with tempfile.TemporaryDirectory(prefix="daybook-") as folder:
                fetch_parts(parts, Path(folder) / _PARTS, target)
                self.complete_parts(Path(folder) / _PARTS, Path(folder) / name, target, options)
                put_file(Path(folder) / name, join_uri(work, name), target)
        except OSError as failure:
            raise DaybookError("IO_026", location=target.label, reason=str(failure)) from failure
        return StagedOutput(work, watch.rows, watch.fingerprint)

    def _seen(self, path: Path, target: FileTarget) -> str | None:
        return None if target.is_one_file else slice_state(path, target)

    def commit(self, staged: StagedOutput, target: FileTarget, fence: Fence = no_fence) -> Commit:
        if _is_object(target):
            commit = commit_object(staged, target, fence)
            discard_objects(target)
            return commit
        path, work = _target_path(target), Path(staged.staging)
        refusals: list[Exception] = []

        def guard(slices: tuple[WrittenSlice, ...]) -> None:
            try:
                fence(slices)
            except Exception as refusal:
                refusals.append(refusal)
                raise

        try:
            if target.is_one_file:
                commit = commit_file(work / path.name, path, staged, target, guard)
            else:
                commit = commit_folder(work / _PARTS, work, path, staged, target, guard, self)
        except OSError as failure:
            if failure in refusals:
                raise
            raise DaybookError("IO_026", location=target.label, reason=str(failure)) from failure
        remove_tree(work)
        return commit

    def committed(self, target: FileTarget) -> Commit | None:
        if _is_object(target):
            return committed_object(target)
        path = _target_path(target)
        return committed_file(path, target) if target.is_one_file else committed_folder(path, target)

    def slices(self, target: FileTarget) -> tuple[WrittenSlice, ...]:
        """One file has no slices: it is replaced as a whole."""
        return () if target.is_one_file else folder_slices(_target_path(target), target)

    def drop_slice(self, target: FileTarget, fence: Fence = no_fence) -> Commit:
        if target.is_one_file:
            raise DaybookError("IO_001", location=target.label)
        path = _target_path(target)
        if not path.parent.is_dir():
            raise DaybookError("IO_001", location=target.label)
        work = path.parent / f".{target.new_attempt_name()}"
        try:
            work.mkdir()
            return drop_folder_slice(work, path, target, fence, self)
        except OSError as failure:
            raise DaybookError("IO_026", location=target.label, reason=str(failure)) from failure
        finally:
            remove_tree(work)

    def discard(self, target: FileTarget) -> None:
        if _is_object(target):
            discard_objects(target)
            return
        parent = _target_path(target).parent
        for work in parent.glob(f".{target.staging_key}.*") if parent.is_dir() else ():
            remove_tree(work)


def join_texts(parts: Iterable[Path], file: Path, start: bytes = b"") -> None:
    """One file of text files, one after the other."""
    with file.open("wb") as stream:
        stream.write(start)
        for part in parts:
            with part.open("rb") as source:
                shutil.copyfileobj(source, stream, 1 << 20)


def write_text_lines(file: Path, lines: Iterable[bytes]) -> None:
    """Lines that come one after the other, none of which has to be held."""
    with file.open("wb") as stream:
        stream.writelines(lines)


def column_value(column: OutputColumn) -> "Column":
    from pyspark.sql import functions as F

    return F.col(quote_identifier(column.name))


def timestamp_text(value: "Column") -> "Column":
    from pyspark.sql import functions as F

    return F.concat(F.replace(value.cast("string"), F.lit(" "), F.lit("T")), F.lit("Z"))


def _is_object(target: FileTarget) -> bool:
    return target.is_one_file and bucket_of(target.uri) is not None


def _target_path(target: FileTarget) -> Path:
    path = local_path(target.uri)
    if path is None:
        raise DaybookError("IO_025", location=target.label, format=target.format)
    return target.workspace / path
