"""A task that raises in the first, middle or last partition leaves the old rows and nothing else."""

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql import functions as sf

from daybook.errors import DaybookError
from daybook.io.registry import writer_for
from daybook.model.operation import OutputMode
from tests.faults.formats.checks import COLUMNS, PERIOD, found, rows, sweep
from tests.spark.io.cases import CASES, Case, Place, parameters, write

MODES: tuple[OutputMode, ...] = ("replace", "replace_period", "append")


@pytest.fixture(params=parameters(CASES, repeated=("xlsx-file", "sqlite")))
def case(request: pytest.FixtureRequest) -> Case:
    chosen: Case = request.param
    return chosen


@pytest.mark.parametrize(
    "mode", [mode if mode == "replace" else pytest.param(mode, marks=pytest.mark.slow) for mode in MODES]
)
def test_old_rows_survive(spark: SparkSession, case: Case, place: Place, mode: OutputMode, is_long: bool) -> None:
    if case.is_one_file and mode != "replace":
        pytest.skip("one file is only replaced")
    period = None if mode == "replace" else PERIOD
    write(rows(spark, "old"), place.target(COLUMNS, mode=mode, run_period=period))
    # The last leaves most behind: the others have written what they have.
    for partition in (0, 1, 2) if is_long else (2,):
        target = place.target(COLUMNS, mode=mode, run_period=period)
        writer = writer_for(target.format)
        last = 30 * (partition + 1) - 1
        breaking = rows(spark, "new").withColumn(
            "key",
            sf.when(sf.col("number") == last, sf.raise_error(sf.lit("broken")).cast("string")).otherwise(sf.col("key")),
        )
        with pytest.raises((PySparkException, DaybookError)):
            writer.stage(breaking, target)
        assert writer.committed(target) is None
        assert found(spark, target) == {"old": 90}
        writer.discard(target)
        assert sweep(place, target) == 0
        writer.commit(
            writer.stage(rows(spark, "old" if mode == "append" else "new", 30 if mode == "append" else 90), target),
            target,
        )
        if mode == "append":
            assert found(spark, target) == {"old": 90 + 30}
            return
        assert found(spark, target) == {"new": 90}
        if is_long:
            write(rows(spark, "old"), place.target(COLUMNS, mode=mode, run_period=period))
