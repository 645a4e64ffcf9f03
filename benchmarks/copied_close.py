"""A large close whose runs are those of a smaller one of the same shape, copied row by row under other numbers.

Recording 12,000 runs takes ten minutes, copying them one; what reads the close does the same work for both.
"""

import re
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

from daybook.model.serialization import decode_definition, encode_definition

# The names that `close_growth` gives to projects, sources, datasets and tables, and the ids of runs.
_NAMES = re.compile(r"\b(p\d{4}|[sdt]\d{1,3}|20\d{6}-\d{6}-[0-9a-f]{6})\b")
_TABLES = (
    *("definition", "definition_version", "project_input", "project_state", "column_use"),
    *("fence", "run", "run_snapshot", "run_operation", "output_commit", "slice"),
)
_STORE = ".daybook/store.db"
_DIGESTS = ("text_digest", "structure_digest")


def copy_close(small: Path, large: Path, projects: int, copies: int) -> None:
    """Fill the workspace `large`, whose definitions are written, with `copies` of the runs of `small`."""
    (large / _STORE).parent.mkdir(exist_ok=True)
    shutil.copy(small / _STORE, large / _STORE)
    for number in range(copies):
        _copy_files(small, large, _renaming(number, projects))
    store = sqlite3.connect(large / _STORE)
    try:
        store.execute("PRAGMA foreign_keys = off")
        store.execute("UPDATE workspace_root SET root = ?", (str(large.resolve()),))
        for table in _TABLES:
            _copy_rows(store, table, [_renaming(number, projects) for number in range(1, copies)])
        store.commit()
    finally:
        store.close()


def _renaming(number: int, projects: int) -> Callable[[str], str]:
    def rename(match: re.Match[str]) -> str:
        name = match[1]
        if name[0] == "p":
            return f"p{int(name[1:]) + number * projects:04}"
        if name[0] in "sdt":
            return f"{name[0]}{int(name[1:]) + number * projects}"
        return name if number == 0 else f"{name}{number:03x}"

    return lambda text: _NAMES.sub(rename, text)


def _copy_files(small: Path, large: Path, renamed: Callable[[str], str]) -> None:
    for folder in ("data", "lake"):
        for path in (small / folder).rglob("*"):
            target = large / renamed(str(path.relative_to(small)))
            if path.is_dir():
                target.mkdir(parents=True, exist_ok=True)
            else:
                target.parent.mkdir(parents=True, exist_ok=True)
                # With the time of the file, which runs have recorded.
                shutil.copy2(path, target)


def _copy_rows(store: sqlite3.Connection, table: str, renamings: list[Callable[[str], str]]) -> None:
    cursor = store.execute(f"SELECT * FROM {table}")
    columns = [column[0] for column in cursor.description]
    insert = f"INSERT OR IGNORE INTO {table} VALUES ({', '.join('?' * len(columns))})"
    for values in cursor.fetchall():
        for renamed in renamings:
            row = {
                column: renamed(value) if isinstance(value, str) else value
                for column, value in zip(columns, values, strict=True)
            }
            if "structure_digest" in row:
                _renew_digests(row, dict(zip(columns, values, strict=True)))
            store.execute(insert, tuple(row.values()))


def _renew_digests(row: dict[str, object], original: dict[str, object]) -> None:
    """Those that are of the text itself; a version that a run registered keeps that of its declaration."""
    before, after = (
        encode_definition(of["kind"], decode_definition(of["kind"], of["body"]))  # type: ignore[arg-type]
        for of in (original, row)
    )
    for name in _DIGESTS:
        if name in row and original[name] == getattr(before, name):
            row[name] = getattr(after, name)
