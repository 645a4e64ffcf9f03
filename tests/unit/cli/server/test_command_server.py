"""Commands that the server of a warm engine executes behave as if their own process did."""

import contextlib
import fcntl
import os
import pty
import resource
import signal
import socket
import struct
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

import daybook.__main__
import daybook.cli.app
from daybook.cli.server.command_server import find_environment_difference
from daybook.cli.server.handover import SOCKET_NAME, engines_folder
from daybook.engine.java.launch import cache_folder

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the command server is for Linux")

# A server whose commands are programs in Python, so that they can say what they see.
_PROGRAMS = """
import sys
import daybook.cli.app
from daybook.cli.server import command_server

daybook.cli.app.main = lambda: exec(sys.argv[1], {}) or 0
command_server.import_early = lambda: None
command_server.installed_files = lambda: open(sys.argv[1] + "/version").read()
sys.exit(command_server.main(sys.argv[1]))
"""
_COMMANDS = "import sys; from daybook.cli.server import command_server; sys.exit(command_server.main(sys.argv[1]))"
_WAIT = "import time; print('up', flush=True); time.sleep(60)"


@dataclass
class Server:
    """A server in a folder like an engine's, without the engine."""

    cache: Path
    process: "subprocess.Popen[bytes]"

    @property
    def folder(self) -> Path:
        return self.cache / "engines" / "one"

    def environment(self, **variables: str) -> dict[str, str]:
        return {**os.environ, "DAYBOOK_CACHE": str(self.cache), **variables}

    def start(self, *words: str, **options: object) -> "subprocess.Popen[str]":
        arguments = {"env": self.environment(), "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
        return subprocess.Popen([sys.executable, "-m", "daybook", *words], text=True, **arguments)  # type: ignore[call-overload, no-any-return]

    def run(self, *words: str, **options: object) -> "subprocess.CompletedProcess[str]":
        arguments = {"env": self.environment(), "capture_output": True, "timeout": 60, **options}
        return subprocess.run([sys.executable, "-m", "daybook", *words], text=True, check=False, **arguments)  # type: ignore[call-overload, no-any-return]

    def end(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait(60)


@contextlib.contextmanager
def serving(cache: Path, program: str) -> Iterator[Server]:
    folder = cache / "engines" / "one"
    folder.mkdir(parents=True)
    for each in (folder, folder.parent):
        each.chmod(0o700)
    (folder / "users").touch()
    (folder / "version").write_text("1")
    environment = {**os.environ, "DAYBOOK_CACHE": str(cache)}
    command = [sys.executable, "-c", program, str(folder)]
    process = subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, start_new_session=True)
    server = Server(cache, process)
    try:
        wait_until((folder / SOCKET_NAME).exists)
        yield server
    finally:
        server.end()


def wait_until(condition: Callable[[], bool], seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.02)


def first_line(process: "subprocess.Popen[str]") -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def exit_code(process: "subprocess.Popen[str]") -> int:
    process.communicate(timeout=60)
    return int(process.returncode)


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("programs"), _PROGRAMS) as server:
        yield server


@pytest.fixture
def own_programs(tmp_path: Path) -> Iterator[Server]:
    with serving(tmp_path / "cache", _PROGRAMS) as server:
        yield server


@pytest.fixture(scope="module")
def commands(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("commands"), _COMMANDS) as server:
        yield server


def test_a_command_runs_in_a_process_of_the_server(programs: Server) -> None:
    done = programs.run("import os; print(os.getppid())")
    assert done.stdout == f"{programs.process.pid}\n"


@pytest.mark.parametrize("code", [0, 1, 2, 3, 130])
def test_exit_codes_arrive(programs: Server, code: int) -> None:
    assert programs.run(f"raise SystemExit({code})").returncode == code


def test_both_outputs_and_what_is_printed_at_the_end_arrive(programs: Server) -> None:
    done = programs.run("import atexit, sys; atexit.register(print, 'last'); print('out'); sys.stderr.write('err')")
    assert (done.stdout, done.stderr) == ("out\nlast\n", "err")


def test_standard_input_is_read(programs: Server) -> None:
    done = programs.run("import sys; print(sys.stdin.read().upper())", input="lines\nof text")
    assert done.stdout == "LINES\nOF TEXT\n"


def test_arguments_folder_environment_and_mask_are_the_callers(programs: Server, tmp_path: Path) -> None:
    program = (
        "import os, sys; old = os.umask(0); "
        "print(sys.argv[2:], os.getcwd(), os.environ['SOME'], 'PATH' in os.environ, oct(old), sys.stdout.isatty())"
    )
    environment = programs.environment(SOME="über")
    del environment["PATH"]
    done = programs.run(program, "", "é ", "--x", cwd=tmp_path, env=environment, umask=0o027)
    assert done.stdout == f"['', 'é ', '--x'] {tmp_path} über False 0o27 False\n"


def test_a_reader_that_closes_the_pipe_is_noticed_at_once(programs: Server) -> None:
    command = programs.start("import sys\nwhile True: print('x' * 1000)")
    assert first_line(command) == "x" * 1000
    assert command.stdout is not None
    command.stdout.close()
    _, errors = command.communicate(timeout=60)
    assert "BrokenPipeError" in errors


def test_ctrl_c_reaches_the_command(programs: Server) -> None:
    program = f"try:\n  {_WAIT}\nexcept KeyboardInterrupt: raise SystemExit(130)"
    command = programs.start(program)
    assert first_line(command) == "up"
    command.send_signal(signal.SIGINT)
    assert exit_code(command) == 130


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT])
def test_a_signal_that_ends_the_command_ends_the_caller_the_same_way(programs: Server, number: int) -> None:
    command = programs.start(_WAIT)
    assert first_line(command) == "up"
    command.send_signal(number)
    assert exit_code(command) == -number


def test_signals_that_the_caller_ignores_are_ignored(programs: Server) -> None:
    program = "import signal; print(signal.getsignal(signal.SIGHUP).name, signal.getsignal(signal.SIGTERM).name)"
    done = programs.run(program, preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
    assert done.stdout == "SIG_IGN SIG_DFL\n"


def test_stopping_and_continuing_the_caller_stops_and_continues_the_command(programs: Server) -> None:
    command = programs.start("import os, time; print(os.getpid(), flush=True); time.sleep(3)", start_new_session=True)
    status = Path("/proc", first_line(command), "stat")
    command.send_signal(signal.SIGTSTP)
    wait_until(lambda: status.read_text().rpartition(")")[2].split()[0] == "T")
    command.send_signal(signal.SIGCONT)
    assert exit_code(command) == 0


def test_a_command_whose_caller_is_killed_ends(programs: Server) -> None:
    command = programs.start("import os, time; print(os.getpid(), flush=True); time.sleep(60)")
    pid = first_line(command)
    command.kill()
    command.communicate()
    wait_until(lambda: not Path("/proc", pid).exists())


def test_two_commands_at_the_same_time(programs: Server, tmp_path: Path) -> None:
    program = (
        "import pathlib, sys, time\nmine, other = map(pathlib.Path, sys.argv[2:])\nmine.touch()\n"
        "while not other.exists(): time.sleep(0.01)"
    )
    one, two = str(tmp_path / "one"), str(tmp_path / "two")
    both = [programs.start(program, one, two), programs.start(program, two, one)]
    assert [exit_code(command) for command in both] == [0, 0]


def test_a_terminal_is_seen_with_its_size(programs: Server) -> None:
    program = "import os, sys; print(sys.stdin.isatty(), sys.stdout.isatty(), *os.get_terminal_size())"
    shown = _in_terminal([sys.executable, "-m", "daybook", program], programs.environment(), rows=11, columns=77)
    assert shown == b"True True 77 11\r\n"


def test_a_command_in_a_terminal_shows_the_same_with_and_without_the_server(commands: Server) -> None:
    words = [sys.executable, "-m", "daybook", "functions", "ROUND", "-v"]
    served = _in_terminal(words, commands.environment(), rows=20, columns=60)
    alone = _in_terminal(words, commands.environment(DAYBOOK_COMMAND_SERVER="off"), rows=20, columns=60)
    assert served == alone
    assert b"ROUND" in served


def _in_terminal(words: list[str], environment: dict[str, str], *, rows: int, columns: int) -> bytes:
    """What a command writes at a terminal of this size."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    process = subprocess.Popen(words, env=environment, stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    shown = b""
    with contextlib.suppress(OSError):
        while piece := os.read(ours, 1000):
            shown += piece
    os.close(ours)
    assert process.wait(60) == 0
    return shown


def test_a_server_that_is_killed_takes_no_command_with_it(own_programs: Server) -> None:
    command = own_programs.start("import sys; print('up', flush=True); sys.stdin.read(); raise SystemExit(7)", stdin=-1)
    assert first_line(command) == "up"
    own_programs.process.kill()
    own_programs.process.wait()
    command.communicate("go on", timeout=60)
    assert command.returncode == 7


def test_a_command_that_is_lost_is_reported(own_programs: Server) -> None:
    command = own_programs.start("import os, time; print(os.getpid(), flush=True); time.sleep(60)")
    pid = int(first_line(command))
    own_programs.process.kill()
    own_programs.process.wait()
    os.kill(pid, signal.SIGKILL)
    _, errors = command.communicate(timeout=60)
    assert command.returncode == 1
    assert "[RUN_918]" in errors


def test_a_command_that_the_system_kills_looks_killed(programs: Server) -> None:
    assert programs.run("import os, signal; os.kill(os.getpid(), signal.SIGKILL)").returncode == -signal.SIGKILL


def test_after_an_update_the_server_ends_and_commands_say_why_they_do_without(own_programs: Server) -> None:
    (own_programs.folder / "version").write_text("2")
    done = own_programs.run("functions", "ROUND", "--verbose")
    assert done.returncode == 0
    assert "Daybook's files have changed since it was started" in done.stderr
    assert "ROUND" in done.stdout
    assert own_programs.process.wait(60) == 0
    assert not (own_programs.folder / SOCKET_NAME).exists()
    again = own_programs.run("functions", "ROUND", "--verbose")
    assert again.stderr == ""


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"env": {"LC_NUMERIC": "C"}}, "the variable LC_NUMERIC differs"),
        ({"preexec_fn": lambda: os.nice(1)}, "the priority differs"),
        ({"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_CORE, (0, 0))}, "the limits of the system differ"),
    ],
)
def test_what_does_not_fit_is_executed_here_with_the_reason(
    programs: Server, options: dict[str, object], reason: str
) -> None:
    if resource.getrlimit(resource.RLIMIT_CORE) == (0, 0) and "limits" in reason:
        pytest.skip("the limit is zero already")
    if "env" in options:
        options = {"env": programs.environment(**options["env"])}  # type: ignore[arg-type]
    done = programs.run("functions", "ROUND", "-v", **options)
    assert done.returncode == 0
    assert done.stderr == f"this command is not executed by the server of the warm engine: {reason}\n"


def test_python_with_other_options_is_another_python(programs: Server) -> None:
    command = [sys.executable, "-O", "-m", "daybook", "functions", "ROUND", "-v"]
    done = subprocess.run(command, env=programs.environment(), capture_output=True, text=True, check=True)
    assert "it has another Python" in done.stderr


def test_commands_that_end_or_outlive_the_server_are_executed_by_themselves(programs: Server) -> None:
    assert "Keep Spark running" in programs.run("engine", "--help").stdout


def test_a_folder_that_others_can_enter_is_not_trusted(own_programs: Server) -> None:
    own_programs.folder.chmod(0o755)
    assert "ROUND" in own_programs.run("functions", "ROUND", "-v").stdout


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_another_user_gets_no_answer(own_programs: Server) -> None:
    for each in (own_programs.cache, *own_programs.cache.rglob("*")):
        each.chmod(0o777)
    folder = os.open(own_programs.folder, os.O_PATH)
    program = (
        "import os, socket, sys; os.setuid(65534); s = socket.socket(socket.AF_UNIX); s.settimeout(30); "
        "s.connect(f'/proc/self/fd/{sys.argv[1]}/commands'); print(s.recv(100))"
    )
    command = [sys.executable, "-c", program, str(folder)]
    done = subprocess.run(command, pass_fds=[folder], capture_output=True, text=True, check=False)
    os.close(folder)
    assert done.stdout == "b''\n", done.stderr


def test_a_client_that_says_nothing_holds_nobody_up(programs: Server) -> None:
    with socket.socket(socket.AF_UNIX) as silent:
        folder = os.open(programs.folder, os.O_PATH)
        silent.connect(f"/proc/self/fd/{folder}/{SOCKET_NAME}")
        os.close(folder)
        assert programs.run("print('answered')").stdout == "answered\n"


def test_a_stopped_server_keeps_neither_the_command_nor_its_pipes(own_programs: Server) -> None:
    """Reading both outputs to their end waits for everybody who holds them."""
    own_programs.process.send_signal(signal.SIGSTOP)
    try:
        done = own_programs.run("functions", "ROUND")
        again = own_programs.run("functions", "ROUND")
    finally:
        own_programs.process.send_signal(signal.SIGCONT)
    assert (done.returncode, again.returncode) == (0, 0)
    assert "ROUND" in done.stdout
    assert done.stderr == "the server of the warm engine does not answer; commands do without it for a minute\n"
    assert again.stderr == ""


def test_a_server_that_never_answers_gets_no_streams(tmp_path_factory: pytest.TempPathFactory) -> None:
    # The path of a socket has 107 letters at most.
    cache = tmp_path_factory.mktemp("silent")
    folder = cache / "engines" / "one"
    folder.mkdir(parents=True)
    for each in (folder, folder.parent):
        each.chmod(0o700)
    numbers = list[int]()
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(folder / SOCKET_NAME))
        listener.listen()

        def accept() -> None:
            connection, _ = listener.accept()
            with connection:
                while True:
                    piece, passed, _, _ = socket.recv_fds(connection, 1 << 20, 10)
                    numbers.extend(passed)
                    if not piece:
                        return

        accepting = threading.Thread(target=accept)
        accepting.start()
        command = [sys.executable, "-m", "daybook", "functions", "ROUND"]
        environment = {**os.environ, "DAYBOOK_CACHE": str(cache)}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=True)
        accepting.join()
    assert numbers == []
    assert "ROUND" in done.stdout
    assert "does not answer" in done.stderr


def test_a_command_without_standard_output_does_without_the_server(programs: Server) -> None:
    done = programs.run("functions", "ROUND", preexec_fn=lambda: os.close(1))
    assert "Traceback" not in done.stderr


def test_the_end_of_the_engine_waits_for_the_commands(own_programs: Server) -> None:
    command = own_programs.start("import sys; print('up', flush=True); sys.stdin.read(); print('done')", stdin=-1)
    assert first_line(command) == "up"
    ending = threading.Thread(target=own_programs.end)
    ending.start()
    wait_until(lambda: not (own_programs.folder / SOCKET_NAME).exists())
    output, _ = command.communicate("", timeout=60)
    assert output == "done\n"
    ending.join()
    assert own_programs.process.returncode == 0


def test_using_the_server_counts_as_use_of_the_engine(programs: Server) -> None:
    users = programs.folder / "users"
    os.utime(users, (0, 0))
    programs.run("pass")
    assert users.stat().st_mtime > 0


def test_what_a_run_needs_is_imported_before_and_starts_no_threads() -> None:
    program = (
        "import sys; from daybook.cli.server import command_server; command_server.import_early(); "
        "print(*command_server.thread_names() - {'jemalloc_bg_thd'}); "
        "print([name for name in sys.argv[1:] if name not in sys.modules])"
    )
    needed = ("pyspark.sql.connect.client", "grpc._channel", "deltalake", "pyarrow.parquet", "sqlalchemy", "lark")
    words = [*needed, "daybook.cli.app", "daybook.runs.attempt.execution", "daybook.io.formats.delta.writer"]
    done = subprocess.run([sys.executable, "-c", program, *words], capture_output=True, text=True, check=True)
    assert done.stdout == "\n[]\n"


def test_many_commands_at_the_same_time(commands: Server) -> None:
    running = [commands.start("functions", name) for name in ("ROUND", "EOMONTH", "UPPER", "SUM") * 2]
    outcomes = [(*command.communicate(timeout=120), command.returncode) for command in running]
    assert {(errors, code) for _, errors, code in outcomes} == {("", 0)}
    assert len({output for output, _, _ in outcomes}) == 4


@pytest.mark.parametrize(
    "variables",
    [
        {"DAYBOOK_CACHE": "/c", "HOME": "/h"},
        {"XDG_CACHE_HOME": "/x", "HOME": "/h"},
        {"XDG_CACHE_HOME": "x", "HOME": "/h"},
        {"HOME": "/h"},
        {},
    ],
)
def test_client_and_engine_look_in_the_same_folder(variables: dict[str, str]) -> None:
    cache = cache_folder(variables)
    assert engines_folder(variables) == (None if cache is None else str(cache / "engines"))


def test_what_a_command_sets_for_itself_does_not_keep_the_server_from_the_next_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The command that starts an engine passes its variables on to the server."""
    monkeypatch.delenv("PYDANTIC_DISABLE_PLUGINS", raising=False)
    before, after = dict(os.environb), dict[bytes, bytes]()

    def execute() -> int:
        after.update(os.environb)
        return 0

    monkeypatch.setattr(daybook.__main__, "hand_over", lambda: None)
    monkeypatch.setattr(daybook.cli.app, "main", execute)
    try:
        assert daybook.__main__.main() == 0
    finally:
        os.environ.pop("PYDANTIC_DISABLE_PLUGINS", None)
    assert after != before
    assert find_environment_difference(after, before) is None
