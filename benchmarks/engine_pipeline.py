"""Four updates, a join, a delete and an aggregate over Parquet: the engine, an expert by hand, and the literal way.

python -m benchmarks.engine_pipeline [--rows 5000000] [--rounds 5]

All three write the same rows. The aim is at most 1.05 times the time of the program written by hand. Processor time
is shown beside the clock, because it does not depend on what else the machine does.
"""

import argparse
import datetime
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import psutil
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as sf

from benchmarks.figures import record
from daybook.definitions.files import definitions_of_files
from daybook.definitions.loading.definition_texts import load_text
from daybook.definitions.loading.loaded_workspace import LoadedWorkspace
from daybook.engine.context import ORDINAL_COLUMN, ORIGIN_COLUMN, SourceFrame, SourceRows
from daybook.engine.pipeline import Pipeline
from daybook.expression import Constants
from daybook.model.calendar import Period
from daybook.model.definition import DEFINITION_KINDS
from daybook.model.settings import WorkspaceSettings
from daybook.plan.plan_project import plan_project
from daybook.plan.steps import Plan

AIM = 1.05
NOW = datetime.datetime(2026, 2, 1, 12, tzinfo=datetime.UTC)
JANUARY = Period("2026-01", "month", datetime.date(2026, 1, 1), datetime.date(2026, 1, 31))

DEFINITIONS = """
dataset:
  id: orders
  name: Orders
  main_table:
    name: orders
    temporal_mode: period
    columns:
      - {name: order_id, type: string, nullable: false}
      - {name: customer_id, type: string}
      - {name: region, type: string}
      - {name: status, type: string}
      - {name: amount, type: "decimal(18,2)"}
      - {name: quantity, type: integer}
      - {name: day, type: date}
---
dataset:
  id: customers
  name: Customers
  main_table:
    name: customers
    columns:
      - {name: id, type: string, nullable: false}
      - {name: tier, type: string}
---
project:
  id: benchmark
  name: Benchmark
  input: {dataset_id: orders}
  operations:
  - type: update
    selector: region = "EMEA"
    arguments: {assignments: [{column: rate, expression: "0.1"}]}
  - type: update
    selector: status = "active"
    arguments:
      joins: [{alias: c, dataset_id: customers, on: customer_id = c.id}]
      assignments: [{column: tier, expression: c.tier}]
  - type: update
    arguments: {assignments: [{column: net, expression: amount * quantity}]}
  - type: update
    selector: tier = "gold"
    arguments: {assignments: [{column: net, expression: net * 0.9}]}
  - type: delete
    selector: amount = 0
  - type: aggregate
    arguments:
      group_by: [region, tier]
      aggregations: [{column: total, expression: SUM(net)}, {column: orders, expression: COUNT(*)}]
  - type: output
    arguments:
      destination: {location: out}
      columns: [order_id, customer_id, region, status, amount, quantity, day, rate, tier, net, total, orders,
                _row_id, _operation_seq, _updated_at]
"""


def make_data(spark: SparkSession, rows: int, folder: Path) -> None:
    spark.range(0, rows, 1, 8).selectExpr(
        "concat('O-', id) order_id",
        "concat('C-', id * 7 % 100000) customer_id",
        "element_at(array('EMEA', 'AMER', 'APAC'), cast(id % 3 + 1 as int)) region",
        "if(id % 5 < 4, 'active', 'closed') status",
        "cast((id * 31 % 1000003) / 100 as decimal(18,2)) amount",
        "id % 13 quantity",
        "date_add(date'2026-01-01', cast(id % 31 as int)) day",
        "'2026-01' _period",
    ).write.parquet(str(folder / "orders"))
    spark.range(100_000).selectExpr("concat('C-', id) id", "if(id % 4 = 0, 'gold', 'standard') tier").write.parquet(
        str(folder / "customers")
    )


def orders(spark: SparkSession, folder: Path) -> DataFrame:
    place = sf.regexp_extract("_metadata.file_path", "[^/]+$", 0)
    return spark.read.parquet(str(folder / "orders")).select(
        "*", place.alias(ORIGIN_COLUMN), sf.col("_metadata.row_index").alias(ORDINAL_COLUMN)
    )


def planned() -> Plan:
    loaded = load_text(DEFINITIONS, "benchmark.yaml")
    definitions = {kind: {each.id: each for each in loaded if each.kind == kind} for kind in DEFINITION_KINDS}
    catalog = definitions_of_files(LoadedWorkspace(Path(), WorkspaceSettings(name="benchmark"), definitions))
    project = definitions["project"]["benchmark"]
    return plan_project(project.model, project.source, catalog, Constants(NOW, JANUARY), with_locations=False)


def by_engine(spark: SparkSession, folder: Path, target: Path) -> None:
    """Planning included."""
    customers = spark.read.parquet(str(folder / "customers")).select(
        "*", sf.lit("c").alias(ORIGIN_COLUMN), sf.lit(0).cast("bigint").alias(ORDINAL_COLUMN)
    )
    sources = {
        "input": SourceFrame(SourceRows.of(orders(spark, folder)), frozenset({"_period"})),
        "2.c": SourceFrame(SourceRows.of(customers), frozenset()),
    }
    with Pipeline(spark, planned(), sources, staging=f"{target}-staging") as pipeline:
        for group in pipeline.groups():
            for output in group.outputs:
                output.df.write.parquet(str(target))
            group.verify()
            group.counts()


def _uuid(digest: Column) -> Column:
    variant = sf.translate(sf.substring(digest, 4, 1), "0123456789abcdef", "89ab89ab89ab89ab")
    parts = (sf.lit("019b76da-a800-7"), sf.substring(digest, 1, 3), sf.lit("-"), variant)
    return sf.concat(*parts, sf.substring(digest, 5, 3), sf.lit("-"), sf.substring(digest, 8, 12))


def _tagged(column: str) -> Column:
    text = sf.col(column).cast("string")
    return sf.coalesce(sf.concat(sf.octet_length(text).cast("string"), sf.lit(":"), text), sf.lit("-"))


def by_hand(spark: SparkSession, folder: Path, target: Path) -> None:
    """What someone who knows Spark writes for these rows: one projection, one broadcast join, one union."""
    customers = sf.broadcast(spark.read.parquet(str(folder / "customers")).withColumnRenamed("tier", "joined_tier"))
    active = sf.col("status") == "active"
    tier = sf.when(active, sf.col("joined_tier"))
    net = (sf.col("amount") * sf.col("quantity")).cast("decimal(38,2)")
    details = (
        orders(spark, folder)
        .where((sf.col("_period") == "2026-01") & ((sf.col("amount") != 0) | sf.col("amount").isNull()))
        .join(customers, active & (sf.col("customer_id") == sf.col("id")), "left")
        .withColumn("tier", tier)
        .select(
            *("order_id", "customer_id", "region", "status", "amount", "quantity", "day"),
            sf.when(sf.col("region") == "EMEA", sf.expr("0.1BD")).alias("rate"),
            "tier",
            sf.when(sf.col("tier") == "gold", (net * sf.expr("0.9BD")).cast("decimal(38,3)"))
            .otherwise(net.cast("decimal(38,3)"))
            .alias("net"),
            ORIGIN_COLUMN,
            ORDINAL_COLUMN,
        )
    )
    loaded = sf.md5(sf.concat(sf.lit("6:loaded6:orders"), _tagged(ORIGIN_COLUMN), _tagged(ORDINAL_COLUMN)))
    grouped = sf.md5(sf.concat(sf.lit("7:summary9:benchmark1:6"), _tagged("region"), _tagged("tier")))
    summary = details.groupBy("region", "tier").agg(sf.sum("net").alias("total"), sf.count("*").alias("orders"))
    stamp = sf.lit(NOW).alias("_updated_at")
    business = ("order_id", "customer_id", "region", "status", "amount", "quantity", "day", "rate", "tier", "net")
    rows = details.select(
        *business,
        sf.lit(None).cast("decimal(38,3)").alias("total"),
        sf.lit(None).cast("bigint").alias("orders"),
        _uuid(loaded).alias("_row_id"),
        sf.lit(0).cast("bigint").alias("_operation_seq"),
        stamp,
    )
    kinds = dict(rows.dtypes)
    totals = summary.select(
        *(
            sf.col(name) if name in ("region", "tier") else sf.lit(None).cast(kinds[name]).alias(name)
            for name in business
        ),
        "total",
        "orders",
        _uuid(grouped).alias("_row_id"),
        sf.lit(6).cast("bigint").alias("_operation_seq"),
        stamp,
    )
    rows.union(totals).write.parquet(str(target))


def literally(spark: SparkSession, folder: Path, target: Path) -> None:
    """Every update as the seed draws it: filter, change, union with the rest."""

    def update(df: DataFrame, picked: Column, change: Callable[[DataFrame], DataFrame]) -> DataFrame:
        chosen = sf.coalesce(picked, sf.lit(False)) & ~sf.col("_deleted")
        return change(df.where(chosen)).select(df.columns).unionAll(df.where(~chosen))

    customers = spark.read.parquet(str(folder / "customers")).withColumnRenamed("tier", "joined_tier")
    df = orders(spark, folder).where(sf.col("_period") == "2026-01")
    loaded = sf.md5(sf.concat(sf.lit("6:loaded6:orders"), _tagged(ORIGIN_COLUMN), _tagged(ORDINAL_COLUMN)))
    df = df.select(
        *("order_id", "customer_id", "region", "status", "amount", "quantity", "day"),
        sf.lit(None).cast("decimal(1,1)").alias("rate"),
        sf.lit(None).cast("string").alias("tier"),
        sf.lit(None).cast("decimal(38,3)").alias("net"),
        sf.lit(False).alias("_deleted"),
        _uuid(loaded).alias("_row_id"),
    )
    df = update(df, sf.col("region") == "EMEA", lambda rows: rows.withColumn("rate", sf.expr("0.1BD")))
    df = update(
        df,
        sf.col("status") == "active",
        lambda rows: rows.join(customers, sf.col("customer_id") == sf.col("id"), "left").withColumn(
            "tier", sf.col("joined_tier")
        ),
    )
    df = update(
        df,
        sf.lit(True),
        lambda rows: rows.withColumn("net", (sf.col("amount") * sf.col("quantity")).cast("decimal(38,3)")),
    )
    df = update(
        df,
        sf.col("tier") == "gold",
        lambda rows: rows.withColumn("net", (sf.col("net") * sf.expr("0.9BD")).cast("decimal(38,3)")),
    )
    df = update(df, sf.col("amount") == 0, lambda rows: rows.withColumn("_deleted", sf.lit(True)))
    live = df.where(~sf.col("_deleted"))
    grouped = sf.md5(sf.concat(sf.lit("7:summary9:benchmark1:6"), _tagged("region"), _tagged("tier")))
    summary = live.groupBy("region", "tier").agg(sf.sum("net").alias("total"), sf.count("*").alias("orders"))
    totals = summary.withColumn("_row_id", _uuid(grouped)).withColumn("_operation_seq", sf.lit(6).cast("bigint"))
    rows = live.drop("_deleted").withColumn("_operation_seq", sf.lit(0).cast("bigint"))
    both = rows.unionByName(totals, allowMissingColumns=True).withColumn("_updated_at", sf.lit(NOW))
    names = ("order_id", "customer_id", "region", "status", "amount", "quantity", "day", "rate", "tier", "net")
    both.select(*names, "total", "orders", "_row_id", "_operation_seq", "_updated_at").write.parquet(str(target))


def fingerprint(spark: SparkSession, folder: Path) -> tuple[int, int]:
    """The rows of a folder whatever their order, every value as text."""
    df = spark.read.parquet(str(folder))
    shown = [sf.coalesce(sf.col(name).cast("string"), sf.lit("NULL")) for name in df.columns if name != "net"]
    numbers = [sf.coalesce(sf.col("net").cast("decimal(38,3)").cast("string"), sf.lit("NULL"))]
    hashed = sf.xxhash64(*shown, *numbers) % 1_000_003
    found = df.agg(sf.count("*"), sf.sum(hashed)).first()
    assert found is not None
    return int(found[0]), int(found[1])


def processor_time() -> float:
    """Of this process and its Java."""
    processes = [psutil.Process(), *psutil.Process().children(recursive=True)]
    return sum(sum(each.cpu_times()[:2]) for each in processes)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=5_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--without-literal", action="store_true")
    arguments = parser.parse_args()
    builder = SparkSession.builder.master("local[2]")
    for key, value in {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.memory": "2g",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.ansi.enabled": "true",
        "spark.sql.caseSensitive": "true",
        "spark.sql.decimalOperations.allowPrecisionLoss": "false",
        "spark.sql.shuffle.partitions": "8",
        "spark.log.level": "ERROR",
    }.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    folder = Path(tempfile.mkdtemp(prefix="daybook-engine-"))
    try:
        make_data(spark, arguments.rows, folder)
        ways = {"engine": by_engine, "by hand": by_hand}
        if not arguments.without_literal:
            ways["literally"] = literally
        clock: dict[str, list[float]] = {name: [] for name in ways}
        processor: dict[str, list[float]] = {name: [] for name in ways}
        prints = {}
        for round_ in range(arguments.rounds + 1):
            for name, way in ways.items():
                target = folder / f"{name.replace(' ', '-')}-{round_}"
                began, used = time.perf_counter(), processor_time()
                way(spark, folder, target)
                # The first round warms up.
                if round_:
                    clock[name].append(time.perf_counter() - began)
                    processor[name].append(processor_time() - used)
                else:
                    prints[name] = fingerprint(spark, target)
                shutil.rmtree(target)
        print(f"rows and fingerprint: {prints}")
        for name in ways:
            record(f"pipeline, {arguments.rows:,} rows: {name}", clock[name])
            print(f"{name:10} {min(clock[name]):6.2f} s, {min(processor[name]):6.2f} s of processor time")
        ratios = [min(times["engine"]) / min(times["by hand"]) for times in (clock, processor)]
        print(f"engine / by hand: {ratios[0]:.3f} by the clock, {ratios[1]:.3f} by processor time (aim {AIM})")
        return 0 if len(set(prints.values())) == 1 and min(ratios) <= AIM else 1
    finally:
        spark.stop()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
