from pathlib import Path

from daybook.engine.java.launch import (
    SHORT_WORKLOAD_BYTES,
    JavaRuntime,
    Launch,
    Workload,
    choose_workload,
    launcher_variables,
)

JAVA = JavaRuntime(Path("/java/bin/java"), 17, "build", "machine")


def launch(
    conf: dict[str, str] | None = None,
    *,
    is_local: bool = True,
    workload: Workload = "long",
    archive: Path | None = None,
    java: JavaRuntime = JAVA,
) -> list[str]:
    return Launch(java, Path("/spark"), conf or {}, Path("/scratch"), is_local, workload, archive).command()


def test_short_work_runs_on_the_quick_compiler_alone() -> None:
    assert "-XX:TieredStopAtLevel=1" in launch(workload="short")
    assert "-XX:ReservedCodeCacheSize=240m" in launch(workload="short")
    assert "-XX:TieredStopAtLevel=1" not in launch(workload="long")


def test_an_engine_that_is_kept_has_a_collector_that_gives_memory_back() -> None:
    assert "-XX:+UseG1GC" in launch(workload="kept")
    assert "-XX:+UseParallelGC" not in launch(workload="kept")
    assert "-XX:TieredStopAtLevel=1" not in launch(workload="kept")


def test_work_is_short_when_its_input_is_known_to_be_small() -> None:
    assert choose_workload(0) == "short"
    assert choose_workload(SHORT_WORKLOAD_BYTES) == "long"
    assert choose_workload(None) == "long"


def test_settings_reach_a_local_application_as_properties() -> None:
    command = launch({"spark.driver.memory": "2g", "spark.app.name": "a b"})
    assert {"-Xmx2g", "-Dspark.app.name=a b", "-Dspark.local.dir=/scratch"} <= set(command)
    assert command[-1] == "org.apache.spark.api.python.PythonGatewayServer"


def test_what_must_be_fetched_or_distributed_goes_through_submit() -> None:
    for command in (launch({"spark.jars.packages": "a:b:1"}), launch({"spark.master": "yarn"}, is_local=False)):
        assert "org.apache.spark.deploy.SparkSubmit" in command
        assert command[-1] == "pyspark-shell"


def test_a_cluster_keeps_its_own_folders() -> None:
    assert not [part for part in launch({"spark.master": "yarn"}, is_local=False) if part.startswith("spark.local.dir")]


def test_the_archive_is_named_when_there_is_one() -> None:
    assert "-XX:SharedArchiveFile=/cache/a.jsa" in launch(archive=Path("/cache/a.jsa"))
    assert not [flag for flag in launch() if flag.startswith("-XX:SharedArchiveFile")]


def test_a_collector_of_the_users_replaces_ours() -> None:
    command = launch({"spark.driver.extraJavaOptions": "-XX:+UseG1GC '-Dgreeting=good day'"})
    assert {"-XX:+UseG1GC", "-Dgreeting=good day"} <= set(command)
    assert "-XX:+UseParallelGC" not in command


def test_the_module_that_smaller_runtimes_lack_is_not_asked_for() -> None:
    assert not [flag for flag in launch() if "jdk.incubator.vector" in flag]


def test_flags_of_newer_runtimes_are_kept_from_older_ones() -> None:
    newer = JavaRuntime(JAVA.executable, 25, "build", "package")
    assert "--sun-misc-unsafe-memory-access=allow" in launch(java=newer)
    assert "--sun-misc-unsafe-memory-access=allow" not in launch()


def test_workers_in_our_process_learn_what_sparks_scripts_would_tell_them(tmp_path: Path) -> None:
    (tmp_path / "jars").mkdir()
    (tmp_path / "jars" / "scala-library-2.13.17.jar").touch()
    assert launcher_variables(tmp_path) == {"SPARK_HOME": str(tmp_path), "SPARK_SCALA_VERSION": "2.13"}
