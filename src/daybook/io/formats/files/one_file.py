"""One file at a path: staged beside the target, committed by an atomic rename, recorded in a hidden file."""

import contextlib
import ctypes
import errno
import fcntl
import json
import os
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from daybook.errors import DaybookError
from daybook.io.formats.files.manifest import translate_damage
from daybook.io.target import FileTarget
from daybook.io.writer import Commit, Fence, StagedOutput, sync_to_disk
from daybook.resolve.definition_checks import one_file_mode_error

_AT_FDCWD = -100
_NOREPLACE = 1
_EXCHANGE = 2
_DARWIN_SWAP = 2
_DARWIN_EXCL = 4
_UNSUPPORTED_ERRNOS = (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP)


class ExchangeUnsupportedError(OSError):
    """The file system cannot exchange two names."""


def _rename_with_flag(first: Path, second: Path, linux_flag: int, darwin_flag: int) -> None:
    library = ctypes.CDLL(None, use_errno=True)
    first_path, second_path = os.fsencode(first), os.fsencode(second)
    if sys.platform == "darwin":
        result = library.renamex_np(first_path, second_path, darwin_flag)
    elif hasattr(library, "renameat2"):
        result = library.renameat2(_AT_FDCWD, first_path, _AT_FDCWD, second_path, linux_flag)
    else:
        raise ExchangeUnsupportedError(errno.ENOSYS, "renameat2 is missing")
    if result != 0:
        number = ctypes.get_errno()
        if number in _UNSUPPORTED_ERRNOS:
            raise ExchangeUnsupportedError(number, os.strerror(number))
        raise OSError(number, os.strerror(number), str(first), None, str(second))


def exchange_names(first: Path, second: Path) -> None:
    """Exchanges two names atomically; both names exist at all times."""
    _rename_with_flag(first, second, _EXCHANGE, _DARWIN_SWAP)


def rename_if_free(staged: Path, name: Path) -> None:
    """Rename to a name that is free; FileExistsError when it is not."""
    try:
        _rename_with_flag(staged, name, _NOREPLACE, _DARWIN_EXCL)
    except ExchangeUnsupportedError:
        if name.exists():
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(name)) from None
        staged.rename(name)


@contextlib.contextmanager
def lock_folder(folder: Path) -> Iterator[None]:
    """One writer at a time among those that commit into the same folder; a lock ends with its process."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


_MAX_NOTES = 20


@dataclass(frozen=True, slots=True)
class CommitNote:
    """A commit, identified by inode, size and time of its file; written before the rename, valid after it."""

    run_id: str
    operation_seq: int
    rows: int
    inode: int
    size: int
    modified_ns: int


def _note_path(path: Path) -> Path:
    return path.with_name(f".{path.name}.daybook.json")


def has_notes(path: Path) -> bool:
    """Whether commits into a file were noted."""
    return _note_path(path).is_file()


def _read_notes(path: Path) -> list[CommitNote]:
    try:
        with translate_damage(_note_path(path)):
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
    matching_notes = [note for note in _read_notes(path) if (note.inode, note.size, note.modified_ns) == identity]
    return matching_notes[-1] if matching_notes else None


def run_that_wrote_file(path: Path) -> str | None:
    """The run that made the file as it is; None where nobody noted it or somebody changed it since.

    Copies count as the same file, so unlike for a commit the inode says nothing.
    """
    try:
        status = path.stat()
    except FileNotFoundError:
        return None
    notes = [
        note for note in _read_notes(path) if (note.size, note.modified_ns) == (status.st_size, status.st_mtime_ns)
    ]
    return notes[-1].run_id if notes else None


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
        fence(())
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
    """A file without a record is assumed to have rows if it is not empty."""
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
    fresh.write_text(json.dumps([asdict(written_note) for written_note in notes]), encoding="utf-8")
    sync_to_disk(fresh)
    fresh.replace(_note_path(path))
