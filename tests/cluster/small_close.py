"""A small close with every kind of step and several kinds of outputs, run by the command line."""

import contextlib
import json
import sqlite3
import subprocess
import sys
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
from psycopg.rows import dict_row

from tests.workspaces import Folder, assign, to_path, to_table

PERIOD = "2026-01"
FILES = 8
ACCOUNTS = 7
RATES = {"EUR": Decimal("1.0800"), "USD": Decimal("1.0000"), "CHF": Decimal("1.1000")}
CURRENCIES = tuple(RATES)
BANDS = (("small", Decimal("0.00"), Decimal("100.00")), ("large", Decimal("100.00"), Decimal("1000000.00")))

# Each run has its own timestamp.
CLOCK = {"_created_at", "_updated_at"}

# Many tasks and real shuffles, also for few rows: an executor that dies takes results with it.
MANY_TASKS: dict[str, Any] = {
    "spark.sql.shuffle.partitions": 6,
    "spark.sql.autoBroadcastJoinThreshold": -1,
    "spark.sql.adaptive.coalescePartitions.enabled": False,
    "spark.sql.files.openCostInBytes": 128 << 20,
    "spark.executor.memory": "700m",
    "spark.driver.memory": "1g",
}

_COLUMNS: list[dict[str, Any]] = [
    {"name": "line_id", "type": "string", "nullable": False},
    {"name": "account", "type": "string"},
    {"name": "currency", "type": "string"},
    {"name": "amount", "type": "decimal(18,2)"},
]


@dataclass(frozen=True, slots=True)
class Line:
    line_id: str
    account: str
    currency: str
    amount: Decimal


def lines(count: int) -> list[Line]:
    return [
        Line(f"L-{n}", f"A-{n % ACCOUNTS}", CURRENCIES[n * 5 % 3], Decimal(n * 37 % 50_021) / 100) for n in range(count)
    ]


def expected_totals(count: int) -> dict[str, Decimal]:
    """Converted amounts by account in plain Python: deleted lines left out."""
    totals: dict[str, Decimal] = defaultdict(Decimal)
    for line in lines(count):
        if line.amount != 0:
            totals[line.account] += (line.amount * RATES[line.currency]).quantize(Decimal("0.01"), "ROUND_HALF_UP")
    return dict(totals)


class SmallClose:
    """The workspace at `root`, for a master and with settings; `postgres` is the URL of a database."""

    def __init__(self, root: Path, master: str, count: int, *, postgres: str | None = None) -> None:
        self.root = root
        self.count = count
        self._postgres = postgres
        engine = {"master": master, "conf": MANY_TASKS}
        self.folder = Folder.new(root, _no_session, engine=engine, state="state")
        self._write_data()
        self._define()

    def command(self) -> list[str]:
        return [sys.executable, "-m", "daybook", "-w", str(self.root), "run", "p", "--period", PERIOD, "--json"]

    def run(self, timeout: float = 900) -> Mapping[str, Any]:
        done = subprocess.run(self.command(), capture_output=True, text=True, timeout=timeout, check=False)
        assert done.returncode == 0, done.stderr + done.stdout
        return result_of(done.stdout)

    def table(self) -> list[dict[str, Any]]:
        return _sorted(self.folder.table("lines"))

    def report(self) -> list[dict[str, str]]:
        """In the order it was written in."""
        return self.folder.csv_rows("out/report.csv")

    def sqlite(self) -> list[dict[str, Any]]:
        with contextlib.closing(sqlite3.connect(self.root / "books.db")) as connection:
            connection.row_factory = sqlite3.Row
            return _sorted([dict(row) for row in connection.execute("select * from lines")])

    def postgresql(self) -> list[dict[str, Any]]:
        assert self._postgres is not None
        with psycopg.connect(self._postgres, row_factory=dict_row) as connection:
            return _sorted(connection.execute("select * from lines").fetchall())

    def everything(self) -> dict[str, list[dict[str, Any]]]:
        """All rows of all outputs, without the time of the run."""
        found = {"delta": self.table(), "sqlite": self.sqlite()}
        if self._postgres:
            found["postgresql"] = self.postgresql()
        rows = {
            name: [{k: v for k, v in row.items() if k not in CLOCK} for row in each] for name, each in found.items()
        }
        return {**rows, "csv": [dict(row) for row in self.report()]}

    def _write_data(self) -> None:
        made = lines(self.count)
        for number in range(FILES):
            part = made[number::FILES]
            columns = {
                "line_id": [line.line_id for line in part],
                "account": [line.account for line in part],
                "currency": [line.currency for line in part],
                "amount": pa.array([line.amount for line in part], pa.decimal128(18, 2)),
                "_period": [PERIOD] * len(part),
            }
            path = self.root / "ledger" / f"part-{number}.parquet"
            path.parent.mkdir(exist_ok=True)
            pq.write_table(pa.table(columns), path)
        rates = [{"code": code, "rate": str(rate)} for code, rate in RATES.items()]
        self.folder.write_csv("data/rates.csv", rates)
        bands = [
            {"code": code, "band": name, "low": str(low), "high": str(high)}
            for code in RATES
            for name, low, high in BANDS
        ]
        self.folder.write_csv("data/bands.csv", bands)
        budgets = [{"account": f"A-{n % ACCOUNTS}", "amount": "10.00", "_period": PERIOD} for n in range(100)]
        self.folder.write_csv("data/budgets.csv", budgets)

    def _define(self) -> None:
        folder = self.folder
        text: dict[str, Any] = {"type": "string"}
        money: dict[str, Any] = {"type": "decimal(18,2)"}
        folder.dataset("ledger", _COLUMNS, {"path": "ledger", "format": "parquet"}, temporal_mode="period")
        folder.dataset("rates", [{"name": "code", **text}, {"name": "rate", "type": "decimal(9,4)"}], _at("rates"))
        texts = [{"name": name, **text} for name in ("code", "band")]
        folder.dataset("bands", [*texts, {"name": "low", **money}, {"name": "high", **money}], _at("bands"))
        budget = [{"name": "account", **text}, {"name": "amount", **money}]
        folder.dataset("budgets", budget, _at("budgets"), temporal_mode="period")
        folder.datasource("books", "sqlite", path="books.db")
        folder.project(*self._operations(), input_="ledger")

    def _operations(self) -> list[dict[str, Any]]:
        total = {"column": "total", "expression": "SUM(converted)"}
        budget = {"group_by": ["account"], "aggregations": [{"column": "amount", "expression": "SUM(amount)"}]}
        operations = [
            _joined("converted", "ROUND(amount * r.rate, 2)", "r", "rates", "currency = r.code"),
            # Its rows are counted below and above a shuffle, and below once more where an executor is lost.
            _joined("size", "b.band", "b", "bands", "currency = b.code AND amount >= b.low AND amount < b.high"),
            {"type": "delete", "selector": "amount = 0"},
            {"type": "aggregate", "arguments": {"group_by": ["account"], "aggregations": [total]}},
            {"type": "append", "arguments": {"source": {"dataset_id": "budgets"}, "aggregation": budget}},
            assign("note", "CONCAT(account, '!')", selector="size = 'large'"),
            to_table("lines"),
            to_path("out/report.csv", columns=["account", "total"], order_by=["account"]),
            to_table("lines", "books", system_columns=False),
        ]
        operations[-2]["selector"] = "_operation_seq = 4"
        if self._postgres:
            address = urlsplit(self._postgres)
            host = address.query.removeprefix("host=")
            self.folder.datasource("pg", "postgresql", host=host, database=address.path[1:], user="postgres")
            operations.append(to_table("lines", "pg"))
        return operations


def result_of(text: str) -> Mapping[str, Any]:
    """What `daybook run --json` says."""
    data = json.loads(text)
    result: Mapping[str, Any] = data[0] if isinstance(data, list) else data
    return result


def counts(result: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What a run counted, by operation; durations and ids left out."""
    kept = [key for key in result["operations"][0] if "rows" in key or key in ("seq", "type")]
    return [{key: operation[key] for key in kept} for operation in result["operations"]]


def _joined(column: str, expression: str, alias: str, dataset: str, on: str) -> dict[str, Any]:
    operation = assign(column, expression)
    operation["arguments"]["joins"] = [{"alias": alias, "dataset_id": dataset, "on": on}]
    return operation


def _at(name: str) -> dict[str, Any]:
    return {"path": f"data/{name}.csv"}


def _sorted(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(rows, key=lambda row: (str(row.get("_row_id")), str(row.get("line_id")), str(row)))


def _no_session() -> Any:
    raise AssertionError("runs of this workspace are processes of their own")
