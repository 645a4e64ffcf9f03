"""Sends a command to the command server of a warm engine, if one fits.

Importing what a command needs takes longer than most commands. This module imports very little before it has asked
the server, whose processes have imported everything; `daybook.cli.server.command_server` is the other end.
"""

import os
import sys
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import socket

SWITCH_VARIABLE = "DAYBOOK_COMMAND_SERVER"
SOCKET_NAME = "commands"
# The form of the request, compared by the server.
PROTOCOL = "2"
# What comes back: the command is accepted, the server does not fit, its process has taken over the streams, an exit
# code, the signal that ended the command.
ACCEPTED, REFUSED, READY, EXITED, KILLED = b"+", b"-", b"=", b"x", b"s"
# What is sent after the request: the streams of the command, and that it may begin.
STREAMS, BEGIN = b"@", b"!"
# Commands that end the server, or run as long as the server.
_OWN_COMMANDS = frozenset({"engine", "serve"})
# All servers together. One that has not answered is left alone for a while.
_ANSWER_SECONDS = 2.0
_SILENT_SECONDS = 60.0
_SILENT_NAME = "commands.silent"
_LONGEST_ANSWER = 1 << 16


def hand_over() -> int | None:
    """The exit code of this process's command after a server has executed it; None where it is to be executed here."""
    words, environment = sys.argv, os.environ
    if sys.platform != "linux" or environment.get(SWITCH_VARIABLE) == "off" or _OWN_COMMANDS.intersection(words):
        return None
    folder = engines_folder(environment)
    if folder is None:
        return None
    try:
        accepted = _find_server(folder, words)
    except KeyboardInterrupt:
        return 130
    # From here on the command has begun, and is never executed a second time.
    return None if accepted is None else _follow(*accepted, words)


def engines_folder(environment: Mapping[str, str]) -> str | None:
    """The folder `engines` of the cache folder, as `daybook.engine.java.launch.cache_folder` has it on Linux."""
    if cache := environment.get("DAYBOOK_CACHE"):
        return f"{cache}/engines"
    base = environment.get("XDG_CACHE_HOME", "")
    if base.startswith("/"):
        return f"{base}/daybook/engines"
    home = environment.get("HOME")
    return f"{home}/.cache/daybook/engines" if home else None


def python_identity() -> str:
    """The interpreter and how it was started."""
    # Of an environment, `python` and `python3` are the same.
    is_unbuffered = getattr(sys.stdout, "write_through", None)
    return repr((sys.prefix, sys.version, tuple(sys.flags), sys.warnoptions, sys._xoptions, is_unbuffered))


def package_folder() -> str:
    """Where Daybook's code lies."""
    here = os.path.abspath(__file__)  # noqa: PTH100
    return os.path.dirname(os.path.dirname(os.path.dirname(here)))  # noqa: PTH120


def _is_private(status: os.stat_result) -> bool:
    return status.st_uid == os.geteuid() and status.st_mode & 0o170077 == 0o040000


def _find_server(folder: str, words: Sequence[str]) -> "tuple[socket.socket, int] | None":
    """The connection to a server that waits to begin with the command, and the number of its process."""
    try:
        names = sorted(os.listdir(folder)) if _is_private(os.lstat(folder)) else []  # noqa: PTH208
    except OSError:
        return None
    deadline = time.monotonic() + _ANSWER_SECONDS
    for name in names:
        home = f"{folder}/{name}"
        if os.path.exists(f"{home}/{SOCKET_NAME}") and not _was_silent(home):  # noqa: PTH110
            try:
                answer = _ask(home, words, deadline)
            except TimeoutError:
                _remember_silence(home)
                sys.stderr.write("the server of the warm engine does not answer; commands do without it for a minute\n")
                return None
            except OSError:
                continue
            if not isinstance(answer, str):
                return answer
            if {"--verbose", "-v"}.intersection(words):
                sys.stderr.write(f"this command is not executed by the server of the warm engine: {answer}\n")
    return None


def _was_silent(home: str) -> bool:
    """Whether the server here has not answered lately."""
    try:
        return 0 <= time.time() - os.stat(f"{home}/{_SILENT_NAME}").st_mtime < _SILENT_SECONDS  # noqa: PTH116
    except OSError:
        return False


def _remember_silence(home: str) -> None:
    try:
        mark = os.open(f"{home}/{_SILENT_NAME}", os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        os.utime(mark)
        os.close(mark)
    except OSError:
        pass


def _ask(folder: str, words: Sequence[str], deadline: float) -> "tuple[socket.socket, int] | str":
    """A server that has taken over the command, or why the one in this folder does not fit.

    It gets the streams only after it has accepted: one that hangs would keep them open.
    """
    import socket

    # A path through the folder's own number is short enough for a socket's address, however long the folder's is.
    number = os.open(folder, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)

    def receive() -> tuple[bytes, list[int]]:
        connection.settimeout(max(deadline - time.monotonic(), 0.001))
        answer, numbers, _, _ = socket.recv_fds(connection, _LONGEST_ANSWER, 1)
        return answer, numbers

    try:
        if not _is_private(os.fstat(number)):
            raise PermissionError(folder)
        connection.settimeout(max(deadline - time.monotonic(), 0.001))
        connection.connect(f"/proc/self/fd/{number}/{SOCKET_NAME}")
        credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
        if int.from_bytes(credentials[4:8], sys.byteorder) != os.geteuid():
            raise PermissionError(folder)
        _send_request(connection, words)
        answer, processes = receive()
        if answer[:1] == ACCEPTED and processes:
            _send_streams(connection)
            if receive()[0] == READY:
                return connection, processes[0]
            os.close(processes[0])
            raise ConnectionError(folder)
    except BaseException:
        connection.close()
        raise
    finally:
        os.close(number)
    connection.close()
    if answer[:1] != REFUSED:
        raise ConnectionError(folder)
    return answer[1:].partition(b"\n")[0].decode(errors="replace")


def _send_request(connection: "socket.socket", words: Sequence[str]) -> None:
    """Separates words, paths and variables by a zero byte, which none of them contains."""
    import signal

    umask = os.umask(0o077)
    os.umask(umask)
    numbers = range(1, signal.NSIG)
    ignored = ",".join(str(number) for number in numbers if signal.getsignal(number) is signal.SIG_IGN)
    head = (PROTOCOL, python_identity(), package_folder(), str(umask), ignored, str(len(words)), *words)
    variables = (name + b"=" + value for name, value in os.environb.items())
    body = b"\0".join((*(os.fsencode(text) for text in head), *variables))
    connection.sendall(len(body).to_bytes(4, "big") + body)


def _send_streams(connection: "socket.socket") -> None:
    import socket

    here = os.open(".", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        socket.send_fds(connection, [STREAMS], [0, 1, 2, here])
    finally:
        os.close(here)


def _follow(connection: "socket.socket", process: int, words: Sequence[str]) -> int:
    """Let the command begin, pass signals on to it, and end as it ends."""
    import signal

    def forward(number: int, frame: object) -> None:
        try:
            signal.pidfd_send_signal(process, signal.SIGSTOP if number == signal.SIGTSTP else number)
            if number == signal.SIGTSTP:
                os.kill(os.getpid(), signal.SIGSTOP)
                signal.pidfd_send_signal(process, signal.SIGCONT)
        except ProcessLookupError:
            pass

    names = ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2", "SIGTSTP", "SIGWINCH")
    for number in (getattr(signal, name) for name in names):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, forward)
    try:
        connection.settimeout(None)
        connection.sendall(BEGIN)
        _wait_for_end(connection)
        end = connection.recv(2)
    except OSError:
        end = b""
    if end[:1] == EXITED:
        return end[1]
    if end[:1] == KILLED:
        if end[1] != signal.SIGKILL:
            signal.signal(end[1], signal.SIG_DFL)
        os.kill(os.getpid(), end[1])
        return 128 + end[1]
    return _report_loss(words)


def _wait_for_end(connection: "socket.socket") -> None:
    """Wait for the answer; a signal that comes just before the wait ends it too, so that its handler is called."""
    import select
    import signal

    awake, waker = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    signal.set_wakeup_fd(waker, warn_on_full_buffer=False)
    poll = select.poll()
    poll.register(connection, select.POLLIN)
    poll.register(awake, select.POLLIN)
    while connection.fileno() not in (ready := [number for number, _ in poll.poll()]):
        if awake in ready:
            os.read(awake, 512)


def _report_loss(words: Sequence[str]) -> int:
    from daybook.cli.app import report_failure
    from daybook.errors import DaybookError

    report_failure(DaybookError("RUN_918"), is_debug=False, as_json="--json" in words)
    return 1
