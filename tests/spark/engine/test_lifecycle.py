"""The Java process as users meet it: quiet, on any Java, never left behind, never stopped by its cache."""

import os
import re
import signal
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

import psutil
import pytest

from daybook.engine.java.build_archive import build_archive
from daybook.engine.java.launch import archive_path, find_java, spark_home, spark_jars, virtual_machine_flags
from daybook.engine.java.session import start_session
from daybook.engine.java.spark_version import require_spark
from daybook.errors import DaybookError
from daybook.model.settings import EngineSettings

_PREAMBLE = """
import os
from daybook.engine.java.session import start_session, stop_session
from daybook.model.settings import EngineSettings
settings = EngineSettings(master="local[1]", conf={"spark.driver.memory": "1g"})
"""


def program(body: str, folder: Path, **variables: str) -> subprocess.Popen[str]:
    environment = {**os.environ, "TMPDIR": str(folder), **variables}
    # PySpark leaves a word in the environment when the tests themselves go through Connect.
    environment.pop("SPARK_CONNECT_MODE_ENABLED", None)
    return subprocess.Popen(
        [sys.executable, "-c", _PREAMBLE + textwrap.dedent(body)],
        env=environment,
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_sessions_follow_one_another_silently_and_leave_nothing_behind(tmp_path: Path) -> None:
    running = program(
        """
        for quick in (False, True):
            spark = start_session(settings, app_name="close", workload="short")
            # Rows of Python pass Python workers, which tell Spark what they count.
            spark.createDataFrame([(3,)], "n int").write.parquet(os.path.abspath(f"out-{quick}"))
            stop_session(spark, quick=quick)
        """,
        tmp_path,
    )
    assert running.communicate(timeout=180) == ("", "")
    assert running.returncode == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out-False", "out-True"]


@pytest.mark.slow
def test_java_takes_the_classes_of_spark_from_an_archive_that_was_made_for_it(tmp_path: Path) -> None:
    java, log = find_java(os.environ), tmp_path / "classes.log"
    assert build_archive(tmp_path / "new.jsa", java)
    flags = [*virtual_machine_flags("short"), "-Xshare:on", f"-XX:SharedArchiveFile={tmp_path / 'new.jsa'}"]
    jars = os.pathsep.join(map(str, spark_jars(spark_home())))
    command = [str(java.executable), *flags, f"-Xlog:class+load:file={log}", "-cp", jars]
    subprocess.run([*command, "org.apache.spark.deploy.SparkSubmit", "--version"], check=True, capture_output=True)
    assert re.search(r" org\.apache\.spark\.\S+ source: shared objects file", log.read_text())


@pytest.mark.parametrize("archive", [b"this is no archive", pytest.param(b"", marks=pytest.mark.slow)])
def test_java_from_the_package_runs_spark_without_a_broken_archive_and_dies_with_its_killed_parent(
    tmp_path: Path, archive: bytes
) -> None:
    if require_spark().newest_java is not None:
        pytest.skip("this Spark does not run on the Java of the package")
    packaged = find_java({"PATH": str(tmp_path)})
    assert packaged.origin == "package"
    cache = {"DAYBOOK_CACHE": str(tmp_path / "cache")}
    broken = archive_path(packaged, spark_home(), cache)
    assert broken is not None
    broken.parent.mkdir(parents=True)
    broken.write_bytes(archive)
    running = program(
        """
        spark = start_session(settings, app_name="close", workload="short")
        assert spark.range(5).count() == 5
        print(spark.sparkContext._jvm.System.getProperty("java.version"), flush=True)
        import time
        time.sleep(600)
        """,
        tmp_path,
        PATH=str(tmp_path),
        JAVA_HOME="",
        **cache,
    )
    try:
        assert running.stdout is not None
        version = running.stdout.readline().strip()
        assert version.split(".")[0] == str(packaged.version)
        children = psutil.Process(running.pid).children(recursive=True)
        assert [Path(child.exe()).name for child in children] == ["java"]
    finally:
        running.send_signal(signal.SIGKILL)
        _, warnings = running.communicate()
    assert warnings == ""
    _, alive = psutil.wait_procs(children, timeout=60)
    assert alive == []


def test_java_that_cannot_start_is_a_coded_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    settings = EngineSettings(master="local[1]", conf={"spark.driver.extraJavaOptions": "-XX:MaxHeapFreeRatio=-5"})
    with pytest.raises(DaybookError) as caught:
        start_session(settings, app_name="close")
    assert caught.value.code == "RUN_905"
    assert "MaxHeapFreeRatio" in str(caught.value.parameters["reason"])
    assert list(tmp_path.iterdir()) == []


def test_master_and_remote_together_are_refused() -> None:
    with pytest.raises(DaybookError) as caught:
        start_session(EngineSettings(master="local", remote="sc://host"), app_name="close")
    assert caught.value.code == "RUN_907"
