"""The close in PySpark as someone writes it who knows Spark: read once, one projection, aggregate, union, write."""

from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf


@dataclass(frozen=True, slots=True)
class Address:
    """A place on an object store, to be written like a path."""

    uri: str

    def __truediv__(self, name: str) -> "Address":
        return Address(f"{self.uri}/{name}")

    def __str__(self) -> str:
        return self.uri


LINES = ("line_id", "account", "cost_centre", "currency", "posted", "euro", "account_type", "unit_price", "is_large")


def close(spark: SparkSession, ledger: Path | Address, out: Path | Address) -> None:
    lines = _lines(spark, ledger)
    lines.select(*LINES).write.parquet(str(out / "lines"))
    _summary(spark, ledger, lines).write.parquet(str(out / "summary"))


def _lines(spark: SparkSession, ledger: Path | Address) -> DataFrame:
    """Every line that counts, with all its derived columns."""
    rates = sf.broadcast(spark.read.parquet(str(ledger / "rates")))
    journal = spark.read.parquet(str(ledger / "journal" / "*")).where("_period like '2026-%' and status <> 'reversed'")
    account_type = sf.expr("if(account < '5000', 'revenue', if(account < '6000', 'cost', 'other'))")
    converted = sf.round(sf.col("amount") * sf.col("rate"), 2)
    euro = sf.when(account_type == "cost", -converted).otherwise(converted)
    return (
        journal.join(rates, "currency", "left")
        .withColumns({"account_type": account_type, "euro": euro})
        .withColumns(
            {
                "cost_centre": sf.coalesce("cost_centre", sf.lit("CC-none")),
                "unit_price": sf.when(sf.col("quantity") > 0, sf.round(sf.col("euro") / sf.col("quantity"), 4)),
                "is_large": sf.abs("euro") > 10_000,
            }
        )
    )


def _summary(spark: SparkSession, ledger: Path | Address, lines: DataFrame) -> DataFrame:
    measures = (sf.sum("euro").alias("actual"), sf.count(sf.lit(1)).alias("line_count"))
    by_account = lines.groupBy("account", "cost_centre").agg(*measures).withColumn("budget", sf.expr("actual * 0"))
    by_type = lines.groupBy("account_type", "currency").agg(*measures)
    budgets = spark.read.parquet(str(ledger / "budgets")).where("budget_type = 'approved'")
    planned = budgets.groupBy("account", "cost_centre").agg(sf.sum("amount").alias("budget"))
    parts = [
        by_account.withColumn("_operation_seq", sf.lit(8)),
        planned.withColumn("_operation_seq", sf.lit(9)),
        by_type.withColumn("_operation_seq", sf.lit(10)),
    ]
    summary = parts[0]
    for part in parts[1:]:
        summary = summary.unionByName(part, allowMissingColumns=True)
    return summary
