"""Which Spark is installed, and which versions are refused."""

from pathlib import Path

import pytest

from daybook.engine.java import spark_version
from daybook.engine.java.launch import find_java
from daybook.engine.java.spark_version import InstalledSpark, find_spark, require_spark, require_supported
from daybook.errors import DaybookError


def use(monkeypatch: pytest.MonkeyPatch, spark: InstalledSpark | None) -> None:
    monkeypatch.setattr(spark_version, "find_spark", lambda: spark)
    monkeypatch.setattr("daybook.engine.java.launch.find_spark", lambda: spark)


def test_the_installed_spark_is_the_one_that_python_imports() -> None:
    import pyspark

    spark = find_spark()
    assert spark is not None
    assert (spark.version, spark.home) == (pyspark.__version__, Path(pyspark.__file__).parent)
    assert spark.has_java_side


@pytest.mark.parametrize("version", ["4.0.0", "4.0.5", "4.1.4", "4.2.1", "4.3.0", "4.3.0.dev1", "4.0.0-amzn-2"])
def test_supported_versions(version: str) -> None:
    require_supported("PySpark", version)


@pytest.mark.parametrize("version", ["3.5.9", "4.4.0", "5.0.0", "unknown"])
def test_other_versions_are_refused(version: str) -> None:
    with pytest.raises(DaybookError) as refused:
        require_supported("PySpark", version)
    assert refused.value.code == "RUN_920"
    assert version in refused.value.message


def test_no_spark_at_all_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, None)
    with pytest.raises(DaybookError) as refused:
        require_spark(java_side=False)
    assert refused.value.code == "RUN_919"


def test_the_client_alone_serves_servers_and_starts_no_spark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    client = InstalledSpark(tmp_path, "4.2.0")
    use(monkeypatch, client)
    assert require_spark(java_side=False) is client
    with pytest.raises(DaybookError) as refused:
        require_spark()
    assert (refused.value.code, "client" in refused.value.message) == ("RUN_919", True)


def runtime(folder: Path, version: int) -> Path:
    """A folder with a Java of this version in it."""
    executable = folder / str(version) / "bin" / "java"
    executable.parent.mkdir(parents=True)
    executable.write_text("")
    executable.chmod(0o700)
    (executable.parent.parent / "release").write_text(f'JAVA_VERSION="{version}.0.1"\n')
    return executable


@pytest.mark.parametrize(("version", "chosen"), [("4.0.5", 17), ("4.1.4", 25), ("4.3.0", 25)])
def test_a_java_that_is_too_new_for_spark_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str, chosen: int
) -> None:
    use(monkeypatch, InstalledSpark(tmp_path, version))
    newest, older = runtime(tmp_path, 25), runtime(tmp_path, 17)
    environment = {"JAVA_HOME": str(newest.parent.parent), "PATH": str(older.parent)}
    assert find_java(environment).version == chosen
