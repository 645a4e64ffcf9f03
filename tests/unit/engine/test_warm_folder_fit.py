"""When an engine that runs fits a command."""

import os

import pytest

from daybook.engine.java.warm_folder import EngineFit, engine_fit, find_warm_problem
from daybook.model.settings import EngineSettings

SALT = b"salt"


def fit(settings: EngineSettings | None = None, state: str = "/w/.daybook", **variables: str) -> EngineFit:
    environment = {"PATH": os.environ["PATH"], "HOME": "/home/ann", **variables}
    return engine_fit(settings or EngineSettings(), state, environment, SALT)


def test_the_same_settings_fit() -> None:
    assert fit().key == fit().key
    assert fit().differences(fit()) == []


@pytest.mark.parametrize(
    ("other", "difference"),
    [
        (fit(EngineSettings(conf={"spark.task.cpus": 2})), "the setting spark.task.cpus differs"),
        (fit(EngineSettings(master="local[1]")), "the setting spark.master differs"),
        (fit(state="/v/.daybook"), "the state folder is /v/.daybook, not /w/.daybook"),
        (fit(AWS_PROFILE="prod"), "the variable AWS_PROFILE differs"),
        (fit(HTTPS_PROXY="http://proxy"), "the variable HTTPS_PROXY differs"),
        (fit(PYSPARK_PYTHON="/other/python"), "Python of workers is /other/python, not"),
    ],
)
def test_what_differs_is_named(other: EngineFit, difference: str) -> None:
    found = fit().differences(other)
    assert other.key != fit().key
    assert len(found) == 1
    assert found[0].startswith(difference)


def test_settings_of_a_session_and_other_variables_do_not_matter() -> None:
    other = fit(EngineSettings(conf={"spark.sql.shuffle.partitions": 7}, warm="5m"), EDITOR="vi", TERM="xterm")
    assert other.key == fit().key


def test_secrets_are_kept_as_digests_only() -> None:
    found = fit(EngineSettings(conf={"spark.hadoop.fs.s3a.secret.key": "s3cret-k"}), AWS_SECRET_ACCESS_KEY="s3cret-v")
    assert "s3cret" not in repr(found)


@pytest.mark.parametrize(
    ("settings", "variables", "reason"),
    [
        (EngineSettings(master="spark://host:7077"), {}, "engine.master is spark://host:7077"),
        (EngineSettings(remote="sc://host"), {}, "engine.remote"),
        (EngineSettings(), {"SPARK_HOME": "/opt/spark"}, "SPARK_HOME is set"),
    ],
)
def test_not_every_spark_can_be_kept_warm(settings: EngineSettings, variables: dict[str, str], reason: str) -> None:
    assert reason in (find_warm_problem(settings, variables) or "")
    assert find_warm_problem(EngineSettings(), {}) is None
