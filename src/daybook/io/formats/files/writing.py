"""Writing Parquet, CSV and JSON at a path: staged beside the target, then one rename."""

from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame

from daybook.errors import DaybookError
from daybook.io.fingerprint import Watch
from daybook.io.formats.files.folder import check_folder, commit_folder, committed_folder, slice_state
from daybook.io.formats.files.one_file import check_file, commit_file, committed_file
from daybook.io.formats.files.spark_files import header_line, join_parts, spark_write
from daybook.io.options import options_of
from daybook.io.place import local_path
from daybook.io.staging import attempt_name, remove_tree, spark_writes
from daybook.io.writing import Commit, Fence, Staged, Target, no_fence

_PARTS = "parts"


class FileWriter:
    def check(self, target: Target) -> None:
        options_of(target.format, target.options, is_output=True)
        path = _path(target)
        if target.is_one_file:
            check_file(path, target)
        else:
            check_folder(path, target)

    def stage(self, df: DataFrame, target: Target) -> Staged:
        options = options_of(target.format, target.options, is_output=True)
        path = _path(target)
        path.parent.mkdir(parents=True, exist_ok=True)
        work = path.parent / f".{attempt_name(target)}"
        work.mkdir()
        seen = None if target.is_one_file else slice_state(path, target)
        watch = Watch(target.columns)
        parts = work / _PARTS
        with spark_writes(target):
            spark_write(watch.on(df), parts, target, options)
        try:
            _complete(parts, work / path.name, target, options)
        except OSError as failure:
            raise DaybookError("IO_026", location=target.place, reason=str(failure)) from failure
        return Staged(str(work), watch.rows, watch.fingerprint, seen=seen)

    def commit(self, staged: Staged, target: Target, fence: Fence = no_fence) -> Commit:
        path, work = _path(target), Path(staged.place)
        refusals: list[Exception] = []

        def guard() -> None:
            try:
                fence()
            except Exception as refusal:
                refusals.append(refusal)
                raise

        try:
            if target.is_one_file:
                commit = commit_file(work / path.name, path, staged, target, guard)
            else:
                commit = commit_folder(work / _PARTS, work, path, staged, target, guard)
        except OSError as failure:
            if failure in refusals:
                raise
            raise DaybookError("IO_026", location=target.place, reason=str(failure)) from failure
        remove_tree(work)
        return commit

    def committed(self, target: Target) -> Commit | None:
        path = _path(target)
        return committed_file(path, target) if target.is_one_file else committed_folder(path, target)

    def discard(self, target: Target) -> None:
        parent = _path(target).parent
        for work in parent.glob(f".{target.key}.*") if parent.is_dir() else ():
            remove_tree(work)


def _complete(parts: Path, file: Path, target: Target, options: dict[str, Any]) -> None:
    """What Spark's part files lack: being one file, or a header where there are no rows."""
    found = sorted(part for part in parts.iterdir() if not part.name.startswith(("_", ".")))
    if target.is_one_file:
        join_parts(found, file, target, options)
        remove_tree(parts)
    elif not found and target.format == "csv":
        (parts / "part-00000.csv").write_bytes(header_line(target.columns, options))


def _path(target: Target) -> Path:
    path = local_path(target.uri or "")
    if path is None:
        raise DaybookError("IO_025", location=target.place, format=target.format)
    return target.workspace / path
