"""The wheel in empty environments: what it does without Spark, with Spark, and with the client of a Connect server."""

import contextlib
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from daybook.engine.java.launch import find_java, spark_home

pytestmark = pytest.mark.slow

REPOSITORY = Path(__file__).parents[2]
SECONDS = 600
START_SECONDS = 180
WITHOUT_SPARK = (
    "validate",
    "compile monthly-sales --period 2026-01",
    "plan",
    "apply",
    "activate --all",
    "status",
    "graph",
    "lineage monthly-sales",
    "show dataset orders",
    "runs",
    "test",
    "preview monthly-sales --period 2026-01",
)
UNREACHABLE = re.compile("Failed to fetch|error sending request|not found in the (package registry|cache)")
RUN = "run monthly-sales --period 2026-01"
# By hand: 1250.00 + 89.90, 640.00, 2100.50 and 75.25 by region, each order with a fee of three percent.
TOTALS = "totals: sales = 4155.65, fees = 124.68, orders = 5"


def uv(*arguments: str) -> None:
    program = Path(sys.executable).parent / "uv"
    if not program.exists():
        pytest.skip("uv, which makes the environments, is not installed")
    environment = {name: value for name, value in os.environ.items() if name != "VIRTUAL_ENV"}
    done = subprocess.run(
        [str(program), *arguments],
        cwd=REPOSITORY,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=SECONDS,
    )
    if done.returncode:
        is_unreachable = UNREACHABLE.search(done.stderr) is not None
        if is_unreachable and not os.environ.get("CI"):
            pytest.skip("the packages of an extra cannot be fetched here")
        pytest.fail(done.stderr)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    backend = ("--no-build-isolation", "--python", sys.executable)
    uv("build", "--wheel", *backend, "--quiet", "--out-dir", str(folder))
    (built,) = folder.glob("daybook-*.whl")
    return built


@pytest.fixture(scope="module")
def locked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The versions of the lock, without the hashes that would require every package to be in it."""
    text = (REPOSITORY / "requirements" / "dev.txt").read_text()
    versions = re.findall(r"^([a-z0-9._-]+)(?:\[[^]]*\])?(==[^\\\n]+)", text, re.MULTILINE)
    file = tmp_path_factory.mktemp("locked") / "constraints.txt"
    file.write_text("".join(f"{name}{version}\n" for name, version in versions))
    return file


class Installed:
    """An environment with the wheel, and a new workspace for its command."""

    def __init__(self, folder: Path, wheel: Path, locked: Path, extra: str) -> None:
        self._python = folder / "environment" / "bin" / "python"
        uv("venv", "--quiet", "--python", sys.executable, str(folder / "environment"))
        compression = "--config-setting=--build-option=--compression=stored"
        into = ("pip", "install", "--quiet", "--python", str(self._python), "--constraints", str(locked), compression)
        uv(*into, f"daybook{extra} @ {wheel.as_uri()}")
        self.workspace = folder / "sales"
        assert self.daybook(f"init {self.workspace}", folder).returncode == 0

    def daybook(self, words: str, folder: Path | None = None) -> "subprocess.CompletedProcess[str]":
        done = subprocess.run(
            [str(self._python.with_name("daybook")), *words.split()],
            cwd=folder or self.workspace,
            env=_clean_environment(),
            capture_output=True,
            text=True,
            check=False,
            timeout=SECONDS,
        )
        assert "Traceback" not in done.stdout + done.stderr
        return done

    def output(self) -> str:
        return (self.workspace / "out" / "sales-2026-01.csv").read_text()


def _clean_environment() -> Mapping[str, str]:
    """Nothing of the tests' own Python and Spark."""
    foreign = ("PYTHONPATH", "VIRTUAL_ENV", "SPARK_HOME", "PYSPARK_PYTHON", "SPARK_CONNECT_MODE_ENABLED")
    return {name: value for name, value in os.environ.items() if name not in foreign}


def test_without_extras_all_but_spark_works(tmp_path: Path, wheel: Path, locked: Path) -> None:
    bare = Installed(tmp_path, wheel, locked, "")
    for words in WITHOUT_SPARK:
        done = bare.daybook(words)
        assert done.returncode == 0, f"{words}: {done.stdout}{done.stderr}"
    assert "1 passed, 0 failed" in bare.daybook("test").stdout
    assert TOTALS in bare.daybook("preview monthly-sales --period 2026-01").stdout
    refused = bare.daybook(RUN)
    assert refused.returncode == 2
    assert "[RUN_919] This needs Spark, and no Spark is installed" in refused.stderr
    assert not (bare.workspace / "out").exists()


def test_without_extras_the_doctor_says_that_spark_is_missing(tmp_path: Path, wheel: Path, locked: Path) -> None:
    bare = Installed(tmp_path, wheel, locked, "")
    done = bare.daybook("doctor")
    assert done.returncode == 1
    assert "no  pyspark: This needs Spark, and no Spark is installed" in done.stdout
    assert "ok  Store: " in done.stdout
    assert "RUN_919" not in done.stderr


def test_with_spark_a_run_writes_its_output(tmp_path: Path, wheel: Path, locked: Path) -> None:
    whole = Installed(tmp_path, wheel, locked, "[spark]")
    done = whole.daybook(RUN)
    assert done.returncode == 0, done.stderr
    assert len(whole.output().splitlines()) == 5


def test_without_extras_an_auditor_verifies_a_sealed_month(tmp_path: Path, wheel: Path, locked: Path) -> None:
    """The how-to, from both sides: sealed where Spark is, verified where there is neither Spark nor the store."""
    company = Installed(tmp_path / "company", wheel, locked, "[spark]")
    for words in (
        "activate --all",
        RUN,
        "periods lock 2026-01",
        "keys new controlling --out keys",
        "seal 2026-01 --key file://keys/controlling.key -o close-2026-01.json",
        "prove close-2026-01.json out/sales-2026-01.csv region=EMEA -o proof.json",
    ):
        done = company.daybook(words)
        assert done.returncode == 0, f"{words}: {done.stdout}{done.stderr}"
    auditor = Installed(tmp_path / "auditor", wheel, locked, "")
    desk = tmp_path / "desk"
    desk.mkdir()
    for name in ("close-2026-01.json", "proof.json", "keys/controlling.pub"):
        shutil.copy(company.workspace / name, desk)
    alone = auditor.daybook("verify close-2026-01.json proof.json --key controlling.pub", desk)
    assert alone.returncode == 0, alone.stdout + alone.stderr
    assert alone.stdout.count("signed by controlling") == 2
    # `copytree` keeps the times of files, as `cp -a` does.
    shutil.copytree(company.workspace, desk / "copy", ignore=shutil.ignore_patterns("store.db*"))
    words = "verify close-2026-01.json --key controlling.pub --workspace copy --data --recompute --json"
    whole = auditor.daybook(words, desk)
    assert whole.returncode == 0, whole.stdout + whole.stderr
    (subject,) = json.loads(whole.stdout)["subjects"]
    assert (subject["data"], subject["recomputed"]) == ("same", "same")
    output = desk / "copy" / "out" / "sales-2026-01.csv"
    output.write_text(output.read_text().replace("640.00", "641.00"))
    changed = auditor.daybook(words, desk)
    assert changed.returncode == 1
    (subject,) = json.loads(changed.stdout)["subjects"]
    assert (subject["data"], subject["recomputed"]) == ("different", "same")
    assert auditor.daybook("verify controlling.pub --key controlling.pub", desk).returncode == 2


def test_with_the_client_a_run_needs_a_server(tmp_path: Path, wheel: Path, locked: Path) -> None:
    client = Installed(tmp_path, wheel, locked, "[connect]")
    assert not list(tmp_path.glob("environment/lib/*/site-packages/pyspark/jars"))
    refused = client.daybook(RUN)
    assert refused.returncode == 2
    assert "[RUN_919] This needs Spark, and only the client of Spark Connect is installed" in refused.stderr
    with connect_server(tmp_path / "server.log") as port:
        with (client.workspace / "daybook.yaml").open("a") as settings:
            settings.write(f"engine: {{remote: 'sc://127.0.0.1:{port}'}}\n")
        done = client.daybook(RUN)
    assert done.returncode == 0, done.stderr
    assert len(client.output().splitlines()) == 5


@contextlib.contextmanager
def connect_server(log: Path) -> Iterator[int]:
    """A server as an administrator starts it, with the launcher of the tests' own PySpark."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = int(listener.getsockname()[1])
    settings = (f"spark.connect.grpc.binding.port={port}", "spark.ui.enabled=false", "spark.driver.host=127.0.0.1")
    command = [
        *(str(spark_home() / "bin" / "spark-submit"), "--master", "local[2]", "--driver-memory", "1g"),
        *("--class", "org.apache.spark.sql.connect.service.SparkConnectServer"),
        *(word for setting in settings for word in ("--conf", setting)),
        "spark-internal",
    ]
    java = find_java(os.environ).executable.parent.parent
    with log.open("wb") as output:
        server = subprocess.Popen(
            command, cwd=log.parent, env={**_clean_environment(), "JAVA_HOME": str(java)}, stdout=output, stderr=output
        )
        try:
            _wait_for(port, server, log)
            yield port
        finally:
            server.terminate()
            server.wait()


def _wait_for(port: int, server: "subprocess.Popen[bytes]", log: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and server.poll() is None:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
            return
        time.sleep(0.2)
    pytest.fail(f"the Connect server did not start: {log.read_text()[-2000:]}")
