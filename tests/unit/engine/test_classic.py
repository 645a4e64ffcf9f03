import os
import socket
from pathlib import Path

import pytest

from daybook.engine.java.classic import check_master_listens, host_variables, start_gateway
from daybook.engine.java.launch import JavaRuntime, Launch
from daybook.errors import DaybookError


def test_a_master_that_nobody_listens_at_is_refused_at_once() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        master = f"spark://127.0.0.1:{free.getsockname()[1]}"
    with pytest.raises(DaybookError) as caught:
        check_master_listens(master)
    assert caught.value.code == "RUN_910"
    assert caught.value.parameters["master"] == master


def test_one_of_several_masters_is_enough() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        check_master_listens(f"spark://127.0.0.1:1,127.0.0.1:{listening.getsockname()[1]}")


@pytest.mark.parametrize("master", ["", "local[2]", "local-cluster[2,1,1024]", "yarn", "k8s://https://host:443"])
def test_other_masters_are_left_to_spark(master: str) -> None:
    check_master_listens(master)


@pytest.mark.parametrize(
    ("is_local", "conf", "environment", "expected"),
    [
        (True, {}, {}, {"SPARK_LOCAL_HOSTNAME": "localhost", "SPARK_LOCAL_IP": "127.0.0.1"}),
        # As the settings of a local session have it.
        (
            True,
            {"spark.driver.host": "127.0.0.1"},
            {},
            {"SPARK_LOCAL_HOSTNAME": "localhost", "SPARK_LOCAL_IP": "127.0.0.1"},
        ),
        (True, {}, {"SPARK_LOCAL_HOSTNAME": "mine"}, {}),
        (True, {}, {"SPARK_LOCAL_IP": "10.0.0.1"}, {}),
        (True, {"spark.driver.host": "mine"}, {}, {}),
        (True, {"spark.driver.bindAddress": "0.0.0.0"}, {}, {}),
        (False, {}, {}, {}),
    ],
)
def test_a_local_spark_needs_no_name_of_the_machine_unless_one_is_chosen(
    tmp_path: Path, is_local: bool, conf: dict[str, str], environment: dict[str, str], expected: dict[str, str]
) -> None:
    java = JavaRuntime(tmp_path / "java", 17, "17", "machine")
    launch = Launch(java, tmp_path, conf, tmp_path, is_local)
    assert host_variables(launch, environment) == expected


@pytest.mark.skipif(os.name != "posix", reason="a shell script stands for Java")
def test_java_does_not_get_the_personal_token(tmp_path: Path) -> None:
    """It executes code of others, and a warm engine lives longer than the command that started it."""
    script, seen = tmp_path / "java", tmp_path / "seen"
    script.write_text(f"#!/bin/sh\nenv > {seen}\n")
    script.chmod(0o700)
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    launch = Launch(JavaRuntime(script, 17, "17", "machine"), tmp_path, {}, scratch, True)
    starting = start_gateway(launch, {**os.environ, "DAYBOOK_TOKEN": "dbp_token", "OTHER": "variable"})
    with pytest.raises(DaybookError) as caught:
        starting.wait()
    assert caught.value.code == "RUN_905"
    assert "OTHER=variable" in seen.read_text()
    assert "dbp_token" not in seen.read_text()
