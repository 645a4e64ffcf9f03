"""One file at a path: staged beside it, made the target by a rename, remembered in a hidden note beside it."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from daybook.errors import DaybookError
from daybook.io.exchange import lock, take_name
from daybook.io.staging import flush
from daybook.io.writing import Commit, Fence, Staged, Target
from daybook.resolve.format_checks import mode_error

_REMEMBERED = 20


@dataclass(frozen=True, slots=True)
class Note:
    """A commit, told by the inode, size and time of the file it made; written before the rename, true after it."""

    run_id: str
    operation_seq: int
    rows: int
    inode: int
    size: int
    modified_ns: int


def _note_path(path: Path) -> Path:
    return path.with_name(f".{path.name}.daybook.json")


def _notes(path: Path) -> list[Note]:
    try:
        return [Note(**note) for note in json.loads(_note_path(path).read_text(encoding="utf-8"))]
    except FileNotFoundError:
        return []


def _current(path: Path) -> Note | None:
    """The commit that made the file as it is."""
    try:
        status = path.stat()
    except FileNotFoundError:
        return None
    identity = (status.st_ino, status.st_size, status.st_mtime_ns)
    found = [note for note in _notes(path) if (note.inode, note.size, note.modified_ns) == identity]
    return found[-1] if found else None


def check_file(path: Path, target: Target) -> None:
    if (error := mode_error(target.mode, target.place)) is not None:
        raise error
    if path.is_dir():
        raise DaybookError("IO_028", location=target.place, found="a folder", expected="a file")
    if target.mode == "error" and path.exists() and committed_file(path, target) is None:
        raise DaybookError("IO_020", location=target.place)


def committed_file(path: Path, target: Target) -> Commit | None:
    note = _current(path)
    if note is None or (note.run_id, note.operation_seq) != (target.run_id, target.operation_seq):
        return None
    return Commit(note.rows, is_repeat=True)


def commit_file(staged_file: Path, path: Path, staged: Staged, target: Target, fence: Fence) -> Commit:
    with lock(path.parent):
        if (done := committed_file(path, target)) is not None:
            return done
        check_file(path, target)
        _refuse_emptying(path, staged, target)
        flush(staged_file)
        _write_note(path, staged_file, staged, target)
        fence()
        if target.mode == "error":
            try:
                take_name(staged_file, path)
            except FileExistsError:
                raise DaybookError("IO_020", location=target.place) from None
        else:
            staged_file.replace(path)
        flush(path.parent)
    return Commit(staged.rows)


def _refuse_emptying(path: Path, staged: Staged, target: Target) -> None:
    """A file nobody knows is taken to hold rows when it has any content."""
    if staged.rows or target.allow_empty or not path.exists():
        return
    note = _current(path)
    rows = note.rows if note else min(path.stat().st_size, 1)
    if rows:
        raise DaybookError("IO_023", location=target.place, rows=rows, slice="")


def _write_note(path: Path, staged_file: Path, staged: Staged, target: Target) -> None:
    status = staged_file.stat()
    note = Note(target.run_id, target.operation_seq, staged.rows, status.st_ino, status.st_size, status.st_mtime_ns)
    notes = [*_notes(path), note][-_REMEMBERED:]
    fresh = staged_file.with_name("note.json")
    fresh.write_text(json.dumps([asdict(each) for each in notes]), encoding="utf-8")
    flush(fresh)
    fresh.replace(_note_path(path))
