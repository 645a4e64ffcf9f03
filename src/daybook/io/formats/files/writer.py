"""Writes files at a path: Spark writes part files beside the target, then one rename commits them."""

import shutil
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from daybook.errors import DaybookError
from daybook.expression import quote_identifier
from daybook.io.bindings import checked_options
from daybook.io.column_types import spark_data_type
from daybook.io.filesystem import local_path
from daybook.io.formats.files.folder import (
    check_folder,
    commit_folder,
    committed_folder,
    drop_folder_slice,
    folder_columns,
    folder_slices,
    slice_state,
)
from daybook.io.formats.files.one_file import check_file, commit_file, committed_file
from daybook.io.target import FileTarget, OutputColumn, WrittenSlice
from daybook.io.writer import (
    Commit,
    Fence,
    FingerprintObserver,
    StagedOutput,
    kept_columns,
    no_fence,
    remove_tree,
    translate_spark_failures,
)

_PARTS = "parts"


class FileWriter(ABC):
    """What formats of files share; each says how its files are written and what is known of those it finds."""

    # Of files that may be part of a folder.
    extensions: tuple[str, ...]

    @abstractmethod
    def write_parts(self, df: DataFrame, folder: Path, target: FileTarget, options: Mapping[str, Any]) -> None:
        """Let Spark write part files into a new folder."""
        ...

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
        found = sorted(part for part in parts.iterdir() if not part.name.startswith(("_", ".")))
        if target.is_one_file:
            self.join_parts(found, file, target, options)
            remove_tree(parts)
        else:
            self.complete_folder(parts, found, target, options)

    def row_count(self, file: Path) -> int:
        """Of files that do not say it, it is enough to know whether they hold anything."""
        return min(file.stat().st_size, 1)

    def stored_columns(self, file: Path) -> Mapping[str, str] | None:
        """Columns with their declared types as text, empty where the file has none; None where it names no columns."""
        return None

    def check(self, target: FileTarget) -> None:
        checked_options(target.format, target.options, is_output=True)
        path = _target_path(target)
        if target.is_one_file:
            check_file(path, target)
        else:
            check_folder(path, target, self)

    def stage(self, df: DataFrame, target: FileTarget) -> StagedOutput:
        options = checked_options(target.format, target.options, is_output=True)
        path = _target_path(target)
        path.parent.mkdir(parents=True, exist_ok=True)
        work = path.parent / f".{target.new_attempt_name()}"
        work.mkdir()
        seen = None if target.is_one_file else slice_state(path, target)
        watch = FingerprintObserver(target.columns)
        parts = work / _PARTS
        kept = () if target.is_one_file else kept_columns(target, folder_columns(path, target, self))
        # Every file of a folder has all columns.
        stored = replace(target, columns=(*target.columns, *kept))
        nulls = {column.name: F.lit(None).cast(spark_data_type(column.type)) for column in kept}
        with translate_spark_failures(target):
            self.write_parts(watch.on(df).withColumns(nulls) if nulls else watch.on(df), parts, stored, options)
        try:
            self.complete_parts(parts, work / path.name, stored, options)
        except OSError as failure:
            raise DaybookError("IO_026", location=target.label, reason=str(failure)) from failure
        return StagedOutput(str(work), watch.rows, watch.fingerprint, seen=seen)

    def commit(self, staged: StagedOutput, target: FileTarget, fence: Fence = no_fence) -> Commit:
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
        path = _target_path(target)
        return committed_file(path, target) if target.is_one_file else committed_folder(path, target)

    def slices(self, target: FileTarget) -> tuple[WrittenSlice, ...]:
        """One file has no slices: it is replaced as a whole."""
        return () if target.is_one_file else folder_slices(_target_path(target), target)

    def drop_slice(self, target: FileTarget, fence: Fence = no_fence) -> Commit:
        path = _target_path(target)
        if target.is_one_file or not path.parent.is_dir():
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


def column_value(column: OutputColumn) -> Column:
    return F.col(quote_identifier(column.name))


def timestamp_text(value: Column) -> Column:
    return F.concat(F.replace(value.cast("string"), F.lit(" "), F.lit("T")), F.lit("Z"))


def _target_path(target: FileTarget) -> Path:
    path = local_path(target.uri)
    if path is None:
        raise DaybookError("IO_025", location=target.label, format=target.format)
    return target.workspace / path
