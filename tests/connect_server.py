"""A server of Spark Connect as another user in a closed folder, on an address of its own where one can be made."""

import contextlib
import os
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from daybook.engine.java.launch import find_java, spark_home
from tests.catalogs import ICEBERG, catalog_conf

NOBODY = 65534
# Without these root opens what others have closed.
CLOSED = ("--bounding-set=-dac_override,-dac_read_search", "--inh-caps=-dac_override,-dac_read_search")
_AS_NOBODY = ("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups")
_FLAGS = "-Duser.language=en -Duser.country=US -Duser.timezone=UTC -Dfile.encoding=UTF-8 -Dstdout.encoding=UTF-8"
_IP = shutil.which("ip", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")
START_SECONDS = 180


def can_be_another_user() -> bool:
    return os.getuid() == 0 and shutil.which("setpriv") is not None


def watched(log: Path) -> tuple[str, ...]:
    """The command that writes every path that a program and its children ask the system for into a file."""
    return ("strace", "-f", "--seccomp-bpf", "-qq", "-e", "trace=%file", "-o", str(log))


@dataclass(frozen=True, slots=True)
class Network:
    """A network of its own, reached by an address that this machine does not have; else this machine's."""

    address: str = "127.0.0.1"
    name: str | None = None

    @property
    def inside(self) -> tuple[str, ...]:
        """What a command begins with that runs in there."""
        return (str(_IP), "netns", "exec", self.name) if self.name is not None else ()


@contextlib.contextmanager
def own_network() -> Iterator[Network]:
    """A namespace, where the system allows one."""
    number = os.getpid() % 60000
    name, here, there = f"daybook-{number}", f"dbk{number}a", f"dbk{number}b"
    prefix = f"10.{77 + number % 100}.{number % 250}"
    steps = (
        ("netns", "add", name),
        ("link", "add", here, "type", "veth", "peer", "name", there),
        ("link", "set", there, "netns", name),
        ("addr", "add", f"{prefix}.1/30", "dev", here),
        ("link", "set", here, "up"),
        ("-n", name, "addr", "add", f"{prefix}.2/30", "dev", there),
        ("-n", name, "link", "set", there, "up"),
        ("-n", name, "link", "set", "lo", "up"),
    )
    try:
        is_made = _IP is not None and all(_ip(*step) for step in steps)
        yield Network(f"{prefix}.2", name) if is_made else Network()
    finally:
        if _IP is not None:
            _ip("netns", "del", name)
            _ip("link", "del", here)


def _ip(*words: str) -> bool:
    return subprocess.run([str(_IP), *words], capture_output=True, check=False).returncode == 0


@dataclass
class ConnectServer:
    """Spark Connect with its catalogs in its own folder; `before` is what its command begins with."""

    folder: Path
    network: Network
    port: int
    process: "subprocess.Popen[bytes] | None" = None

    @property
    def remote(self) -> str:
        return f"sc://{self.network.address}:{self.port}"

    def start(self, before: Sequence[str] = ()) -> None:
        conf = {
            **catalog_conf(),
            "spark.sql.warehouse.dir": f"{self.folder}/delta",
            f"spark.sql.catalog.{ICEBERG}.warehouse": f"{self.folder}/iceberg",
            "spark.connect.grpc.binding.port": str(self.port),
            "spark.connect.grpc.binding.address": self.network.address,
            "spark.ui.enabled": "false",
            "spark.driver.host": self.network.address,
            "spark.sql.shuffle.partitions": "2",
            "spark.local.dir": f"{self.folder}/local",
            "spark.driver.extraJavaOptions": f"{_FLAGS} -XX:TieredStopAtLevel=1 -Djava.io.tmpdir={self.folder}",
        }
        command = [
            *(*self.network.inside, *before, *_AS_NOBODY),
            *(str(spark_home() / "bin" / "spark-submit"), "--master", "local[2]", "--driver-memory", "1g"),
            *("--class", "org.apache.spark.sql.connect.service.SparkConnectServer"),
            *(word for key, value in conf.items() for word in ("--conf", f"{key}={value}")),
            "spark-internal",
        ]
        java = find_java(os.environ).executable.parent.parent
        environment = {"PATH": os.environ["PATH"], "JAVA_HOME": str(java), "SPARK_HOME": str(spark_home())}
        environment |= {"HOME": str(self.folder), "LANG": "C.UTF-8"}
        with (self.folder / "server.log").open("ab") as log:
            self.process = subprocess.Popen(
                command, cwd=self.folder, env=environment, stdout=log, stderr=log, start_new_session=True
            )
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline and self.process.poll() is None:
            with contextlib.suppress(OSError), socket.create_connection((self.network.address, self.port), timeout=5):
                return
            time.sleep(0.2)
        raise AssertionError((self.folder / "server.log").read_text()[-2000:])

    def kill(self) -> None:
        if self.process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()


@contextlib.contextmanager
def connect_server(before: Sequence[str] = ()) -> Iterator[ConnectServer]:
    folder = Path(tempfile.mkdtemp(prefix="daybook-server-"))
    os.chown(folder, NOBODY, NOBODY)
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = int(listener.getsockname()[1])
    with own_network() as network:
        server = ConnectServer(folder, network, port)
        try:
            server.start(before)
            yield server
        finally:
            server.kill()
            shutil.rmtree(folder)


@dataclass
class Line:
    """Hands bytes on between a client and a server until it is cut: then every connection is reset, and a new one is
    taken again."""

    target: tuple[str, int]
    port: int = 0
    control: int = 0
    _open: list[socket.socket] = field(default_factory=list)

    @property
    def remote(self) -> str:
        return f"sc://127.0.0.1:{self.port}"

    def cut(self) -> None:
        for end in self._open:
            with contextlib.suppress(OSError):
                # Without lingering a close is a reset.
                end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                end.shutdown(socket.SHUT_RDWR)
            end.close()
        self._open.clear()

    def take(self, listener: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = listener.accept()
                try:
                    server = socket.create_connection(self.target, timeout=10)
                except OSError:
                    client.close()
                    continue
                server.settimeout(None)
                self._open += [client, server]
                for source, sink in ((client, server), (server, client)):
                    threading.Thread(target=_hand_on, args=(source, sink), daemon=True).start()

    def obey(self, listener: socket.socket) -> None:
        """Whoever connects has the line cut, and hears of it."""
        with contextlib.suppress(OSError):
            while True:
                caller, _ = listener.accept()
                self.cut()
                caller.close()


def _hand_on(source: socket.socket, sink: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(1 << 16):
            sink.sendall(data)
    for end in (source, sink):
        with contextlib.suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)


@contextlib.contextmanager
def line_to(server: ConnectServer) -> Iterator[Line]:
    with socket.create_server(("127.0.0.1", 0)) as listener, socket.create_server(("127.0.0.1", 0)) as control:
        line = Line((server.network.address, server.port), listener.getsockname()[1], control.getsockname()[1])
        threading.Thread(target=line.take, args=(listener,), daemon=True).start()
        threading.Thread(target=line.obey, args=(control,), daemon=True).start()
        yield line
        line.cut()
