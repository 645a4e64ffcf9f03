"""The close in PySpark by the letter of the specification: filter, change, union the rest; nothing is reused."""

from pathlib import Path

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as sf

from benchmarks.close.by_hand import LINES


def close(spark: SparkSession, ledger: Path, out: Path) -> None:
    journal = spark.read.parquet(str(ledger / "journal" / "*")).where("_period like '2026-%'")
    working = journal.withColumns({"_deleted": sf.lit(False), "_operation_seq": sf.lit(0)})
    rates = spark.read.parquet(str(ledger / "rates"))
    working = working.join(rates, "currency", "left")
    working = _update(working, None, {"euro": sf.round(sf.col("amount") * sf.col("rate"), 2)}).drop("rate")
    account_type = sf.expr("if(account < '5000', 'revenue', if(account < '6000', 'cost', 'other'))")
    working = _update(working, None, {"account_type": account_type})
    working = _update(working, "account_type = 'cost'", {"euro": -sf.col("euro")})
    working = _update(working, "cost_centre is null", {"cost_centre": sf.lit("CC-none")})
    working = _update(working, "quantity > 0", {"unit_price": sf.round(sf.col("euro") / sf.col("quantity"), 4)})
    working = _update(working, None, {"is_large": sf.abs("euro") > 10_000})
    working = _update(working, "status = 'reversed'", {"_deleted": sf.lit(True)})
    live = working.where("not _deleted and _operation_seq = 0")
    measures = (sf.sum("euro").alias("actual"), sf.count(sf.lit(1)).alias("line_count"))
    summary = live.groupBy("account", "cost_centre").agg(*measures).withColumn("budget", sf.expr("actual * 0"))
    working = _append(working, summary, 8)
    budgets = spark.read.parquet(str(ledger / "budgets")).where("budget_type = 'approved'")
    working = _append(working, budgets.groupBy("account", "cost_centre").agg(sf.sum("amount").alias("budget")), 9)
    live = working.where("not _deleted and _operation_seq = 0")
    working = _append(working, live.groupBy("account_type", "currency").agg(*measures), 10)
    working.where("not _deleted and _operation_seq = 0").select(*LINES).write.parquet(str(out / "lines"))
    columns = ("account", "cost_centre", "account_type", "currency", "actual", "line_count", "budget", "_operation_seq")
    working.where("not _deleted and _operation_seq > 0").select(*columns).write.parquet(str(out / "summary"))


def _update(working: DataFrame, selector: str | None, values: dict[str, Column]) -> DataFrame:
    picked = f"not _deleted and _operation_seq = 0 and ({selector or 'true'})"
    matching = working.where(picked).withColumns(values)
    others = working.where(f"not coalesce({picked}, false)")
    return matching.unionByName(others, allowMissingColumns=True)


def _append(working: DataFrame, rows: DataFrame, seq: int) -> DataFrame:
    added = rows.withColumns({"_deleted": sf.lit(False), "_operation_seq": sf.lit(seq)})
    return working.unionByName(added, allowMissingColumns=True)
