import re

import pytest
from pyspark.sql.connect.proto import Read

from daybook.engine.java.session_conf import (
    REDACTION_CONF,
    REQUIRED_CONF,
    build_session_conf,
    differing_conf,
    local_threads,
    remote_conf,
    user_conf,
)
from daybook.errors import DaybookError, flatten
from daybook.model.settings import EngineSettings

GIGABYTE = 1 << 30


def everything(master: str = "local[2]", memory: int = 8 * GIGABYTE, **conf: object) -> dict[str, str]:
    settings = EngineSettings(conf={key.replace("__", "."): value for key, value in conf.items()})
    return build_session_conf(settings, master=master, app_name="close", ui=False, cores=2, memory=memory).everything


def test_defaults_hold_what_results_depend_on() -> None:
    conf = everything()
    assert conf["spark.sql.ansi.enabled"] == "true"
    assert conf["spark.sql.session.timeZone"] == "UTC"
    assert conf["spark.sql.caseSensitive"] == "true"
    assert conf["spark.sql.decimalOperations.allowPrecisionLoss"] == "false"
    assert conf["spark.sql.variable.substitute"] == "false"
    assert conf["spark.ui.enabled"] == "false"
    assert int(conf["spark.sql.analyzer.maxIterations"]) > 100


def test_users_choose_what_results_do_not_depend_on() -> None:
    conf = everything(spark__sql__shuffle__partitions=64, spark__driver__memory="3g", spark__speculation=True)
    assert conf["spark.sql.shuffle.partitions"] == "64"
    assert conf["spark.driver.memory"] == "3g"
    assert conf["spark.speculation"] == "true"


@pytest.mark.parametrize("key", REQUIRED_CONF)
def test_every_setting_results_depend_on_is_refused_with_another_value(key: str) -> None:
    with pytest.raises(DaybookError) as caught:
        build_session_conf(
            EngineSettings(conf={key: "other"}), master="local", app_name="close", ui=False, cores=1, memory=GIGABYTE
        )
    assert caught.value.code == "RUN_902"
    assert caught.value.parameters["key"] == key


def test_the_needed_value_may_be_written_out() -> None:
    assert everything(spark__sql__ansi__enabled=True)["spark.sql.ansi.enabled"] == "true"


def test_all_refusals_come_at_once() -> None:
    with pytest.raises(DaybookError) as caught:
        everything(spark__sql__ansi__enabled=False, spark__sql__legacy__timeParserPolicy="LEGACY")
    assert [error.code for error in flatten(caught.value)] == ["RUN_902", "RUN_904"]


@pytest.mark.parametrize(
    ("memory", "expected"),
    [(GIGABYTE, "1024m"), (8 * GIGABYTE, "4096m"), (512 * GIGABYTE, f"{31 * 1024}m")],
)
def test_driver_memory_is_half_of_the_machine_within_bounds(memory: int, expected: str) -> None:
    assert everything(memory=memory)["spark.driver.memory"] == expected


@pytest.mark.parametrize(
    ("memory", "expected"), [(8, "1m"), (16, "1m"), (24, "2m"), (32, "2m"), (48, "4m"), (512, "4m")]
)
def test_pages_are_as_small_as_a_task_with_8192_of_them_allows(memory: int, expected: str) -> None:
    assert everything(memory=memory * GIGABYTE)["spark.buffer.pageSize"] == expected


def test_who_chooses_the_memory_gets_the_pages_that_spark_chooses() -> None:
    assert "spark.buffer.pageSize" not in everything(spark__driver__memory="200g")
    assert everything(spark__buffer__pageSize="8m")["spark.buffer.pageSize"] == "8m"


def test_a_cluster_keeps_its_own_memory_pages_address_and_partitions() -> None:
    conf = everything(master="spark://host:7077")
    ours = {"spark.driver.memory", "spark.buffer.pageSize", "spark.driver.host", "spark.sql.shuffle.partitions"}
    assert conf.keys().isdisjoint(ours)


@pytest.mark.parametrize(
    "master", ["local[2]", "local-cluster[2,1,1024]", "spark://127.0.0.1:7077", "spark://localhost:1"]
)
def test_on_this_machine_alone_the_driver_listens_to_nobody_else(master: str) -> None:
    assert everything(master=master)["spark.driver.bindAddress"] == "127.0.0.1"


@pytest.mark.parametrize(
    "master", ["spark://localhost.example.com:7077", "spark://10.0.0.1:7077", "yarn", "k8s://host"]
)
def test_elsewhere_executors_must_reach_the_driver(master: str) -> None:
    assert "spark.driver.bindAddress" not in everything(master=master)


@pytest.mark.parametrize(
    ("master", "threads"),
    [
        ("local", 1),
        ("local[*]", 6),
        ("local[3]", 3),
        ("local[4,2]", 4),
        ("local-cluster[2,1,1024]", None),
        ("yarn", None),
        ("spark://h:7077", None),
    ],
)
def test_threads_of_a_master(master: str, threads: int | None) -> None:
    assert local_threads(master, cores=6) == threads


def test_a_connect_server_takes_session_settings_only() -> None:
    conf = remote_conf(EngineSettings(remote="sc://host", conf={"spark.sql.shuffle.partitions": 8}))
    assert conf["spark.sql.shuffle.partitions"] == "8"
    with pytest.raises(DaybookError) as caught:
        remote_conf(EngineSettings(remote="sc://host", conf={"spark.executor.memory": "8g"}))
    assert caught.value.code == "RUN_903"


def test_differences_name_what_a_session_lacks() -> None:
    actual: dict[str, str | None] = {
        **REQUIRED_CONF,
        "spark.sql.ansi.enabled": "false",
        "spark.sql.caseSensitive": None,
    }
    assert differing_conf(actual) == {"spark.sql.ansi.enabled": "true", "spark.sql.caseSensitive": "true"}
    assert differing_conf({**REQUIRED_CONF, "spark.sql.session.timeZone": "utc"}) == {}


def test_java_is_given_a_language_character_set_and_time_zone_after_the_flags_of_the_user() -> None:
    flags = "-Duser.language=en -Duser.country=US -Dfile.encoding=UTF-8 -Duser.timezone=UTC"
    conf = everything(spark__driver__extraJavaOptions="-Xlog:gc")
    assert conf["spark.driver.extraJavaOptions"] == f"-Xlog:gc {flags}"
    assert conf["spark.executor.extraJavaOptions"] == flags


@pytest.mark.parametrize("key", ["spark.driver.extraJavaOptions", "spark.executor.extraJavaOptions"])
def test_another_language_of_java_is_refused(key: str) -> None:
    with pytest.raises(DaybookError) as caught:
        user_conf(EngineSettings(conf={key: "-Xlog:gc -Duser.language=tr"}))
    assert (caught.value.code, caught.value.parameters["key"]) == ("RUN_902", f"{key}: -Duser.language")


@pytest.mark.parametrize(
    "name", ["fs.s3a.bucket.b.secret.key", "fs.azure.account.key.a", "fs.s3a.session.token", "password"]
)
@pytest.mark.parametrize("value", ["S3cret", 'a"S3cret', "a\\", "a\nS3cret"])
def test_a_request_of_connect_shows_no_secret(name: str, value: str) -> None:
    request = Read(data_source=Read.DataSource(options={"header": "true", name: value}))
    shown = re.sub(REDACTION_CONF["spark.sql.redaction.string.regex"], "…", str(request))
    assert "S3cret" not in shown
    assert name not in shown
    assert shown.count("value:") == 1
    assert 'key: "header"' in shown


def test_no_setting_looks_like_a_secret_to_spark() -> None:
    """Spark Connect would not tell its value, and every session would be refused as one that cannot be set."""
    by_default = re.compile("(?i)secret|password|token|access[.]?key")
    assert [key for key, value in REQUIRED_CONF.items() if by_default.search(f"{key} {value}")] == []
