"""A server is asked for what every run needs before it is used."""

import pytest
from pyspark.sql import SparkSession

from daybook.engine.java.connect import check_capabilities
from daybook.engine.java.session import start_session
from daybook.errors import DaybookError
from daybook.model.settings import EngineSettings


def test_spark_has_all_of_it(spark: SparkSession) -> None:
    check_capabilities(spark)


def test_what_is_missing_is_named(spark: SparkSession) -> None:
    spark.conf.set("spark.sql.ansi.enabled", "false")
    try:
        with pytest.raises(DaybookError) as caught:
            check_capabilities(spark)
    finally:
        spark.conf.set("spark.sql.ansi.enabled", "true")
    assert caught.value.code == "RUN_911"
    assert str(caught.value).endswith("it lacks arithmetic that fails on overflow (ANSI)")


def test_a_sail_that_wraps_around_is_refused(is_connect: bool) -> None:
    if is_connect:
        pytest.skip("PySpark's functions follow one kind of session at a time")
    pytest.importorskip("pysail", reason="the extra daybook[sail] is not installed")
    with pytest.raises(DaybookError) as caught:
        start_session(EngineSettings(sail=True), app_name="close")
    assert caught.value.code == "RUN_911"
