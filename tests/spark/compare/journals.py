"""A small ledger whose numbers can be checked by hand: journal lines in two currencies, converted and summed up."""

from dataclasses import dataclass, field
from typing import Any

from daybook.compare.bridge import BridgeRequest, bridge
from daybook.compare.bridge_result import BridgeResult, Cause
from tests.workspaces import Folder

JOURNAL_COLUMNS: list[dict[str, Any]] = [
    {"name": "line", "type": "string", "nullable": False},
    {"name": "account", "type": "string"},
    {"name": "currency", "type": "string"},
    {"name": "amount", "type": "decimal(18,2)"},
]
RATE_COLUMNS = [{"name": "currency", "type": "string"}, {"name": "rate", "type": "decimal(10,4)"}]

LINES = {
    "J-1": ("4000", "USD", "100.00"),
    "J-2": ("4000", "EUR", "50.25"),
    "J-3": ("5000", "USD", "10.00"),
}
RATES = {"USD": "0.9000", "EUR": "1.0000"}
BY_REGION = {
    "type": "aggregate",
    "arguments": {"group_by": ["region"], "aggregations": [{"column": "total", "expression": "SUM(amount)"}]},
}


def convert(expression: str = "ROUND(amount * rates.rate, 2)", **more: Any) -> dict[str, Any]:
    return {
        "id": "convert",
        "seq": 10,
        "name": "Convert",
        "type": "update",
        "arguments": {
            "joins": [{"alias": "rates", "dataset_id": "rates", "on": "rates.currency = currency"}],
            "assignments": [{"column": "eur", "expression": expression, "type": "decimal(18,2)"}],
        },
        **more,
    }


def change(id_: str, seq: int, expression: str, column: str = "eur", **more: Any) -> dict[str, Any]:
    return {
        "id": id_,
        "seq": seq,
        "name": id_.title(),
        "type": "update",
        "arguments": {"assignments": [{"column": column, "expression": expression}]},
        **more,
    }


def totals(expression: str = "SUM(eur)", seq: int = 80) -> dict[str, Any]:
    return {
        "id": "totals",
        "seq": seq,
        "name": "Totals",
        "type": "aggregate",
        "arguments": {
            "group_by": ["account"],
            "aggregations": [{"column": "total", "expression": expression}],
        },
    }


def output(seq: int = 90, **more: Any) -> dict[str, Any]:
    destination = {"datasource_id": "lake", "table": "totals"}
    return {
        "id": "out",
        "seq": seq,
        "name": "Out",
        "type": "output",
        "arguments": {"destination": destination},
        **more,
    }


CLOSE = (convert(), totals(), output())


@dataclass
class Ledger:
    """A workspace with a journal of one month and rates; each run keeps its id."""

    folder: Folder
    lines: dict[str, tuple[str, str, str]] = field(default_factory=lambda: dict(LINES))
    rates: dict[str, str] = field(default_factory=lambda: dict(RATES))
    journal_columns: list[dict[str, Any]] = field(default_factory=lambda: list(JOURNAL_COLUMNS))

    def define(self, *operations: dict[str, Any], **more: Any) -> None:
        journal = {"name": "journal", "columns": self.journal_columns, "location": {"path": "data/journal.csv"}}
        rates = {"name": "rates", "columns": RATE_COLUMNS, "location": {"path": "data/rates.csv"}}
        self.folder.define("dataset", {"id": "journal", "natural_key_columns": ["line"], "main_table": journal})
        self.folder.define("dataset", {"id": "rates", "natural_key_columns": ["currency"], "main_table": rates})
        self.folder.project(*operations, input_="journal", **more)

    def write(self, *operations: dict[str, Any], **more: Any) -> None:
        """The present data and definitions, of which nothing is run."""
        names = [column["name"] for column in self.journal_columns]
        rows = [dict(zip(names, (line, *values), strict=False)) for line, values in self.lines.items()]
        self.folder.write_csv("data/journal.csv", rows, names)
        self.folder.write_csv("data/rates.csv", [{"currency": name, "rate": rate} for name, rate in self.rates.items()])
        self.define(*operations, **more)

    def run(self, *operations: dict[str, Any], wish: dict[str, Any] | None = None, **more: Any) -> str:
        """The id of a run of these operations over the present data; `wish` is what else the run is asked for."""
        self.write(*operations, **more)
        return self.folder.run(**(wish or {})).run_id

    def bridge(self, a: str, b: str, measure: str = "total", **wish: Any) -> BridgeResult:
        with self.folder.around() as around:
            return bridge(around, BridgeRequest(a, b, measure, **wish))


def shares(found: BridgeResult) -> dict[str, str]:
    """The share of every cause, as text; what adds up is checked on the way."""
    assert str(found.residual) in ("0", "0.00", "0.0000")
    return {cause_text(cause): str(cause.share) for cause in found.causes}


def cause_text(cause: Cause) -> str:
    return " + ".join(member.text for member in cause.members)
