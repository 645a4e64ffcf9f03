"""A server of Spark Connect and a client that cannot open each other's folders: all there is goes through the session.

The server runs as another user in a folder that is closed; the client is an owner without the right to open what
belongs to others, and its workspace is closed, too.
"""

import contextlib
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from daybook.engine.java.launch import find_java, spark_home
from tests.catalogs import ICEBERG, MISSING, catalog_conf, catalog_jars
from tests.workspaces import Folder, no_session, to_path, to_table

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not catalog_jars(), reason=MISSING),
    pytest.mark.skipif(
        os.getuid() != 0 or shutil.which("setpriv") is None, reason="another user needs root and setpriv"
    ),
]
NOBODY = 65534
# Without these root opens what others have closed.
CLOSED = ("--bounding-set=-dac_override,-dac_read_search", "--inh-caps=-dac_override,-dac_read_search")
START_SECONDS = 120
FLAGS = "-Duser.language=en -Duser.country=US -Duser.timezone=UTC -Dfile.encoding=UTF-8 -Dstdout.encoding=UTF-8"


@dataclass
class Server:
    """Spark Connect as another user, with its catalogs in its own folder."""

    folder: Path
    port: int
    process: "subprocess.Popen[bytes] | None" = None

    def start(self) -> None:
        conf = {
            **catalog_conf(),
            "spark.sql.warehouse.dir": f"{self.folder}/delta",
            f"spark.sql.catalog.{ICEBERG}.warehouse": f"{self.folder}/iceberg",
            "spark.connect.grpc.binding.port": str(self.port),
            "spark.connect.grpc.binding.address": "127.0.0.1",
            "spark.ui.enabled": "false",
            "spark.driver.host": "127.0.0.1",
            "spark.sql.shuffle.partitions": "2",
            "spark.local.dir": f"{self.folder}/local",
            "spark.driver.extraJavaOptions": f"{FLAGS} -Djava.io.tmpdir={self.folder}",
        }
        command = [
            *("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"),
            *(str(spark_home() / "bin" / "spark-submit"), "--master", "local[2]", "--driver-memory", "1g"),
            *("--class", "org.apache.spark.sql.connect.service.SparkConnectServer"),
            *(word for key, value in conf.items() for word in ("--conf", f"{key}={value}")),
            "spark-internal",
        ]
        java = find_java(os.environ).executable.parent.parent
        environment = {"PATH": os.environ["PATH"], "JAVA_HOME": str(java), "SPARK_HOME": str(spark_home())}
        environment |= {"HOME": str(self.folder), "LANG": "C.UTF-8"}
        log = (self.folder / "server.log").open("ab")
        self.process = subprocess.Popen(command, cwd=self.folder, env=environment, stdout=log, stderr=log)
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline and self.process.poll() is None:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port)):
                return
            time.sleep(0.2)
        pytest.fail((self.folder / "server.log").read_text()[-2000:])

    def kill(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    folder = Path(tempfile.mkdtemp(prefix="daybook-server-"))
    os.chown(folder, NOBODY, NOBODY)
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = int(listener.getsockname()[1])
    running = Server(folder, port)
    try:
        running.start()
        yield running
    finally:
        running.kill()
        shutil.rmtree(folder)


@dataclass
class Client:
    """The program in a closed workspace, without the right to open what belongs to others."""

    folder: Folder
    server: Server

    def daybook(self, *words: str, code: int = 0) -> str:
        done = self.start(*words)
        out, err = done.communicate(timeout=300)
        assert done.returncode == code, err.decode()[-3000:]
        return out.decode()

    def start(self, *words: str) -> "subprocess.Popen[bytes]":
        command = ["setpriv", *CLOSED, sys.executable, "-m", "daybook", *words]
        return subprocess.Popen(command, cwd=self.folder.root, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


@pytest.fixture(params=["spark_catalog", ICEBERG])
def client(request: pytest.FixtureRequest, server: Server, tmp_path: Path) -> Client:
    """A close from CSV and a workbook on the client to tables on the server, and a file back."""
    schema = f"c{abs(hash(str(tmp_path))) % 10**8}"
    settings = {
        "engine": {"remote": f"sc://127.0.0.1:{server.port}"},
        "state": {"datasource_id": "db", "schema": schema},
    }
    root = tmp_path / "w"
    folder = Folder.new(root, no_session, **settings)
    root.chmod(0o700)
    folder.datasource("db", "spark_catalog", catalog=request.param, schema=schema)
    folder.project(to_table("result", "db", register_as_dataset="booked"))
    folder.project(to_table("other", "db"), to_path("out/{{identifier}}.csv"), id_="other")
    folder.project(to_table("summary", "db"), id_="next", input_="booked")
    client = Client(folder, server)
    make = (
        f"from pyspark.sql.connect.session import SparkSession as S; s = S.builder.remote('sc://127.0.0.1:{server.port}')"
        f".getOrCreate(); s.sql('CREATE NAMESPACE {request.param}.{schema}').collect(); s.stop()"
    )
    subprocess.run([sys.executable, "-c", make], check=True, timeout=120, capture_output=True)
    return client


def test_folders_are_closed(client: Client) -> None:
    listing = ["setpriv", *CLOSED, "ls", str(client.server.folder)]
    assert subprocess.run(listing, capture_output=True, check=False).returncode != 0
    as_server = ["setpriv", f"--reuid={NOBODY}", "--clear-groups", "ls", str(client.folder.root)]
    assert subprocess.run(as_server, capture_output=True, check=False).returncode != 0


def last_run(client: Client, project: str) -> str:
    return next(run.id for run in client.folder.all_runs() if run.project_id == project)


def test_a_close_is_built_explained_compared_and_replayed(client: Client) -> None:
    for project in ("p", "other", "next"):
        client.daybook("activate", project)
    client.daybook("build", "--period", "2026-01", "--jobs", "2")
    assert len(client.folder.csv_rows("out/2026-01.csv")) == 3
    before = last_run(client, "next")
    assert "O-1" in client.daybook("explain", before, "1")
    client.daybook("replay", before)
    first = client.folder.csv_rows("data/orders.csv")
    client.folder.write_csv("data/orders.csv", [{**first[0], "amount": "999.00"}, *first[1:]])
    client.daybook("build", "--period", "2026-01")
    after = last_run(client, "next")
    assert "999" in client.daybook("diff", before, after)
    # O-1 had 100.00.
    assert "899.00" in client.daybook("bridge", before, after, "--measure", "amount")
    client.daybook("report", after)
    assert "Left behind" in client.daybook("doctor")
    client.daybook("gc")
    assert not list((client.folder.root / ".daybook").glob("landing*"))
