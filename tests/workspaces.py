"""Small workspaces that tests run projects in."""

import csv
import datetime
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import yaml
from deltalake import DeltaTable

from daybook.definitions.loading import LoadedWorkspace, load_workspace
from daybook.resolve.project_files import CheckedFiles
from daybook.runs.attempt.execution import retry
from daybook.runs.attempt.run_request import RunRequest, check_request
from daybook.runs.environment import RunEnvironment, SessionProvider, open_run_environment
from daybook.runs.explain.levels import NumberExplanation, OperationExplanation, RowsQuestion, explain, explain_number
from daybook.runs.lifecycle.activation import activate
from daybook.runs.lifecycle.apply import apply
from daybook.runs.replay import ReplayResult, replay
from daybook.runs.run_result import RunResult
from daybook.runs.snapshot import RunSnapshot, snapshot_from_json
from daybook.store.database.periods import Slices
from daybook.store.records import RunRecord
from daybook.workspace.execution import run_periods

ORDERS = [
    {"order_id": "O-1", "region": "EMEA", "amount": "100.00", "_period": "2026-01"},
    {"order_id": "O-2", "region": "EMEA", "amount": "50.00", "_period": "2026-01"},
    {"order_id": "O-3", "region": "APAC", "amount": "0.00", "_period": "2026-01"},
    {"order_id": "O-4", "region": "APAC", "amount": "70.00", "_period": "2026-02"},
]

COLUMNS: list[dict[str, Any]] = [
    {"name": "order_id", "type": "string", "nullable": False},
    {"name": "region", "type": "string"},
    {"name": "amount", "type": "decimal(18,2)"},
]


def to_table(table: str = "result", datasource: str = "lake", **more: Any) -> dict[str, Any]:
    """An output into a table."""
    return {"type": "output", "arguments": {"destination": {"datasource_id": datasource, "table": table}, **more}}


def to_path(path: str | dict[str, str], **more: Any) -> dict[str, Any]:
    """An output to an inline location."""
    return {"type": "output", "arguments": {"destination": {"location": path}, **more}}


def assign(column: str, expression: str, **more: Any) -> dict[str, Any]:
    return {"type": "update", "arguments": {"assignments": [{"column": column, "expression": expression}]}, **more}


def dump(definition: dict[str, Any]) -> str:
    return yaml.dump(definition, Dumper=yaml.CSafeDumper, sort_keys=False)


def no_session() -> NoReturn:
    """For workspaces of commands, which start a session of their own."""
    raise AssertionError("the command has its own")


def run_files(workspace: LoadedWorkspace, around: RunEnvironment, request: RunRequest) -> list[RunResult]:
    """Run a project as the product does."""
    files = CheckedFiles(workspace)
    return list(run_periods(files, around, check_request(files, request)))


# Another format for the lake of all workspaces, such as iceberg: what holds for one holds for the other.
LAKE_VARIABLE = "DAYBOOK_TEST_LAKE"


def iceberg_rows(warehouse: Path, name: str) -> list[dict[str, Any]]:
    """The rows of a table in a warehouse, as pyiceberg reads them, under the names that Daybook has for columns."""
    from pyiceberg.catalog.sql import SqlCatalog

    catalog = SqlCatalog("default", uri=f"sqlite:///{warehouse}/catalog.db", warehouse=str(warehouse))
    try:
        rows = catalog.load_table(("close", name)).scan().to_arrow().to_pylist()
    finally:
        catalog.close()
    own = {"daybook_row_id": "_row_id", "daybook_deleted": "_deleted"}
    return [{own.get(column, column): value for column, value in row.items()} for row in rows]


@dataclass
class Folder:
    """A workspace on disk with orders of two months and a lake; `session` gives the Spark session."""

    root: Path
    session: SessionProvider

    @property
    def lake(self) -> str:
        """The format of the tables in the lake."""
        return os.environ.get(LAKE_VARIABLE, "delta")

    @classmethod
    def new(cls, root: Path, session: SessionProvider, **settings: Any) -> "Folder":
        folder = cls(root, session)
        root.mkdir(parents=True, exist_ok=True)
        (root / "daybook.yaml").write_text(dump({"name": "tests", **settings}))
        folder.write_csv("data/orders.csv", ORDERS)
        folder.datasource("lake", folder.lake, path="lake")
        folder.dataset("orders", COLUMNS, {"path": "data/orders.csv"}, temporal_mode="period")
        return folder

    @classmethod
    def for_commands(cls, root: Path) -> "Folder":
        """A workspace for the program itself, on a small Spark."""
        conf = {"spark.sql.shuffle.partitions": 2, "spark.driver.memory": "1g"}
        return cls.new(root, no_session, engine={"master": "local[2]", "conf": conf})

    def write_csv(self, path: str, rows: list[dict[str, str]], columns: list[str] | None = None) -> None:
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        with target.open("w", newline="", encoding="utf-8") as stream:
            writer = csv.DictWriter(stream, columns or list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)

    def define(self, kind: str, body: dict[str, Any]) -> None:
        path = self.root / "definitions" / f"{kind}-{body['id']}.yaml"
        path.parent.mkdir(exist_ok=True)
        # Through JSON, since what is used twice would become an alias.
        definition = json.loads(json.dumps({kind: {"name": body["id"], **body}}))
        path.write_text(dump(definition))

    def datasource(self, id_: str, type_: str, **options: Any) -> None:
        if type_ == "iceberg" and "path" in options:
            options = {"catalog": "sql", "warehouse": options["path"], "namespace": "close"}
        self.define("datasource", {"id": id_, "type": type_, "options": options})

    def dataset(self, id_: str, columns: list[dict[str, Any]], location: dict[str, Any] | None, **table: Any) -> None:
        where = {"location": location} if location else {}
        self.define("dataset", {"id": id_, "main_table": {"name": id_, "columns": columns, **where, **table}})

    def project(self, *operations: dict[str, Any], id_: str = "p", input_: str = "orders", **more: Any) -> None:
        self.define("project", {"id": id_, "input": {"dataset_id": input_}, "operations": list(operations), **more})

    def load(self) -> LoadedWorkspace:
        return load_workspace(self.root)

    @contextmanager
    def around(self, workspace: LoadedWorkspace | None = None) -> Iterator[RunEnvironment]:
        with open_run_environment(workspace or self.load(), self.session) as found:
            yield found

    def runs(self, period: str, project: str = "p", **wish: Any) -> list[RunResult]:
        workspace = self.load()
        with self.around(workspace) as around:
            return run_files(workspace, around, RunRequest(project, period, **wish))

    def run(self, period: str = "2026-01", project: str = "p", **wish: Any) -> RunResult:
        (result,) = self.runs(period, project, **wish)
        return result

    def retry(self, run_id: str) -> RunResult:
        with self.around() as around:
            return retry(around, run_id)

    def replay(self, run_id: str, *, keep: bool = False) -> ReplayResult:
        with self.around() as around:
            return replay(around, run_id, keep=keep)

    def explain(
        self, run_id: str, operation: str | int, keys: dict[str, str | None] | None = None, *, limit: int = 20
    ) -> OperationExplanation:
        with self.around() as around:
            return explain(around, run_id, str(operation), keys or {}, limit=limit)

    def explain_number(
        self, run_id: str, operation: str | int, keys: dict[str, str | None] | None = None, **options: Any
    ) -> NumberExplanation:
        question = RowsQuestion(run_id, str(operation), (keys,) if keys else ())
        with self.around() as around:
            return explain_number(around, question, **{"limit": 20, **options})

    def apply(self) -> None:
        workspace = self.load()
        with self.around(workspace) as around:
            now = datetime.datetime.now(datetime.UTC)
            apply(around.store, workspace.all(), workspace="tests", now=now)

    def activate(self, project: str = "p") -> None:
        with self.around() as around:
            activate(around.store, project, now=datetime.datetime.now(datetime.UTC))

    def all_runs(self) -> tuple[RunRecord, ...]:
        with self.around() as around, around.store.read() as transaction:
            return transaction.runs.page(limit=1000).runs

    def last_run(self) -> RunRecord:
        return self.all_runs()[0]

    def snapshot(self, run_id: str) -> RunSnapshot:
        with self.around() as around, around.store.read() as transaction:
            return snapshot_from_json(transaction.runs.snapshot(run_id))

    def dataset_versions(self, dataset_id: str) -> tuple[int, ...]:
        with self.around() as around, around.store.read() as transaction:
            return transaction.definitions.versions("dataset", dataset_id)

    @contextmanager
    def slices(self) -> Iterator[Slices]:
        with self.around() as around, around.store.read() as transaction:
            yield transaction.slices

    def table(self, name: str = "result", version: int | None = None) -> list[dict[str, Any]]:
        """The rows of a table in the lake, by an independent reader."""
        if self.lake == "iceberg":
            return iceberg_rows(self.root / "lake", name)
        rows: list[dict[str, Any]] = (
            DeltaTable(self.root / "lake" / name, version=version).to_pyarrow_table().to_pylist()
        )
        return rows

    def ids(self, name: str = "result") -> list[tuple[str, str]]:
        """(period of the slice, order) of a Delta table in the lake."""
        return sorted((row["_run_period"], row["order_id"]) for row in self.table(name))

    def csv_rows(self, path: str) -> list[dict[str, str]]:
        with (self.root / path).open(newline="", encoding="utf-8") as stream:
            return list(csv.DictReader(stream))

    def staged(self) -> list[str]:
        """Whatever of staging, and unpublished landings, is on disk, but for what Delta versions refer to."""
        found = [path.name for path in self.root.rglob(".daybook-*") if path.is_dir()]
        found += [path.name for path in self.root.glob(".daybook/staging/*")]
        for log in self.root.rglob("_delta_log"):
            known = {
                json.loads(line)["commitInfo"]["daybook"]
                for path in log.glob("*.json")
                for line in path.read_text().splitlines()
                if "daybook" in json.loads(line).get("commitInfo", {})
            }
            places = {json.loads(text)["place"] for text in known}
            found += [path.name for path in log.parent.glob("daybook-*") if path.name not in places]
        for table in (self.root / "lake").glob("*"):
            if not (table / "_delta_log").exists():
                found += [path.name for path in table.glob("daybook-*")]
        return found
