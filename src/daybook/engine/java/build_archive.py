"""Builds the class-data archive: run what Daybook runs, record the classes, dump them, publish the file in one step.

Started as `python -m daybook.engine.java.build_archive TARGET JAVA ORIGIN`, or without arguments to have it now.
"""

import contextlib
import datetime
import os
import shutil
import subprocess
import sys
import tempfile
import time
from decimal import Decimal
from pathlib import Path

from pyspark.sql import DataFrame, Observation, SparkSession, Window
from pyspark.sql import functions as F

from daybook.engine.java.classic import create_scratch_folder, open_classic_session, start_gateway
from daybook.engine.java.launch import (
    JavaRuntime,
    Launch,
    archive_path,
    failure_marker,
    find_java,
    inspect_java,
    memory_bytes,
    spark_home,
    spark_jars,
    usable_cores,
    virtual_machine_flags,
)
from daybook.engine.java.session import stop_session
from daybook.engine.java.session_conf import QUICK_CONF, build_session_conf, temporary_settings
from daybook.model.settings import EngineSettings

_SCHEMA = "order_id string, customer string, amount decimal(18,2), quantity bigint, day date, at timestamp, note string"


def run_training_workload(spark: SparkSession, folder: Path) -> None:
    """Write, read, join, group, number, union, sort and write again, in every file format."""
    orders = _orders(spark)
    for file_format in ("parquet", "csv", "json"):
        orders.write.format(file_format).option("header", "true").save(str(folder / f"orders-{file_format}"))
    read = spark.read.parquet(str(folder / "orders-parquet"))
    for file_format in ("csv", "json"):
        reader = spark.read.format(file_format).schema(_SCHEMA).option("header", "true").option("mode", "FAILFAST")
        read = read.unionByName(reader.load(str(folder / f"orders-{file_format}")))
    _calculate(spark, read).write.partitionBy("period").parquet(str(folder / "result"))
    result = spark.read.schema("customer string, amount decimal(38,2), period string").parquet(str(folder / "result"))
    result.orderBy("customer").limit(5).collect()
    result.orderBy("amount").toArrow()
    result.coalesce(1).write.option("header", "true").csv(str(folder / "result-csv"))
    with temporary_settings(spark, QUICK_CONF):
        _run_small_queries(spark)


def _run_small_queries(spark: SparkSession) -> None:
    """What tests of users run: a few rows of Arrow, without compiled code, collected as Arrow."""
    orders = spark.createDataFrame(_orders(spark).limit(5).toArrow())
    _calculate(spark, orders).toArrow()
    checked = orders.selectExpr(
        "*",
        "IF(amount > 0, NULL, TO_JSON(NAMED_STRUCT('row', COALESCE(CAST(amount AS STRING), 'NULL')))) AS f",
        "CONCAT('a', SUBSTR(MD5(CONCAT(OCTET_LENGTH(order_id), ':', order_id)), 1, 3)) AS _row_id",
        "TRANSLATE(order_id, 'O', 'o') AS text",
        "0L | IF(note IS NULL, 1L, 0L) AS picked",
        "IF(day BETWEEN DATE '0001-01-01' AND DATE '9999-12-31', day, CAST('?' AS DATE)) AS checked_day",
        "ARRAY(at, at)[CAST(note IS NULL AS INT)] AS changed_at",
    )
    grouped = checked.groupingSets([["customer"], ["day"]], "customer", "day").agg(
        F.expr("SUM(amount)").alias("total"), F.expr("MIN(f)").alias("fault"), F.expr("GROUPING_ID()").alias("set")
    )
    counted = grouped.observe(Observation("small"), F.expr("SUM(IF(set = 1L, 1L, 0L))").alias("added"))
    counted.where(F.expr("total IS NOT NULL AND customer LIKE 'C%'")).orderBy("customer").toArrow()
    shares = "SUM(amount) OVER (PARTITION BY customer ORDER BY day, order_id ROWS UNBOUNDED PRECEDING) AS running"
    checked.selectExpr("*", shares).union(checked.selectExpr("*", "amount AS running")).collect()
    checked.agg(F.expr("COUNT(1)"), F.expr("MAX(day)"), F.expr("AVG(quantity)")).first()


def _orders(spark: SparkSession) -> DataFrame:
    day = datetime.date(2026, 1, 1)
    moment = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
    rows = [
        (f"O-{number}", f"C-{number % 7}", Decimal(number) / 4, number, day, moment, None if number % 3 else "x")
        for number in range(200)
    ]
    return spark.createDataFrame(rows, _SCHEMA)


def _calculate(spark: SparkSession, orders: DataFrame) -> DataFrame:
    customers = spark.createDataFrame(
        [(f"C-{number}", f"tier {number}") for number in range(7)], "id string, tier string"
    )
    joined = orders.join(customers.withColumnRenamed("id", "customers.id"), F.expr("customer = `customers.id`"), "left")
    place = Window.partitionBy("order_id").orderBy(F.xxhash64("note"), "amount")
    updated = (
        joined.withColumn("__ordinal", F.row_number().over(place))
        .withColumn("_row_id", F.sha2(F.concat_ws("|", "order_id", F.expr("cast(__ordinal as string)")), 256))
        .withColumn(
            "amount", F.expr("case when tier like 'tier 1%' then cast(amount * 0.9 as decimal(18,2)) else amount end")
        )
        .withColumn("text", F.expr("upper(concat(coalesce(note, ''), cast(day as string), cast(at as string)))"))
        .withColumn("month", F.expr("date_format(last_day(add_months(day, 1)), 'yyyy-MM')"))
        .withColumn("ratio", F.expr("try_divide(amount, quantity) + abs(round(amount, 1)) % 7"))
        .filter(F.expr("not (quantity in (1, 2, 3)) and amount is not null"))
    )
    totals = updated.groupBy("customer").agg(
        F.expr("sum(amount)").alias("amount"),
        F.expr("avg(amount)").alias("average"),
        F.expr("count(*)").alias("rows"),
        F.expr("min(day)").alias("first"),
        F.expr("count(distinct order_id)").alias("orders"),
    )
    every = updated.unionByName(totals, allowMissingColumns=True)
    counted = every.observe(
        Observation("counters"), F.expr("count_if(amount > 10)").alias("picked"), F.count(F.lit(1)).alias("rows")
    )
    broadcast = counted.join(F.broadcast(totals.select("customer", F.col("amount").alias("total"))), "customer", "left")
    return broadcast.select("customer", "amount", F.lit("2026-01").alias("period")).orderBy("customer")


_DUMP_SECONDS = 900
_MAX_UNUSED_SECONDS = 60 * 24 * 3600


def build_archive(target: Path, java: JavaRuntime) -> bool:
    """Make the archive unless another process is making it; false when nothing was made."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with contextlib.ExitStack() as stack:
        if not _acquire_lock(target, stack):
            return False
        prefix = f"building-{target.stem}-"
        for leftover in target.parent.glob(f"{prefix}*"):
            shutil.rmtree(leftover, ignore_errors=True)
        folder = Path(tempfile.mkdtemp(prefix=prefix, dir=target.parent))
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        classes, archive = folder / "classes.txt", folder / "archive.jsa"
        _record_classes(java, classes, folder)
        _dump_archive(java, classes, archive)
        archive.replace(target)
        failure_marker(target).unlink(missing_ok=True)
        _remove_unused_archives(target)
    return True


def _acquire_lock(target: Path, stack: contextlib.ExitStack) -> bool:
    """Whether this process alone builds; the lock ends with the process."""
    import fcntl

    lock = stack.enter_context(target.with_suffix(".lock").open("w"))
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _record_classes(java: JavaRuntime, classes: Path, folder: Path) -> None:
    conf = build_session_conf(
        EngineSettings(conf={"spark.driver.memory": "1g", "spark.sql.shuffle.partitions": 2}),
        master="local[2]",
        app_name="daybook-class-data",
        ui=False,
        cores=usable_cores(),
        memory=memory_bytes(),
    )
    launch = Launch(
        java=java,
        spark_home=spark_home(),
        conf=conf.application,
        scratch=create_scratch_folder(),
        is_local=True,
        # Every class is loaded, nothing runs long: a second compiler would only take time.
        workload="short",
        extra_flags=(f"-XX:DumpLoadedClassList={classes}",),
    )
    spark = open_classic_session(start_gateway(launch, os.environ), conf.session)
    try:
        run_training_workload(spark, folder / "data")
    finally:
        stop_session(spark)


def _dump_archive(java: JavaRuntime, classes: Path, archive: Path) -> None:
    jars = os.pathsep.join(map(str, spark_jars(spark_home())))
    command = [
        str(java.executable),
        "-Xshare:dump",
        f"-XX:SharedClassListFile={classes}",
        f"-XX:SharedArchiveFile={archive}",
        *(flag for flag in virtual_machine_flags("short") if not flag.startswith("-Xshare")),
        "-cp",
        jars,
    ]
    subprocess.run(command, check=True, capture_output=True, stdin=subprocess.DEVNULL, timeout=_DUMP_SECONDS)


def _remove_unused_archives(target: Path) -> None:
    """Remove archives that nothing has used for two months: they belong to versions that are gone."""
    for other in target.parent.glob("*.jsa"):
        with contextlib.suppress(OSError):
            if other != target and time.time() - other.stat().st_mtime > _MAX_UNUSED_SECONDS:
                other.unlink()


def main(arguments: list[str]) -> int:
    if not arguments:
        return _build_for_this_machine()
    target, executable, origin = Path(arguments[0]), Path(arguments[1]), arguments[2]
    java = inspect_java(executable, "package" if origin == "package" else "machine")
    if java is None:
        return 1
    with contextlib.suppress(OSError):
        os.nice(19)
    try:
        build_archive(target, java)
    except Exception:
        with contextlib.suppress(OSError):
            failure_marker(target).touch()
        raise
    return 0


def _build_for_this_machine() -> int:
    """Without arguments: the archive for this machine's Java, now, unless it is there."""
    java = find_java(os.environ)
    target = archive_path(java, spark_home(), os.environ)
    if target is not None and not target.exists():
        build_archive(target, java)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
