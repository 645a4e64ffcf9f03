"""A close of five projects whose numbers can be checked by hand: three entities, a group, and a management report.

The rates enter in all five. `total_by_hand` is the last total in plain Python.
"""

from dataclasses import dataclass, field
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

from daybook.compare.bridge import BridgeRequest, bridge
from daybook.compare.bridge_result import BridgeResult
from tests.workspaces import Folder

PERIOD = "2026-01"
CURRENCIES = {"us": "USD", "uk": "GBP", "pl": "PLN"}
_CENT = Decimal("0.01")

JOURNALS: dict[str, dict[str, tuple[str, str]]] = {
    "us": {"U-1": ("4000", "100.10"), "U-2": ("6000", "33.33")},
    "uk": {"K-1": ("4000", "200.05"), "K-2": ("6000", "-20.45")},
    "pl": {"P-1": ("4000", "77.77"), "P-2": ("6000", "11.11")},
}
RATES = {"USD": "0.9123", "GBP": "1.1534", "PLN": "0.2345", "CHF": "1.0412"}


@dataclass
class GroupClose:
    """The close as it is at the moment; each run keeps what it used."""

    folder: Folder
    journals: dict[str, dict[str, tuple[str, str]]] = field(
        default_factory=lambda: {entity: dict(lines) for entity, lines in JOURNALS.items()}
    )
    rates: dict[str, str] = field(default_factory=lambda: dict(RATES))
    factors: dict[str, str] = field(default_factory=lambda: dict.fromkeys(CURRENCIES, "1.10"))

    def write(self) -> None:
        """The present data and definitions."""
        columns: list[dict[str, Any]] = [
            {"name": "line", "type": "string", "nullable": False},
            {"name": "account", "type": "string"},
            {"name": "amount", "type": "decimal(18,2)"},
        ]
        for entity, lines in self.journals.items():
            rows = [{"line": line, "account": account, "amount": amount} for line, (account, amount) in lines.items()]
            self.folder.write_csv(f"data/journal-{entity}.csv", rows)
            table = {"name": "journal", "columns": columns, "location": {"path": f"data/journal-{entity}.csv"}}
            key = {"natural_key_columns": ["line"]}
            self.folder.define("dataset", {"id": f"journal-{entity}", **key, "main_table": table})
            self.folder.project(*self._cleaning(entity), id_=f"clean-{entity}", input_=f"journal-{entity}")
        self.folder.write_csv("data/rates.csv", [{"currency": name, "rate": rate} for name, rate in self.rates.items()])
        rate_columns = [{"name": "currency", "type": "string"}, {"name": "rate", "type": "decimal(10,4)"}]
        table = {"name": "rates", "columns": rate_columns, "location": {"path": "data/rates.csv"}}
        self.folder.define("dataset", {"id": "rates", "natural_key_columns": ["currency"], "main_table": table})
        self.folder.project(*_group(), id_="group", input_="tb-us")
        self.folder.project(*_management(), id_="management", input_="group-totals")

    def _cleaning(self, entity: str) -> tuple[dict[str, Any], ...]:
        rule = f"ROUND(eur * {self.factors[entity]}, 2)"
        return (
            _convert(10, "eur", "ROUND(amount * rates.rate, 2)", f"'{CURRENCIES[entity]}'"),
            _assign(20, "Accrue", "eur", rule, selector="account = '6000'"),
            _totals(30, "account", "SUM(eur)"),
            _output(40, f"tb_{entity}", f"tb-{entity}", "_operation_seq = 30"),
        )

    def run(self) -> str:
        """Run every project on the present data and definitions; the id of the last run."""
        self.write()
        run_ids = [
            self.folder.run(PERIOD, project).run_id
            for project in ("clean-us", "clean-uk", "clean-pl", "group", "management")
        ]
        return run_ids[-1]

    def bridge(self, a: str, b: str, **wish: Any) -> BridgeResult:
        with self.folder.around() as around:
            return bridge(around, BridgeRequest(a, b, "total", **wish))

    def total_by_hand(self) -> Decimal:
        return sum(self.totals_by_hand().values(), Decimal(0))

    def totals_by_hand(self) -> dict[str, Decimal]:
        """The management report by account."""
        rates = {currency: Decimal(rate) for currency, rate in self.rates.items()}
        group: dict[str, Decimal] = {}
        for entity, lines in self.journals.items():
            for account, amount in lines.values():
                eur = _round(Decimal(amount) * rates[CURRENCIES[entity]])
                if account == "6000":
                    eur = _round(eur * Decimal(self.factors[entity]))
                group[account] = group.get(account, Decimal(0)) + eur
        in_dollars = {account: _round(total / rates["USD"]) for account, total in group.items()}
        return {account: _round(total * rates["CHF"]) for account, total in in_dollars.items()}


def _round(value: Decimal) -> Decimal:
    return value.quantize(_CENT, ROUND_HALF_UP)


def _group() -> tuple[dict[str, Any], ...]:
    return (
        *(
            {
                "seq": seq,
                "name": f"Append {entity}",
                "type": "append",
                "arguments": {"source": {"dataset_id": f"tb-{entity}"}},
            }
            for seq, entity in ((10, "uk"), (20, "pl"))
        ),
        _totals(30, "account", "SUM(total)"),
        _convert(40, "total", "ROUND(total / rates.rate, 2)", "'USD'", selector="_operation_seq = 30"),
        _output(50, "group_totals", "group-totals", "_operation_seq = 30"),
    )


def _management() -> tuple[dict[str, Any], ...]:
    return (
        _convert(10, "total", "ROUND(total * rates.rate, 2)", "'CHF'"),
        _output(20, "management", None, None),
    )


def _convert(seq: int, column: str, expression: str, currency: str, **more: Any) -> dict[str, Any]:
    return {
        "seq": seq,
        "name": "Convert",
        "type": "update",
        "arguments": {
            "joins": [{"alias": "rates", "dataset_id": "rates", "on": f"rates.currency = {currency}"}],
            "assignments": [{"column": column, "expression": expression, "type": "decimal(18,2)"}],
        },
        **more,
    }


def _assign(seq: int, name: str, column: str, expression: str, **more: Any) -> dict[str, Any]:
    assignment = {"column": column, "expression": expression, "type": "decimal(18,2)"}
    return {"seq": seq, "name": name, "type": "update", "arguments": {"assignments": [assignment]}, **more}


def _totals(seq: int, group: str, expression: str) -> dict[str, Any]:
    aggregation = {"column": "total", "expression": expression, "type": "decimal(18,2)"}
    arguments = {"group_by": [group], "aggregations": [aggregation]}
    return {"seq": seq, "name": "Totals", "type": "aggregate", "arguments": arguments}


def _output(seq: int, table: str, dataset_id: str | None, selector: str | None) -> dict[str, Any]:
    arguments: dict[str, Any] = {
        "destination": {"datasource_id": "lake", "table": table},
        "columns": ["account", "total"],
    }
    if dataset_id is not None:
        arguments |= {"register_as_dataset": dataset_id, "natural_key_columns": ["account"]}
    only = {} if selector is None else {"selector": selector}
    return {"seq": seq, "name": "Out", "type": "output", "arguments": arguments, **only}
