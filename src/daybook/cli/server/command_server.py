"""The command server of a warm engine: a process that has imported Daybook and becomes each command by a fork.

Started by the engine's keeper as `python -m daybook.cli.server.command_server FOLDER`, with a pipe as standard input
that breaks when the keeper ends. It listens at a socket in the engine's folder, for processes of the same user. For
every connection it forks; the new process reads the request of `daybook.cli.server.handover`, says why it does not fit,
or becomes the command: same arguments, streams, folder, environment and signals. It only imports before it forks: a
connection or a thread would not survive that. While there is no command, it forks processes that warm up the engine.
"""

import atexit
import contextlib
import gc
import importlib
import io
import os
import resource
import select
import signal
import socket
import sys
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn, TextIO

from daybook.cli.server import handover as client
from daybook.cli.server.warm_up import WarmUp
from daybook.expression.parser import parse_expression

_REQUEST_SECONDS = 5.0
_CREDENTIALS_BYTES = 12

# Read when a process starts or when a module is imported, so that changing them in a process comes too late.
_EARLY_PREFIXES = (
    *("PYTHON", "LD_", "LC_", "MALLOC_", "GLIBC_", "OMP_", "OPENBLAS_", "MKL_", "ARROW_", "GRPC_", "RUST_"),
    *("SPARK_", "PYSPARK_", "TYPER_", "_TYPER_", "PYDANTIC_", "SQLALCHEMY_"),
)
_EARLY_VARIABLES = frozenset({"LANG", "LANGUAGE", "TZ", "HOME", "TERMINAL_WIDTH"})
# Set by a command for itself.
_OWN_VARIABLES = frozenset({"PYSPARK_PYTHON", "SPARK_CONNECT_MODE_ENABLED", "PYDANTIC_DISABLE_PLUGINS"})
_NAMESPACES = ("mnt", "net", "pid", "user", "uts", "ipc")
_STATUS_LINES = ("Uid", "Gid", "Groups", "CapEff", "NoNewPrivs", "Seccomp")
# The memory allocators of Arrow and Delta have a thread each, which they start again after a fork.
_HARMLESS_THREADS = frozenset({"jemalloc_bg_thd"})

# What commands import when they are executed, from other packages and of Daybook. Databases are left to those who use
# them: the driver of PostgreSQL starts a thread.
_IMPORTED_EARLY = (
    *("pyarrow.csv", "pyarrow.compute", "pyarrow.parquet", "deltalake", "sqlalchemy.dialects.sqlite"),
    *("grpc", "grpc._auth", "grpc._channel", "grpc._plugin_wrapping"),
    *("pyspark.sql.connect.session", "pyspark.sql.connect.functions", "pyspark.sql.connect.observation"),
    *("rich.progress", "rich.table", "rich.live", "encodings.idna", "encodings.utf_8_sig"),
)
_IMPORTED_PACKAGES = (
    *("cli", "cli/server", "workspace", "runs", "engine", "graph", "store", "io"),
    *("io/formats/csv", "io/formats/delta", "io/formats/files", "io/formats/json", "io/formats/parquet"),
    *("engine/operations", "engine/java", "runs/explain"),
)
# Programs of their own.
_NOT_IMPORTED = frozenset({"__init__", "command_server", "warm_keeper", "build_archive"})


@dataclass(frozen=True, slots=True)
class CommandRequest:
    """A command line and where it was given."""

    python: str
    package: str
    umask: int
    ignored_signals: frozenset[int]
    words: tuple[str, ...]
    environment: Mapping[bytes, bytes]


@dataclass(frozen=True, slots=True)
class CommandStreams:
    """The numbers of a command's standard streams and of its folder."""

    standard: tuple[int, ...]
    folder: int


@dataclass(frozen=True, slots=True)
class ServerIdentity:
    """What a command must have in common with the server that executes it."""

    python: str
    package: str
    files: Mapping[str, tuple[int, int]]
    environment: Mapping[bytes, bytes]

    def find_difference(self, request: CommandRequest) -> str | None:
        """What a command has else, apart from Daybook's files."""
        if request.python != self.python:
            return "it has another Python"
        if request.package != self.package:
            return f"it has the Daybook in {self.package}"
        return find_environment_difference(self.environment, request.environment)


def main(folder: str) -> int:
    environment = dict(os.environb)
    identity = ServerIdentity(client.python_identity(), client.package_folder(), installed_files(), environment)
    import_early()
    if foreign := thread_names() - _HARMLESS_THREADS:
        sys.stderr.write(f"no command server: imports have started the threads {', '.join(sorted(foreign))}\n")
        return 1
    os.chdir(folder)
    os.umask(0o077)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    server = _Server(sys.stdin.fileno(), identity)
    connection = server.serve()
    if connection is not None:
        _answer(connection, identity, is_outdated=server.is_outdated)
    return 0


def import_early() -> None:
    """Import what commands need, and leave it out of later collections, which would copy memory that is shared."""
    # Threads of an unused linear algebra library would not survive a fork.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    for name in _IMPORTED_EARLY:
        importlib.import_module(name)
    for package in _IMPORTED_PACKAGES:
        for path in sorted(Path(client.package_folder(), package).glob("*.py")):
            if path.stem not in _NOT_IMPORTED:
                importlib.import_module(f"daybook.{package.replace('/', '.')}.{path.stem}")
    # The parser and the tree of commands are made when they are first used.
    parse_expression("a + 1")
    importlib.import_module("daybook.cli.app").command_tree()
    gc.collect()
    gc.freeze()


def thread_names() -> set[str]:
    """The names of this process's threads, apart from the first one."""
    tasks = Path("/proc/self/task")
    return {(task / "comm").read_text().strip() for task in tasks.iterdir() if task.name != str(os.getpid())}


def installed_files() -> dict[str, tuple[int, int]]:
    """When Daybook's files, and the folders with other packages, were last changed."""
    packages = (Path(path) for path in sys.path if path.endswith("-packages"))
    stamps = {str(path): _stamp(path.stat()) for path in packages if path.is_dir()}
    folders = [client.package_folder()]
    while folders:
        with os.scandir(folders.pop()) as entries:
            for entry in entries:
                if entry.name.endswith(".py"):
                    stamps[entry.path] = _stamp(entry.stat())
                elif entry.name != "__pycache__" and entry.is_dir():
                    folders.append(entry.path)
    return stamps


def _stamp(status: os.stat_result) -> tuple[int, int]:
    return status.st_mtime_ns, status.st_size


@dataclass(slots=True)
class _Command:
    """A command that runs; `process` is the number by which its end is seen."""

    pid: int
    process: int
    connection: socket.socket


class _Server:
    """Accepts connections, forks, and reports to clients the signal that ended their command."""

    def __init__(self, keeper: int, identity: ServerIdentity) -> None:
        self._keeper = keeper
        self._identity = identity
        self.is_outdated = False
        self._poll = select.poll()
        self._commands: dict[int, _Command] = {}
        self._warm_up = WarmUp()
        self._listener: socket.socket | None = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        Path(client.SOCKET_NAME).unlink(missing_ok=True)
        self._listener.bind(client.SOCKET_NAME)
        self._listener.listen(64)
        self._listener.setblocking(False)
        self._poll.register(self._listener, select.POLLIN)
        self._poll.register(keeper, select.POLLIN)

    def serve(self) -> socket.socket | None:
        """The connection of a new process that has to answer it; None in the server itself, at its end."""
        while self._listener is not None or self._commands:
            for number, _ in self._poll.poll(self._warm_up.patience()):
                if self._listener is not None and number == self._listener.fileno():
                    if (connection := self._accept()) is not None:
                        return connection
                elif number == self._keeper:
                    self._poll.unregister(self._keeper)
                    self._stop_listening()
                elif number == self._warm_up.number:
                    self._poll.unregister(number)
                    self._warm_up.notice_end()
                elif (command := self._commands.get(number)) is not None:
                    self._notice(command, number)
            self._look_after_warm_up()
        self._warm_up.kill()
        return None

    def _look_after_warm_up(self) -> None:
        if self._listener is None or self._commands:
            return
        before = self._warm_up.number
        self._warm_up.look(self._forget)
        if before is None and (number := self._warm_up.number) is not None:
            self._poll.register(number, select.POLLIN)

    def _accept(self) -> socket.socket | None:
        assert self._listener is not None
        try:
            connection, _ = self._listener.accept()
        except OSError:
            return None
        self._warm_up.end()
        if _peer(connection)[1] != os.geteuid():
            connection.close()
            return None
        self.is_outdated = self._identity.files != installed_files()
        pid = os.fork()
        if pid == 0:
            self._forget()
            return connection
        if self.is_outdated:
            self._stop_listening()
        process = os.pidfd_open(pid)
        command = _Command(pid, process, connection)
        self._commands[process] = self._commands[connection.fileno()] = command
        self._poll.register(process, select.POLLIN)
        # Not for what the client sends, which the new process reads, but for its end.
        self._poll.register(connection, 0)
        return None

    def _notice(self, command: _Command, number: int) -> None:
        if number == command.process:
            _, status = os.waitpid(command.pid, 0)
            code = os.waitstatus_to_exitcode(status)
            with contextlib.suppress(OSError):
                kind, value = (client.KILLED, -code) if code < 0 else (client.EXITED, code)
                command.connection.send(kind + bytes([value]), socket.MSG_DONTWAIT)
            self._drop(command)
        else:
            # The client is gone, or the command has ended and is noticed next.
            self._poll.unregister(command.connection)
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(command.process, signal.SIGKILL)

    def _drop(self, command: _Command) -> None:
        for number in (command.process, command.connection.fileno()):
            self._commands.pop(number)
            with contextlib.suppress(KeyError):
                self._poll.unregister(number)
        os.close(command.process)
        command.connection.close()

    def _stop_listening(self) -> None:
        self._warm_up.close()
        if self._listener is not None:
            Path(client.SOCKET_NAME).unlink(missing_ok=True)
            self._poll.unregister(self._listener)
            self._listener.close()
            self._listener = None

    def _forget(self) -> None:
        """In a new process: let go of what belongs to the server and to other commands."""
        self._warm_up.forget()
        if self._listener is not None:
            self._listener.close()
        for number, command in self._commands.items():
            if number == command.process:
                os.close(number)
                command.connection.close()


def _peer(connection: socket.socket) -> tuple[int, int]:
    """The process and the user at the other end, as the system knows them."""
    credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS_BYTES)
    return int.from_bytes(credentials[:4], sys.byteorder), int.from_bytes(credentials[4:8], sys.byteorder)


def _answer(connection: socket.socket, identity: ServerIdentity, *, is_outdated: bool) -> NoReturn:
    """Refuse the command, or become it; this process ends here."""
    code = 0
    try:
        connection.settimeout(_REQUEST_SECONDS)
        request = _read_request(connection)
        reason = identity.find_difference(request) or find_process_difference(_peer(connection)[0])
        if is_outdated:
            reason = "Daybook's files have changed since it was started"
        if reason is None:
            os.utime("users")
            socket.send_fds(connection, [client.ACCEPTED], [os.pidfd_open(os.getpid())])
            _become(request, _receive_streams(connection))
            connection.send(client.READY)
            if connection.recv(1) == client.BEGIN:
                connection.settimeout(None)
                code = _execute()
                connection.send(client.EXITED + bytes([code]))
        else:
            connection.send(client.REFUSED + reason.encode() + b"\n")
    except OSError:
        # The client has given up, or is gone; it executes the command itself.
        pass
    finally:
        os._exit(code)


def _read_request(connection: socket.socket) -> CommandRequest:
    length = int.from_bytes(_receive(connection, 4), "big")
    fields = _receive(connection, length).split(b"\0")
    protocol, python, package, umask, ignored, count = map(os.fsdecode, fields[:6])
    if protocol != client.PROTOCOL:
        raise ConnectionError("a client of another version")
    end = 6 + int(count)
    return CommandRequest(
        python,
        package,
        int(umask),
        frozenset(int(number) for number in ignored.split(",") if number),
        tuple(os.fsdecode(word) for word in fields[6:end]),
        dict(variable.split(b"=", 1) for variable in fields[end:]),
    )


def _receive(connection: socket.socket, length: int) -> bytes:
    body = bytearray()
    while len(body) < length:
        if not (piece := connection.recv(length - len(body))):
            raise ConnectionError("the client has disconnected")
        body += piece
    return bytes(body)


def _receive_streams(connection: socket.socket) -> CommandStreams:
    word, numbers, _, _ = socket.recv_fds(connection, 1, 4)
    if word != client.STREAMS or len(numbers) != 4:
        raise ConnectionError("the client has disconnected")
    return CommandStreams(tuple(numbers[:3]), numbers[3])


def find_environment_difference(ours: Mapping[bytes, bytes], theirs: Mapping[bytes, bytes]) -> str | None:
    """The first variable that is read while Daybook is imported and is not the same for both."""
    for name in sorted({*ours, *theirs}):
        if ours.get(name) != theirs.get(name) and _is_read_early(os.fsdecode(name)):
            return f"the variable {os.fsdecode(name)} differs"
    return None


def _is_read_early(name: str) -> bool:
    return name not in _OWN_VARIABLES and (name in _EARLY_VARIABLES or name.startswith(_EARLY_PREFIXES))


def find_process_difference(pid: int) -> str | None:
    """What the system grants another process and not this one, or the other way round."""
    if os.getpriority(os.PRIO_PROCESS, pid) != os.getpriority(os.PRIO_PROCESS, 0):
        return "the priority differs"
    if os.sched_getaffinity(pid) != os.sched_getaffinity(0):
        return "the cores differ"
    limits = (getattr(resource, name) for name in dir(resource) if name.startswith("RLIMIT_"))
    if any(resource.prlimit(pid, limit) != resource.getrlimit(limit) for limit in limits):
        return "the limits of the system differ"
    if _rights(pid) != _rights(os.getpid()):
        return "the permissions of the process differ"
    return None


def _rights(pid: int) -> list[str]:
    folder = f"/proc/{pid}"
    status = Path(folder, "status").read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    links = (f"{folder}/root", *(f"{folder}/ns/{name}" for name in _NAMESPACES))
    return [*(line for line in status if line.partition(":")[0] in _STATUS_LINES), *map(os.readlink, links)]


def _become(request: CommandRequest, streams: CommandStreams) -> None:
    """Take over everything by which commands differ from each other."""
    os.setsid()
    sys.stdout.flush()
    sys.stderr.flush()
    for number, stream in enumerate(streams.standard):
        os.dup2(stream, number)
        os.close(stream)
    os.fchdir(streams.folder)
    os.close(streams.folder)
    os.umask(request.umask)
    os.environb.clear()
    os.environb.update(request.environment)
    sys.argv = list(request.words)
    sys.stdin = _open_stream(0, sys.stdin)
    sys.stdout = _open_stream(1, sys.stdout)
    sys.stderr = _open_stream(2, sys.stderr)
    for number in range(1, signal.NSIG):
        if number in request.ignored_signals:
            with contextlib.suppress(OSError, ValueError):
                signal.signal(number, signal.SIG_IGN)
    if signal.SIGINT not in request.ignored_signals:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _open_stream(number: int, before: TextIO) -> TextIO:
    """A stream as Python opens it when it starts."""
    file = open(number, "wb" if number else "rb", closefd=False)  # noqa: SIM115
    return io.TextIOWrapper(
        file,
        encoding=before.encoding,
        errors=before.errors,
        newline="\n",
        line_buffering=number == 2 or file.isatty(),
        write_through=bool(getattr(before, "write_through", False)),
    )


def _execute() -> int:
    """The exit code of the command, after all that Python does at its end but taking itself apart."""
    from daybook.cli.app import main as execute

    try:
        code = execute()
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        sys.excepthook(*sys.exc_info())
        code = 1
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    return code & 0xFF


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
