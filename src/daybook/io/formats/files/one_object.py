"""One file on an object store: staged beside the target, committed by one copy inside the store.

Such a copy becomes visible as a whole, so readers find the old file or the new one. The size and the digest of the new
content are noted in a hidden object before the copy: if the answer to the copy is lost, they show whether it was made.
"""

import json
import shutil
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from pyarrow import fs

from daybook.errors import DaybookError
from daybook.io.filesystem import (
    arrow_path,
    content_digest,
    join_uri,
    list_files,
    list_folder,
    remove_folder,
    translate_read_errors,
)
from daybook.io.target import FileTarget, parse_staged_name
from daybook.io.writer import Commit, Fence, StagedOutput
from daybook.resolve.definition_checks import one_file_mode_error

_BLOCK_BYTES = 1 << 20
_MAX_NOTES = 20


@dataclass(frozen=True, slots=True)
class ObjectNote:
    """A commit, identified by the content of the target after it."""

    run_id: str
    operation_seq: int
    rows: int
    size: int
    digest: str


def check_object(target: FileTarget) -> None:
    if (error := one_file_mode_error(target.mode, target.label)) is not None:
        raise error
    if target.mode == "error":
        reason = "a store may replace an object that another writer has just put there"
        hint = "use mode replace, or write a table of type delta"
        raise DaybookError("IO_032", location=target.label, mode=target.mode, reason=reason, hint=hint)


def staging_folder(target: FileTarget) -> str:
    """A new hidden folder beside the target."""
    return join_uri(_parent(target), f".{target.new_attempt_name()}")


def fetch_parts(folder: str, to: Path, target: FileTarget) -> None:
    """The part files of a folder, as files of this machine."""
    to.mkdir()
    for file in list_files(folder, storage=target.storage):
        at = arrow_path(file.path, target.storage)
        part = to / file.path.rpartition("/")[2]
        with at.system.open_input_stream(at.path, compression=None) as source, part.open("wb") as stream:
            shutil.copyfileobj(source, stream, _BLOCK_BYTES)


def put_file(file: Path, uri: str, target: FileTarget) -> None:
    at = arrow_path(uri, target.storage)
    with file.open("rb") as source, at.system.open_output_stream(at.path, compression=None) as stream:
        shutil.copyfileobj(source, stream, _BLOCK_BYTES)


def committed_object(target: FileTarget) -> Commit | None:
    note = _current_note(target)
    if note is None or (note.run_id, note.operation_seq) != (target.run_id, target.operation_seq):
        return None
    return Commit(note.rows, is_repeat=True)


def commit_object(staged: StagedOutput, target: FileTarget, fence: Fence) -> Commit:
    staged_file = join_uri(staged.staging, target.uri.rpartition("/")[2])
    with translate_read_errors(target.label):
        if (repeat := committed_object(target)) is not None:
            return repeat
        check_object(target)
        _refuse_emptying(staged, target)
        _write_note(staged_file, staged, target)
    fence(())
    source, at = arrow_path(staged_file, target.storage), arrow_path(target.uri, target.storage)
    try:
        at.system.copy_file(source.path, at.path)
    except OSError as failure:
        with translate_read_errors(target.label):
            if committed_object(target) is None:
                raise DaybookError("IO_026", location=target.label, reason=str(failure)) from failure
    return Commit(staged.rows)


def discard_objects(target: FileTarget) -> None:
    """Remove the files that this run and operation staged for the target."""
    for folder in _staged_folders(target):
        remove_folder(folder, target.storage)


def _staged_folders(target: FileTarget) -> Iterator[str]:
    parent = _parent(target)
    for item in list_folder(parent, target.storage):
        if item.base_name.startswith(".") and parse_staged_name(item.base_name) == (
            target.run_id,
            target.operation_seq,
        ):
            yield join_uri(parent, item.base_name)


def _parent(target: FileTarget) -> str:
    return target.uri.rpartition("/")[0]


def _note_uri(target: FileTarget) -> str:
    folder, _, name = target.uri.rpartition("/")
    return f"{folder}/.{name}.daybook.json"


def _read_notes(target: FileTarget) -> list[ObjectNote]:
    at = arrow_path(_note_uri(target), target.storage)
    try:
        with at.system.open_input_stream(at.path) as stream:
            text = stream.read()
        return [ObjectNote(**note) for note in json.loads(text)]
    except FileNotFoundError:
        return []
    except (ValueError, TypeError) as damage:
        raise DaybookError("IO_040", file=_note_uri(target)) from damage


def _size(target: FileTarget) -> int | None:
    at = arrow_path(target.uri, target.storage)
    info = at.system.get_file_info(at.path)
    if info.type == fs.FileType.Directory:
        raise DaybookError("IO_028", location=target.label, found="a folder", expected="a file")
    return int(info.size) if info.type == fs.FileType.File else None


def _current_note(target: FileTarget) -> ObjectNote | None:
    """The commit that wrote the present content of the file."""
    size = _size(target)
    notes = [note for note in _read_notes(target) if note.size == size] if size is not None else []
    if not notes:
        return None
    digest = content_digest(target.uri, target.storage)
    return next((note for note in reversed(notes) if note.digest == digest), None)


def _refuse_emptying(staged: StagedOutput, target: FileTarget) -> None:
    """A file without a note is assumed to have rows if it is not empty."""
    if staged.rows or target.allow_empty or (size := _size(target)) is None:
        return
    note = _current_note(target)
    if rows := note.rows if note else min(size, 1):
        raise DaybookError("IO_023", location=target.label, rows=rows, slice="")


def _write_note(staged_file: str, staged: StagedOutput, target: FileTarget) -> None:
    (stat,) = list_files(staged_file, storage=target.storage)
    digest = content_digest(staged_file, target.storage)
    note = ObjectNote(target.run_id, target.operation_seq, staged.rows, stat.size, digest)
    notes = [*_read_notes(target), note][-_MAX_NOTES:]
    at = arrow_path(_note_uri(target), target.storage)
    with at.system.open_output_stream(at.path) as stream:
        stream.write(json.dumps([asdict(written) for written in notes]).encode())
