"""Random closes of several projects and months, and every state between two of them by the second engine."""

import copy
import datetime
import random
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from daybook.compare.bridge_result import CauseName
from daybook.model.project import Project
from daybook.model.serialization import frozen
from daybook.model.types import ColumnType, parse_type
from daybook.recompute import RunFacts, StoredTable, compute
from daybook.resolve.calendars.calendar import GREGORIAN
from daybook.resolve.calendars.periods import period_of
from tests.workspaces import Folder

AMOUNT = "decimal(18,2)"
ACCOUNTS = ("1000", "2000", "3000")
CURRENCIES = ("USD", "GBP", "PLN")
TOTALS = {"account": "string", "total": AMOUNT}
_FACTORS = ("1.05", "0.97", "1.37", "-0.50")

Line = dict[str, str]
Rows = list[tuple[Any, ...]]
Operations = dict[int, dict[str, Any]]


@dataclass
class Close:
    """The data and the operations of a close, by project and seq; a copy of it may be changed."""

    months: tuple[str, ...]
    journals: dict[str, list[Line]]
    rates: dict[str, str]
    operations: dict[str, Operations] = field(default_factory=dict)

    @property
    def entities(self) -> tuple[str, ...]:
        return tuple(self.journals)

    @property
    def projects(self) -> tuple[str, ...]:
        """Makers before readers."""
        return (*(f"clean-{entity}" for entity in self.entities), "roll", "report")

    def body(self, project: str) -> dict[str, Any]:
        operations = [
            {"seq": seq, "id": f"op-{seq}", **operation} for seq, operation in sorted(self.operations[project].items())
        ]
        inputs = {"roll": f"tb-{self.entities[0]}", "report": "balances"}
        source = inputs.get(project) or f"journal-{project.removeprefix('clean-')}"
        return {"id": project, "name": project, "input": {"dataset_id": source}, "operations": operations}

    def write(self, folder: Folder) -> None:
        columns: list[dict[str, Any]] = [{"name": name, "type": "string"} for name in ("line", "account", "currency")]
        columns.append({"name": "amount", "type": AMOUNT})
        for entity, lines in self.journals.items():
            folder.write_csv(f"data/journal-{entity}.csv", lines, ["line", "account", "currency", "amount", "_period"])
            table: dict[str, Any] = {"name": "journal", "columns": columns, "temporal_mode": "period"}
            table["location"] = {"path": f"data/journal-{entity}.csv"}
            folder.define("dataset", {"id": f"journal-{entity}", "natural_key_columns": ["line"], "main_table": table})
        folder.write_csv("data/rates.csv", [{"currency": name, "rate": rate} for name, rate in self.rates.items()])
        rates = [{"name": "currency", "type": "string"}, {"name": "rate", "type": "decimal(10,4)"}]
        table = {"name": "rates", "columns": rates, "location": {"path": "data/rates.csv"}}
        folder.define("dataset", {"id": "rates", "natural_key_columns": ["currency"], "main_table": table})
        totals = [{"name": name, "type": type_} for name, type_ in TOTALS.items()]
        table = {"name": "balances", "columns": totals, "temporal_mode": "period"}
        folder.define("dataset", {"id": "balances", "main_table": table})
        view = {"of": "balances", "window": "previous", "missing": "empty", "period": "run"}
        folder.define("dataset", {"id": "opening", "view": view})
        for project in self.projects:
            folder.define("project", self.body(project))

    def run(self, folder: Folder) -> str:
        """Run every project and month; the id of the last run."""
        self.write(folder)
        return [folder.run(month, project).run_id for month in self.months for project in self.projects][-1]

    def total(self) -> Decimal:
        """The total of the last report, by the second engine alone."""
        rates = StoredTable("rates", "rates", _types(currency="string", rate="decimal(10,4)"), (), self._rates)
        balances: Rows = []
        report: Rows = []
        for month in self.months:
            trial = {
                entity: self._compute(f"clean-{entity}", month, self._lines(entity, month), rates)
                for entity in self.entities
            }
            tables = {f"tb-{entity}": rows for entity, rows in trial.items()}
            balances = self._compute(
                "roll", month, tables[f"tb-{self.entities[0]}"], rates, {**tables, "opening": balances}
            )
            report = self._compute("report", month, balances, rates)
        return sum((row[1] for row in report if row[1] is not None), Decimal(0))

    def _rates(self) -> Iterator[tuple[Any, ...]]:
        return ((name, Decimal(rate), "", number) for number, (name, rate) in enumerate(self.rates.items()))

    def _lines(self, entity: str, month: str) -> Rows:
        return [
            (line["line"], line["account"], line["currency"], Decimal(line["amount"]))
            for line in self.journals[entity]
            if line["_period"] == month
        ]

    def _compute(
        self, project: str, month: str, rows: Rows, rates: StoredTable, others: dict[str, Rows] | None = None
    ) -> Rows:
        """The rows (account, total) that the output of a project has for a month."""
        model = Project.model_validate(frozen(self.body(project)))
        is_journal = model.input.dataset_id.startswith("journal")
        columns = _types(line="string", account="string", currency="string", amount=AMOUNT)
        tables: dict[tuple[int, str | None], StoredTable] = {
            (0, None): _table(model.input.dataset_id, columns if is_journal else _types(**TOTALS), rows)
        }
        for operation in self.operations[project].items():
            seq, arguments = operation[0], operation[1]["arguments"]
            for join in arguments.get("joins", ()):
                tables[seq, join["alias"]] = rates
            if "source" in arguments:
                dataset_id = arguments["source"]["dataset_id"]
                tables[seq, None] = _table(dataset_id, _types(**TOTALS), (others or {})[dataset_id])
        period = period_of(month, GREGORIAN)
        facts = RunFacts(project, period, period.start_date, datetime.datetime(2026, 4, 1, tzinfo=datetime.UTC), {})
        (output,) = compute(model, tables, facts).outputs
        places = [list(output.columns).index(name) for name in TOTALS]
        return [tuple(row[place] for place in places) for row in output.rows]


def _types(**types: str) -> dict[str, ColumnType]:
    return {name: parse_type(type_) for name, type_ in types.items()}


def _table(dataset_id: str, columns: dict[str, ColumnType], rows: Rows) -> StoredTable:
    numbered = [(*row, "", number) for number, row in enumerate(rows)]
    return StoredTable(
        dataset_id,
        "journal" if "line" in columns else dataset_id.replace("-", "_"),
        columns,
        (),
        lambda: iter(numbered),
    )


def _assign(column: str, expression: str, **more: Any) -> dict[str, Any]:
    arguments: dict[str, Any] = {"assignments": [{"column": column, "expression": expression, "type": AMOUNT}]}
    if "rates.rate" in expression:
        arguments["joins"] = [{"alias": "rates", "dataset_id": "rates", "on": more.pop("on")}]
    return {"name": f"Assign {column}", "type": "update", "arguments": arguments, **more}


def _append(dataset_id: str) -> dict[str, Any]:
    return {"name": f"Append {dataset_id}", "type": "append", "arguments": {"source": {"dataset_id": dataset_id}}}


def _totals(expression: str) -> dict[str, Any]:
    aggregations = [{"column": "total", "expression": expression, "type": AMOUNT}]
    return {"name": "Totals", "type": "aggregate", "arguments": {"group_by": ["account"], "aggregations": aggregations}}


def _output(table: str, seq: int | None, dataset_id: str | None) -> dict[str, Any]:
    arguments: dict[str, Any] = {"destination": {"datasource_id": "lake", "table": table}, "columns": [*TOTALS]}
    if dataset_id is not None:
        arguments["register_as_dataset"] = dataset_id
    only = {"selector": f"_operation_seq = {seq}"} if seq is not None else {}
    return {"name": "Out", "type": "output", "arguments": arguments, **only}


def random_close(rng: random.Random, *, entities: int, months: int) -> Close:
    names = ("us", "uk")[:entities]
    close = Close(
        tuple(f"2026-{number:02}" for number in range(1, months + 1)),
        {name: [] for name in names},
        {currency: f"{rng.uniform(0.2, 1.5):.4f}" for currency in CURRENCIES},
    )
    for name in names:
        for month in close.months:
            close.journals[name] += [_line(rng, name, month, number) for number in range(rng.randint(2, 6))]
        close.operations[f"clean-{name}"] = {
            10: _assign("eur", "ROUND(amount * rates.rate, 2)", on="rates.currency = currency"),
            20: _assign("eur", "ROUND(eur * 1.10, 2)", selector="account = '2000'"),
            40: _totals("SUM(eur)"),
            50: _output(f"tb_{name}", 40, f"tb-{name}"),
        }
    close.operations["roll"] = {
        **{
            10 + number: {
                "name": f"Append {name}",
                "type": "append",
                "arguments": {"source": {"dataset_id": f"tb-{name}"}},
            }
            for number, name in enumerate(names[1:])
        },
        20: {"name": "Opening", "type": "append", "arguments": {"source": {"dataset_id": "opening"}}},
        40: _totals("SUM(total)"),
        50: _output("balances", 40, "balances"),
    }
    close.operations["report"] = {
        10: _assign("total", "ROUND(total / rates.rate, 2)", on="rates.currency = 'USD'"),
        50: _output("report", None, None),
    }
    return close


def _line(rng: random.Random, entity: str, month: str, number: int) -> Line:
    return {
        "line": f"{entity}-{month}-{number}",
        "account": rng.choice(ACCOUNTS),
        "currency": rng.choice(CURRENCIES),
        "amount": f"{rng.uniform(-200, 500):.2f}",
        "_period": month,
    }


def changed(rng: random.Random, close: Close) -> Close:
    """Late and corrected lines, corrected rates, operations that were changed, added or removed: some of these."""
    after = copy.deepcopy(close)
    entity = rng.choice(after.entities)

    def late_line() -> None:
        after.journals[entity].append(_line(rng, entity, rng.choice(after.months), 99))

    def corrected_line() -> None:
        rng.choice(after.journals[rng.choice(after.entities)])["amount"] = f"{rng.uniform(-200, 500):.2f}"

    def rate() -> None:
        after.rates[rng.choice(CURRENCIES)] = f"{rng.uniform(0.2, 1.5):.4f}"

    def rule() -> None:
        after.operations[f"clean-{entity}"][20] = _assign(
            "eur", f"ROUND(eur * {rng.choice(_FACTORS)}, 2)", selector=f"account = '{rng.choice(ACCOUNTS)}'"
        )

    def removed_rule() -> None:
        after.operations[f"clean-{rng.choice(after.entities)}"].pop(20, None)

    def added_to_roll() -> None:
        rounded = _assign("total", f"ROUND(total * {rng.choice(_FACTORS)}, 1)", selector="_operation_seq = 20")
        after.operations["roll"][30] = rounded

    def report_rule() -> None:
        after.operations["report"][20] = _assign("total", "ROUND(total, 1)", selector="account <> '3000'")

    changes: list[Callable[[], None]] = [
        late_line, corrected_line, rate, rule, removed_rule, added_to_roll, report_rule,
    ]  # fmt: skip
    for change in rng.sample(changes, rng.randint(3, len(changes))):
        change()
    return after


def between(before: Close, after: Close, swapped: Iterable[CauseName]) -> Close:
    """The close with these causes swapped."""
    state = copy.deepcopy(before)
    for cause in swapped:
        match cause.kind, cause.name:
            case "data", "rates":
                state.rates = after.rates
            case "data", name:
                entity = name.removeprefix("journal-")
                state.journals[entity] = after.journals[entity]
            case "definition", name:
                assert cause.project is not None
                seq = int(name.removeprefix("op-"))
                state.operations[cause.project].pop(seq, None)
                if seq in after.operations[cause.project]:
                    state.operations[cause.project][seq] = after.operations[cause.project][seq]
            case kind, name:
                raise AssertionError(f"{kind} {name} is not changed")
    return state
