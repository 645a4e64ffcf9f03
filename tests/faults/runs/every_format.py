"""One project that writes every format, and an independent look at what each place holds."""

import csv
import json
import sqlite3
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pyarrow.parquet as pq
from deltalake import DeltaTable

from daybook.model.datasource import PostgresqlSource
from tests.workspaces import Folder, to_path, to_table

FORMATS = ("delta", "parquet", "csv", "json", "sqlite", "postgresql")
# A table with a log of versions, a file and a database: the others are written like one of them.
ONE_OF_A_KIND = ("delta", "csv", "postgresql")
OLD, NEW = 90, 120
COLUMNS = ["order_id", "region", "amount"]

Held = Counter[str]


def write_orders(folder: Folder, mark: str, count: int) -> None:
    """Orders of one month, all marked."""
    rows = [
        {"order_id": f"O-{number}", "region": mark, "amount": f"{number}.00", "_period": "2026-01"}
        for number in range(count)
    ]
    folder.write_csv("data/orders.csv", rows)


def output_of(format_: str) -> dict[str, Any]:
    match format_:
        case "csv":
            return to_path("out/result.csv", columns=COLUMNS)
        case "delta":
            return to_table("result", "lake", columns=COLUMNS, register_as_dataset="booked")
        case _:
            return to_table("result", format_, columns=COLUMNS)


def prepare(folder: Folder, postgresql: PostgresqlSource, formats: tuple[str, ...] = FORMATS) -> str:
    """The schema of PostgreSQL that is the workspace's own."""
    folder.datasource("parquet", "parquet", path="parquet")
    folder.datasource("json", "json", path="json")
    folder.datasource("sqlite", "sqlite", path="sqlite/data.db")
    options = postgresql.options
    schema = "s_" + str(abs(hash(str(folder.root))))
    folder.datasource(
        "postgresql", "postgresql", host=options.host, database="postgres", user="postgres", schema=schema
    )
    with psycopg.connect(host=options.host, dbname="postgres", user="postgres", autocommit=True) as connection:
        connection.execute(f'create schema if not exists "{schema}"'.encode())
    folder.project(*(output_of(format_) for format_ in formats))
    return schema


def readers(folder: Folder) -> dict[str, Callable[[], Held]]:
    """What a plain reader of each format finds: how many rows of which mark; missing places are empty."""
    root = folder.root

    def delta() -> Held:
        return Counter(DeltaTable(root / "lake/result").to_pyarrow_table()["region"].to_pylist())

    def parquet() -> Held:
        files = sorted((root / "parquet/result").rglob("*.parquet"))
        return Counter(mark for file in files for mark in pq.ParquetFile(file).read()["region"].to_pylist())

    def csv_file() -> Held:
        with (root / "out/result.csv").open(newline="") as stream:
            return Counter(row["region"] for row in csv.DictReader(stream))

    def json_folder() -> Held:
        files = sorted((root / "json/result").rglob("part*.json"))
        return Counter(json.loads(line)["region"] for file in files for line in file.read_text().splitlines())

    def sqlite() -> Held:
        connection = sqlite3.connect(f"file:{root}/sqlite/data.db?mode=ro", uri=True, timeout=30)
        try:
            return Counter(dict(connection.execute("select region, count(*) from result group by 1").fetchall()))
        finally:
            connection.close()

    def postgresql() -> Held:
        options = _postgresql(folder)
        with psycopg.connect(host=options["host"], dbname="postgres", user="postgres") as connection:
            query = f'select region, count(*) from "{options["schema"]}".result group by 1'
            return Counter(dict(connection.execute(query.encode()).fetchall()))

    return {
        "delta": delta,
        "parquet": parquet,
        "csv": csv_file,
        "json": json_folder,
        "sqlite": sqlite,
        "postgresql": postgresql,
    }


def held(folder: Folder, formats: tuple[str, ...] = FORMATS) -> dict[str, Held]:
    found = readers(folder)
    return {format_: found[format_]() for format_ in formats}


def staged_in_databases(folder: Folder) -> list[str]:
    options = _postgresql(folder)
    with psycopg.connect(host=options["host"], dbname="postgres", user="postgres") as connection:
        query = "select tablename from pg_tables where schemaname = %s and tablename like 'daybook-%%'"
        return [name for (name,) in connection.execute(query, (options["schema"],)).fetchall()]


def _postgresql(folder: Folder) -> dict[str, Any]:
    import yaml

    text = Path(folder.root / "definitions/datasource-postgresql.yaml").read_text()
    options: dict[str, Any] = yaml.safe_load(text)["datasource"]["options"]
    return options
