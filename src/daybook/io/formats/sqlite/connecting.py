"""Opening SQLite databases."""

import sqlite3
from pathlib import Path
from urllib.parse import quote

from daybook.errors import DaybookError
from daybook.model.datasource import DataSource, SqliteSource

_BUSY_SECONDS = 60.0


def database_path(datasource: DataSource | None, workspace: Path) -> Path:
    if not isinstance(datasource, SqliteSource):
        raise ValueError("a SQLite table needs a data source of that type")
    return (workspace / datasource.options.path).absolute()


def open_for_reading(path: Path) -> sqlite3.Connection:
    if not path.is_file():
        raise DaybookError("IO_001", location=str(path))
    try:
        return sqlite3.connect(f"file:{quote(str(path))}?mode=ro", uri=True, timeout=_BUSY_SECONDS)
    except sqlite3.Error as failure:
        raise DaybookError("IO_012", location=str(path), reason=str(failure)) from failure


def open_for_writing(path: Path) -> sqlite3.Connection:
    """Transactions begin and end where the code says so."""
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        return sqlite3.connect(path, timeout=_BUSY_SECONDS, isolation_level=None)
    except sqlite3.Error as failure:
        raise DaybookError("IO_012", location=str(path), reason=str(failure)) from failure


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def columns_of(connection: sqlite3.Connection, table: str) -> dict[str, str] | None:
    """Columns with the types they were declared with; None when there is no such table."""
    found = connection.execute("select name, type from pragma_table_info(?)", (table,)).fetchall()
    return dict(found) if found else None
