"""One file at a path: staged beside it, made the target by a rename, remembered in a hidden note beside it.

How Spark writes the rows of a file output, and how its part files become one.

Writing Parquet, CSV and JSON at a path: staged beside the target, then one rename.
"""

import csv
import io
import json
import re
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, assert_never

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from daybook.errors import DaybookError
from daybook.expression import quote_identifier
from daybook.io.bindings import checked_options
from daybook.io.column_types import arrow_type
from daybook.io.filesystem import local_path
from daybook.io.fingerprint import FingerprintObserver
from daybook.io.formats.files.atomic_rename import lock_folder, rename_if_free
from daybook.io.formats.files.folder import check_folder, commit_folder, committed_folder, slice_state
from daybook.io.target import FileTarget, OutputColumn
from daybook.io.writer import Commit, Fence, StagedOutput, no_fence, remove_tree, sync_to_disk, translate_spark_failures
from daybook.model.types import (
    BooleanType,
    DateType,
    DecimalType,
    FloatType,
    IntegerType,
    NullType,
    StringType,
    TimestampType,
)
from daybook.resolve.checks import one_file_mode_error

_MAX_NOTES = 20


@dataclass(frozen=True, slots=True)
class CommitNote:
    """A commit, told by the inode, size and time of the file it made; written before the rename, true after it."""

    run_id: str
    operation_seq: int
    rows: int
    inode: int
    size: int
    modified_ns: int


def _note_path(path: Path) -> Path:
    return path.with_name(f".{path.name}.daybook.json")


def _read_notes(path: Path) -> list[CommitNote]:
    try:
        return [CommitNote(**note) for note in json.loads(_note_path(path).read_text(encoding="utf-8"))]
    except FileNotFoundError:
        return []


def _current_note(path: Path) -> CommitNote | None:
    """The commit that made the file as it is."""
    try:
        status = path.stat()
    except FileNotFoundError:
        return None
    identity = (status.st_ino, status.st_size, status.st_mtime_ns)
    found = [note for note in _read_notes(path) if (note.inode, note.size, note.modified_ns) == identity]
    return found[-1] if found else None


def check_file(path: Path, target: FileTarget) -> None:
    if (error := one_file_mode_error(target.mode, target.label)) is not None:
        raise error
    if path.is_dir():
        raise DaybookError("IO_028", location=target.label, found="a folder", expected="a file")
    if target.mode == "error" and path.exists() and committed_file(path, target) is None:
        raise DaybookError("IO_020", location=target.label)


def committed_file(path: Path, target: FileTarget) -> Commit | None:
    note = _current_note(path)
    if note is None or (note.run_id, note.operation_seq) != (target.run_id, target.operation_seq):
        return None
    return Commit(note.rows, is_repeat=True)


def commit_file(staged_file: Path, path: Path, staged: StagedOutput, target: FileTarget, fence: Fence) -> Commit:
    with lock_folder(path.parent):
        if (done := committed_file(path, target)) is not None:
            return done
        check_file(path, target)
        _refuse_emptying_file(path, staged, target)
        sync_to_disk(staged_file)
        _write_note(path, staged_file, staged, target)
        fence()
        if target.mode == "error":
            try:
                rename_if_free(staged_file, path)
            except FileExistsError:
                raise DaybookError("IO_020", location=target.label) from None
        else:
            staged_file.replace(path)
        sync_to_disk(path.parent)
    return Commit(staged.rows)


def _refuse_emptying_file(path: Path, staged: StagedOutput, target: FileTarget) -> None:
    """A file nobody knows is taken to hold rows when it has any content."""
    if staged.rows or target.allow_empty or not path.exists():
        return
    note = _current_note(path)
    rows = note.rows if note else min(path.stat().st_size, 1)
    if rows:
        raise DaybookError("IO_023", location=target.label, rows=rows, slice="")


def _write_note(path: Path, staged_file: Path, staged: StagedOutput, target: FileTarget) -> None:
    status = staged_file.stat()
    note = CommitNote(
        target.run_id, target.operation_seq, staged.rows, status.st_ino, status.st_size, status.st_mtime_ns
    )
    notes = [*_read_notes(path), note][-_MAX_NOTES:]
    fresh = staged_file.with_name("note.json")
    fresh.write_text(json.dumps([asdict(each) for each in notes]), encoding="utf-8")
    sync_to_disk(fresh)
    fresh.replace(_note_path(path))


# A spreadsheet takes text that begins with one of these for a formula.
_FORMULA_START = r"^[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]"
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def write_part_files(df: DataFrame, place: Path, target: FileTarget, options: Mapping[str, Any]) -> None:
    """Part files below `place`; those of a one-file CSV without header."""
    match target.format:
        case "parquet":
            df.write.mode("error").parquet(str(place))
        case "csv":
            texts = df.select(*(_csv_text(c, options).alias(_header_text(c, options)) for c in target.columns))
            texts.write.mode("error").csv(
                str(place),
                header=not (target.is_one_file or options["bom"]),
                sep=options["delimiter"],
                quote=options["quote"],
                escape=options["quote"],
                nullValue="",
                emptyValue=options["quote"] * 2,
                ignoreLeadingWhiteSpace=False,
                ignoreTrailingWhiteSpace=False,
                lineSep="\n",
            )
        case "json":
            texts = df.select(*(_json_value(c).alias(c.name) for c in target.columns))
            texts.write.mode("error").json(str(place), ignoreNullFields=False, lineSep="\n")
        case _:
            raise ValueError(f"{target.format} is not a file format")


def _column_value(column: OutputColumn) -> Column:
    return F.col(quote_identifier(column.name))


def _timestamp_text(value: Column) -> Column:
    return F.concat(F.replace(value.cast("string"), F.lit(" "), F.lit("T")), F.lit("Z"))


def _csv_text(column: OutputColumn, options: Mapping[str, Any]) -> Column:
    value = _column_value(column)
    match column.type:
        case StringType():
            if not options["spreadsheet_safe"]:
                return value
            return F.when(value.rlike(_FORMULA_START), F.concat(F.lit("'"), value)).otherwise(value)
        case TimestampType():
            return _timestamp_text(value)
        case DecimalType() | FloatType():
            text = value.cast("string")
            return F.replace(text, F.lit("."), F.lit(",")) if options["decimal"] == "," else text
        case IntegerType() | BooleanType() | DateType() | NullType():
            return value.cast("string")
        case _:
            assert_never(column.type)


def _header_text(column: OutputColumn, options: Mapping[str, Any]) -> str:
    is_formula = options["spreadsheet_safe"] and re.match(_FORMULA_START, column.name)
    return f"'{column.name}" if is_formula else column.name


def _json_value(column: OutputColumn) -> Column:
    value = _column_value(column)
    match column.type:
        case TimestampType():
            return _timestamp_text(value)
        case DateType() | NullType():
            return value.cast("string")
        case StringType() | IntegerType() | DecimalType() | FloatType() | BooleanType():
            return value
        case _:
            assert_never(column.type)


def csv_header(columns: Iterable[OutputColumn], options: Mapping[str, Any]) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text, delimiter=options["delimiter"], quotechar=options["quote"], lineterminator="\n")
    writer.writerow([_header_text(column, options) for column in columns])
    return (_BYTE_ORDER_MARK if options["bom"] else b"") + text.getvalue().encode()


def join_parts(parts: Iterable[Path], file: Path, target: FileTarget, options: Mapping[str, Any]) -> None:
    """One file from part files, in their order, which is the order of the rows."""
    if target.format == "parquet":
        schema = pa.schema([(column.name, arrow_type(column.type)) for column in target.columns])
        with pq.ParquetWriter(file, schema) as writer:
            for part in parts:
                for batch in pq.ParquetFile(part).iter_batches():
                    writer.write_batch(batch.cast(schema))
        return
    with file.open("wb") as stream:
        if target.format == "csv":
            stream.write(csv_header(target.columns, options))
        for part in parts:
            with part.open("rb") as source:
                shutil.copyfileobj(source, stream, 1 << 20)


_PARTS = "parts"


class FileWriter:
    """Files as Spark writes them; a format that Spark does not know replaces `write_parts` and `complete_parts`."""

    def write_parts(self, df: DataFrame, place: Path, target: FileTarget, options: Mapping[str, Any]) -> None:
        write_part_files(df, place, target, options)

    def complete_parts(self, parts: Path, file: Path, target: FileTarget, options: Mapping[str, Any]) -> None:
        """What Spark's part files lack: being one file, or a header where there are no rows."""
        _complete_parts(parts, file, target, options)

    def check(self, target: FileTarget) -> None:
        checked_options(target.format, target.options, is_output=True)
        path = _target_path(target)
        if target.is_one_file:
            check_file(path, target)
        else:
            check_folder(path, target)

    def stage(self, df: DataFrame, target: FileTarget) -> StagedOutput:
        options = checked_options(target.format, target.options, is_output=True)
        path = _target_path(target)
        path.parent.mkdir(parents=True, exist_ok=True)
        work = path.parent / f".{target.new_attempt_name()}"
        work.mkdir()
        seen = None if target.is_one_file else slice_state(path, target)
        watch = FingerprintObserver(target.columns)
        parts = work / _PARTS
        with translate_spark_failures(target):
            self.write_parts(watch.on(df), parts, target, options)
        try:
            self.complete_parts(parts, work / path.name, target, options)
        except OSError as failure:
            raise DaybookError("IO_026", location=target.label, reason=str(failure)) from failure
        return StagedOutput(str(work), watch.rows, watch.fingerprint, seen=seen)

    def commit(self, staged: StagedOutput, target: FileTarget, fence: Fence = no_fence) -> Commit:
        path, work = _target_path(target), Path(staged.staging)
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
            raise DaybookError("IO_026", location=target.label, reason=str(failure)) from failure
        remove_tree(work)
        return commit

    def committed(self, target: FileTarget) -> Commit | None:
        path = _target_path(target)
        return committed_file(path, target) if target.is_one_file else committed_folder(path, target)

    def discard(self, target: FileTarget) -> None:
        parent = _target_path(target).parent
        for work in parent.glob(f".{target.staging_key}.*") if parent.is_dir() else ():
            remove_tree(work)


def _complete_parts(parts: Path, file: Path, target: FileTarget, options: Mapping[str, Any]) -> None:
    found = sorted(part for part in parts.iterdir() if not part.name.startswith(("_", ".")))
    if target.is_one_file:
        join_parts(found, file, target, options)
        remove_tree(parts)
    elif target.format == "csv" and (options["bom"] or not found):
        for part in found:
            _prepend(csv_header(target.columns, options), part)
        if not found:
            (parts / "part-00000.csv").write_bytes(csv_header(target.columns, options))


def _prepend(content: bytes, file: Path) -> None:
    """Put the content before that of the file, which Spark alone cannot: it would quote a byte order mark."""
    whole = file.with_name(f".{file.name}.whole")
    with whole.open("wb") as stream, file.open("rb") as source:
        stream.write(content)
        shutil.copyfileobj(source, stream, 1 << 20)
    whole.replace(file)


def _target_path(target: FileTarget) -> Path:
    path = local_path(target.uri)
    if path is None:
        raise DaybookError("IO_025", location=target.label, format=target.format)
    return target.workspace / path
