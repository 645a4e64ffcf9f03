"""Five million rows to Delta and to Iceberg against Spark's own `write.parquet` of the same frame.

python -m benchmarks.write_delta [--rows 5000000] [--rounds 5]
"""

import argparse
import shutil
import tempfile
from functools import partial
from pathlib import Path
from statistics import median

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from benchmarks.figures import record
from benchmarks.meter import Reading, measure
from daybook.io.registry import writer_for
from daybook.io.target import OutputColumn, SliceOwner, target_at
from daybook.model.datasource import IcebergOptions, IcebergSource
from daybook.model.types import DATE, INTEGER, STRING, TIMESTAMP, DecimalType
from daybook.resolve.location import Location

COLUMNS = (
    OutputColumn("order_id", STRING),
    OutputColumn("customer", STRING),
    OutputColumn("quantity", INTEGER),
    OutputColumn("amount", DecimalType(18, 2)),
    OutputColumn("rate", DecimalType(38, 10)),
    OutputColumn("booked", DATE),
    OutputColumn("updated", TIMESTAMP),
    OutputColumn("region", STRING),
)


def frame(spark: SparkSession, rows: int) -> DataFrame:
    number = sf.col("id")
    return spark.range(rows).select(
        sf.concat(sf.lit("O-"), number.cast("string")).alias("order_id"),
        sf.concat(sf.lit("customer "), (number % 50_000).cast("string")).alias("customer"),
        (number % 97).alias("quantity"),
        ((number * 31 % 1_000_003) / 100).cast("decimal(18,2)").alias("amount"),
        ((number % 1_009) / 1_000).cast("decimal(38,10)").alias("rate"),
        sf.date_add(sf.lit("2026-01-01").cast("date"), (number % 365).cast("int")).alias("booked"),
        sf.timestamp_seconds(number % 100_000_000).alias("updated"),
        sf.element_at(
            sf.array(*(sf.lit(region) for region in ("EMEA", "AMER", "APAC"))), (number % 3 + 1).cast("int")
        ).alias("region"),
    )


def compare(format_: str, rows: int, tables: list[Reading], plains: list[Reading]) -> None:
    for kind in ("wall", "processor"):
        ours = [getattr(reading, kind) for reading in tables]
        theirs = [getattr(reading, kind) for reading in plains]
        print(f"{kind} seconds, median: write.parquet {median(theirs):.2f}, daybook {format_} {median(ours):.2f}")
        if kind == "wall":
            name = format_.capitalize()
            record(f"{name}, {rows:,} rows: daybook", ours)
            record(f"{name}, {rows:,} rows: write.parquet", theirs)
        ratio, best = median(ours) / median(theirs), min(ours) / min(theirs)
        print(f"  ratio: median {ratio:.3f}, best {best:.3f} (wanted: at most 1.10)")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=5_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.memory", "2g")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.parquet.outputTimestampType", "TIMESTAMP_MICROS")
        .config("spark.ui.showConsoleProgress", "false")
        .getOrCreate()
    )
    df = frame(spark, arguments.rows)
    place = Path(tempfile.mkdtemp(prefix="daybook-write-delta-"))

    def plain(round_: int) -> None:
        df.write.parquet(str(place / f"plain-{round_}"))

    options = IcebergOptions(catalog="sql", warehouse=str(place / "lake"))
    lake = IcebergSource(id="lake", name="lake", type="iceberg", options=options)
    locations = {
        "delta": Location("delta", uri=str(place / "table")),
        "iceberg": Location("iceberg", table="table", schema="close", datasource=lake),
    }

    def table(format_: str, round_: int) -> None:
        target = target_at(
            locations[format_],
            mode="replace_period",
            columns=COLUMNS,
            run_id=f"run-{round_}",
            operation_seq=1,
            owner=SliceOwner("benchmark", "output"),
            run_period="2026-01",
        )
        writer = writer_for(format_)
        writer.check(target)
        writer.commit(writer.stage(df, target), target)

    try:
        plain(-1)
        for format_ in locations:
            table(format_, -1)
        plains: list[Reading] = []
        tables: dict[str, list[Reading]] = {format_: [] for format_ in locations}
        for round_ in range(arguments.rounds):
            plains.append(measure(partial(plain, round_)))
            for format_, readings in tables.items():
                readings.append(measure(partial(table, format_, round_)))
            shutil.rmtree(place / f"plain-{round_}")
        print(f"rows {arguments.rows:,}, rounds {arguments.rounds}")
        for format_, readings in tables.items():
            compare(format_, arguments.rows, readings, plains)
    finally:
        spark.stop()
        shutil.rmtree(place, ignore_errors=True)


if __name__ == "__main__":
    main()
