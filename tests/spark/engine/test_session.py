"""Sessions as users get them: started, stopped, adopted, on both kinds of Java."""

from decimal import Decimal
from unittest.mock import patch

import pytest
from py4j.protocol import REFLECTION_COMMAND_NAME
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from daybook.engine.java.connect import is_connect
from daybook.engine.java.session import adopt_session
from daybook.engine.java.session_conf import REQUIRED_CONF
from daybook.engine.java.spark_version import sibling_session
from daybook.engine.jobs import tag_jobs, watch_progress
from daybook.errors import DaybookError


@pytest.mark.parametrize("key", REQUIRED_CONF)
def test_session_has_the_settings_results_depend_on(spark: SparkSession, key: str) -> None:
    assert (spark.conf.get(key) or "").lower() == REQUIRED_CONF[key].lower()


def test_names_that_differ_in_case_are_different_columns(spark: SparkSession) -> None:
    row = spark.sql("SELECT 1 AS a, 2 AS A").select("A").first()
    assert row is not None
    assert row[0] == 2


def test_sums_of_wide_decimals_keep_their_scale(spark: SparkSession) -> None:
    number = "CAST(1.0123456789 AS DECIMAL(38,10))"
    row = spark.sql(f"SELECT {number} + {number}").first()
    assert row is not None
    assert row[0] == Decimal("2.0246913578")


def test_dollar_braces_are_plain_text(spark: SparkSession) -> None:
    row = spark.sql("SELECT '${spark.app.name}'").first()
    assert row is not None
    assert row[0] == "${spark.app.name}"


def test_a_fitting_session_is_adopted_as_it_is(spark: SparkSession) -> None:
    assert adopt_session(spark) is spark


def test_an_unfit_session_gets_a_fitting_sibling_and_keeps_its_own_settings(spark: SparkSession) -> None:
    given = sibling_session(spark, is_connect=is_connect(spark))
    given.conf.set("spark.sql.ansi.enabled", "false")
    given.conf.set("spark.sql.session.timeZone", "Europe/Zurich")
    adopted = adopt_session(given)
    assert adopted is not given
    assert adopted.conf.get("spark.sql.ansi.enabled") == "true"
    assert adopted.conf.get("spark.sql.session.timeZone") == "UTC"
    assert given.conf.get("spark.sql.ansi.enabled") == "false"
    assert given.conf.get("spark.sql.session.timeZone") == "Europe/Zurich"


def test_java_is_asked_once_what_makes_columns(spark: SparkSession, is_connect: bool) -> None:
    if is_connect:
        pytest.skip("a session through Connect makes columns without Java")

    def make_columns() -> None:
        spark.range(1).select(F.expr("id + 1"), F.col("id"), F.lit(1)).selectExpr("id", "1")

    make_columns()
    client = spark.sparkContext._gateway._gateway_client  # type: ignore[union-attr]
    with patch.object(client, "send_command", wraps=client.send_command) as sent:
        make_columns()
    commands = [call.args[0] for call in sent.call_args_list]
    assert any("selectExpr" in command for command in commands)
    assert not [command for command in commands if command.startswith(REFLECTION_COMMAND_NAME)]


@pytest.mark.usefixtures("product_settings")
def test_a_list_of_texts_is_sent_in_one_call(spark: SparkSession, is_connect: bool) -> None:
    if is_connect:
        pytest.skip("py4j sends nothing")
    client = spark.sparkContext._gateway._gateway_client  # type: ignore[union-attr]
    texts = [f"'{number}: \u20ac \U0001f600\n\\t' AS c{number}" for number in range(50)]
    one = spark.range(1)
    with patch.object(client, "send_command", wraps=client.send_command) as sent:
        df = one.selectExpr(*texts)
    # Python's garbage collector sends messages of its own, which carry no text.
    with_texts = [call for call in sent.call_args_list if "AS c" in call.args[0]]
    assert len(with_texts) == 1
    assert df.collect()[0][49] == "49: \u20ac \U0001f600\n\t"


@pytest.mark.parametrize("texts", [["a\x1fb", "c"], ["a", ""], [""], []])
def test_a_list_of_any_texts_arrives_as_it_is(spark: SparkSession, is_connect: bool, texts: list[str]) -> None:
    if is_connect:
        pytest.skip("py4j sends nothing")
    assert list(spark.sparkContext._jvm.java.util.ArrayList(texts)) == texts  # type: ignore[union-attr]


def test_progress_tells_tasks_done_of_tasks_known(spark: SparkSession, is_connect: bool) -> None:
    reports: list[tuple[int, int]] = []
    # A Connect server reports every two seconds.
    rows = 300_000_000 if is_connect else 10_000_000
    report = watch_progress(spark, "progress", lambda done, total: reports.append((done, total)), interval=0.01)
    with tag_jobs(spark, "progress"), report:
        spark.range(0, rows, numPartitions=8).selectExpr("sum(hash(id))").collect()
    assert reports
    assert all(0 <= done <= total for done, total in reports)
    assert max(total for _, total in reports) >= 8


def test_a_session_that_keeps_a_setting_of_its_own_is_refused(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Spark changes this setting in no session that runs.
    monkeypatch.setitem(REQUIRED_CONF, "spark.sql.warehouse.dir", "/somewhere/else")
    with pytest.raises(DaybookError) as caught:
        adopt_session(spark)
    assert caught.value.code == "RUN_906"
    assert "spark.sql.warehouse.dir" in str(caught.value.parameters["settings"])
