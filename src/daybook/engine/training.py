"""A small run that touches what real runs touch, so that the class-data archive knows their classes."""

import datetime
from decimal import Decimal
from pathlib import Path

from pyspark.sql import DataFrame, Observation, SparkSession, Window
from pyspark.sql import functions as F

_SCHEMA = "order_id string, customer string, amount decimal(18,2), quantity bigint, day date, at timestamp, note string"


def train(spark: SparkSession, folder: Path) -> None:
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
