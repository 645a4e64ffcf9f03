"""Build runs what is not fresh and nothing else; balances against an independent calculation in plain Python."""

import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from daybook.graph.build import BuildResult, NodeResult, build
from daybook.graph.build_listener import BuildListener
from daybook.graph.build_plan import BuildRequest
from daybook.graph.close import read_close
from daybook.graph.nodes import Node
from daybook.resolve.project_files import CheckedFiles
from daybook.runs.lifecycle.activation import deactivate
from tests.workspaces import Folder, to_path, to_table

COLUMNS = [{"name": "account", "type": "string"}, {"name": "amount", "type": "decimal(38,2)"}]
MONTHS = [f"2026-{month:02}" for month in range(1, 4)]


class Events(BuildListener):
    """What a build said, in order."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def planned(self, nodes: tuple[Node, ...]) -> None:
        self.lines.append(f"planned {len(nodes)}")

    def started(self, node: Node, run_id: str) -> None:
        self.lines.append(f"started {node.name}")

    def finished(self, result: NodeResult) -> None:
        self.lines.append(f"finished {result.node.name} {result.result}")


def movements(folder: Folder, month: str, **amounts: str) -> None:
    rows = [{"account": account, "amount": amount} for account, amount in amounts.items()]
    folder.write_csv(f"data/gl/{month}.csv", rows)


def roll_forward(folder: Folder) -> None:
    """The project `roll`: the movements of a month and the balances of the month before give closing balances."""
    folder.dataset("movements", COLUMNS, {"path": "data/gl/{{identifier}}.csv"}, temporal_mode="period")
    location = {"datasource_id": "lake", "table": "closing"}
    folder.dataset("closing", COLUMNS, location, temporal_mode="period")
    folder.define("dataset", {"id": "opening", "view": {"of": "closing", "window": "previous", "missing": "empty"}})
    total = {"group_by": ["account"], "aggregations": [{"column": "amount", "expression": "SUM(amount)"}]}
    folder.project(
        {"type": "append", "arguments": {"source": {"dataset_id": "opening"}}},
        {"type": "aggregate", "arguments": total},
        {**to_table("closing", columns=["account", "amount"]), "selector": "_operation_seq = 2"},
        id_="roll",
        input_="movements",
    )


@pytest.fixture
def close(folder: Folder) -> Folder:
    return build_close_folder(folder)


def build_close_folder(folder: Folder) -> Folder:
    """Movements roll forward into closing balances; a report reads those, and a list reads the report."""
    for number, month in enumerate(MONTHS, start=1):
        movements(folder, month, cash=f"{number}0.00", bank="1.00")
    roll_forward(folder)
    folder.project(to_table("report", columns=["account", "amount"]), id_="report", input_="closing")
    folder.dataset("reported", COLUMNS, {"datasource_id": "lake", "table": "report"}, temporal_mode="period")
    folder.project(to_path("out/{{identifier}}.csv", columns=["account", "amount"]), id_="list", input_="reported")
    folder.apply()
    for project in ("roll", "report", "list"):
        folder.activate(project)
    return folder


def built(folder: Folder, period: str, *projects: str, events: Events | None = None, **more: Any) -> BuildResult:
    workspace = folder.load()
    with folder.around(workspace) as environment:
        return build(CheckedFiles(workspace), environment, BuildRequest(period, projects, **more), events or Events())


def ran(result: BuildResult) -> set[str]:
    return {each.node.name for each in result.nodes if each.result == "ran"}


def by_hand(changes: dict[str, dict[str, str]] | None = None) -> dict[tuple[str, str], Decimal]:
    """Closing balances, each the one before plus the movements of the month."""
    balances = {"cash": Decimal(0), "bank": Decimal(0)}
    found = {}
    for number, month in enumerate(MONTHS, start=1):
        amounts = {"cash": f"{number}0.00", "bank": "1.00", **(changes or {}).get(month, {})}
        for account in balances:
            balances[account] += Decimal(amounts[account])
            found[month, account] = balances[account]
    return found


def closing(folder: Folder) -> dict[tuple[str, str], Decimal]:
    return {(row["_run_period"], row["account"]): row["amount"] for row in folder.table("closing")}


def test_everything_is_built_once_in_the_order_it_is_needed(close: Folder) -> None:
    events = Events()
    first = built(close, "2026-01..2026-03", events=events)
    assert first.is_ok
    assert ran(first) == {f"{project}@{month}" for project in ("roll", "report", "list") for month in MONTHS}
    assert closing(close) == by_hand()
    order = [line for line in events.lines if line.startswith("finished")]
    for month in MONTHS:
        positions = [order.index(f"finished {project}@{month} ran") for project in ("roll", "report", "list")]
        assert positions == sorted(positions)
    second = built(close, "2026-01..2026-03")
    assert (ran(second), second.count("fresh")) == (set(), 9)
    # A late journal runs what depends on it and nothing else.
    movements(close, "2026-02", cash="20.00", bank="500.00")
    after = built(close, "2026-01..2026-03")
    assert ran(after) == {f"{project}@{month}" for project in ("roll", "report", "list") for month in MONTHS[1:]}
    assert closing(close) == by_hand({"2026-02": {"bank": "500.00"}})


def test_only_what_the_named_project_needs_is_built_and_with_full_all_of_it(close: Folder) -> None:
    assert ran(built(close, "2026-01", "report")) == {"roll@2026-01", "report@2026-01"}
    assert ran(built(close, "2026-01", "report", is_full=True)) == {"roll@2026-01", "report@2026-01"}
    assert ran(built(close, "2026-02", "roll", only=True)) == {"roll@2026-02"}
    assert ran(built(close, "2026-02", "roll+")) == {"report@2026-02", "list@2026-02"}


def test_a_failure_blocks_what_needs_it_and_building_again_continues(close: Folder) -> None:
    (close.root / "data/gl/2026-02.csv").write_text("account,amount\ncash,not a number\n")
    result = built(close, "2026-01..2026-02", "report", keep_going=True)
    states = {each.node.name: each.result for each in result.nodes}
    assert (states["roll@2026-02"], states["report@2026-02"]) == ("failed", "blocked")
    assert (states["roll@2026-01"], states["report@2026-01"]) == ("ran", "ran")
    assert not result.is_ok
    movements(close, "2026-02", cash="20.00", bank="1.00")
    again = built(close, "2026-01..2026-02", "report")
    assert ran(again) == {"roll@2026-02", "report@2026-02"}


def test_a_locked_period_is_used_as_it_is(close: Folder) -> None:
    built(close, "2026-01..2026-02", "roll")
    with close.around() as environment, environment.store.write() as transaction:
        from daybook.resolve.calendars.calendar import GREGORIAN
        from daybook.resolve.calendars.periods import period_of

        period = period_of("2026-01", GREGORIAN)
        transaction.periods.advance(period, "locked", now=transaction.now())
    movements(close, "2026-01", cash="99.00", bank="1.00")
    result = built(close, "2026-01..2026-02", "roll")
    states = {each.node.name: each.result for each in result.nodes}
    assert states["roll@2026-01"] == "locked"
    assert states["roll@2026-02"] == "fresh"
    assert result.is_ok


def test_an_edited_project_fails_with_the_ways_out(close: Folder) -> None:
    close.project(to_table("report", columns=["account"]), id_="report", input_="closing")
    result = built(close, "2026-01", "report")
    (failed,) = [each for each in result.nodes if each.node.project == "report"]
    assert failed.result == "failed"
    assert "daybook activate report" in (failed.reason or "")


def statuses(folder: Folder, period: str, *, looks: bool = False) -> dict[str, tuple[str, tuple[str, ...]]]:
    workspace = folder.load()
    with (
        folder.around(workspace) as environment,
        read_close(CheckedFiles(workspace), environment.store, period=period, looks=looks) as found,
    ):
        assert found.span is not None
        nodes = found.nodes.nodes_in(found.span, sorted(found.active_projects))
        edges = found.closure(nodes, found.span, frozenset(found.active_projects))
        return {node.name: (status.state, status.reasons) for node, status in found.statuses(edges).items()}


def test_why_a_node_is_stale_is_said_in_words(close: Folder) -> None:
    assert statuses(close, "2026-01")["roll@2026-01"] == ("never", ())
    with close.around() as environment:
        deactivate(environment.store, "list", now=datetime.datetime.now(datetime.UTC))
    built(close, "2026-01..2026-02")
    assert {state for state, _ in statuses(close, "2026-01..2026-02").values()} == {"fresh"}
    movements(close, "2026-02", cash="21.00", bank="1.00")
    found = statuses(close, "2026-01..2026-02")
    changed = "movements 2026-02: 1 file changed since the run (2026-02.csv)"
    assert found["roll@2026-02"] == ("unknown", (f"{changed}; `--look` finds out whether this concerns it",))
    assert found["report@2026-02"] == ("unknown", ("reads closing: if roll 2026-02 writes other rows",))
    assert statuses(close, "2026-01..2026-02", looks=True)["roll@2026-02"] == ("stale", (changed,))
    movements(close, "2026-01", cash="11.00", bank="1.00")
    close.runs("2026-01", "roll")
    state, (reason, *_) = statuses(close, "2026-01..2026-02")["report@2026-01"]
    assert state == "stale"
    assert reason.startswith("closing 2026-01 was run again on ")


def test_a_run_that_writes_the_same_rows_makes_nothing_stale(close: Folder) -> None:
    """Only the times at which rows were made differ; rows in another order in a file are the same, too."""
    built(close, "2026-01..2026-03")
    close.runs("2026-01", "roll")
    assert {state for state, _ in statuses(close, "2026-01..2026-03").values()} == {"fresh"}
    folder = close.root / "data/gl/2026-01.csv"
    head, *lines = folder.read_text().splitlines()
    folder.write_text("\n".join([head, *reversed(lines)]) + "\n")
    assert {state for state, _ in statuses(close, "2026-01..2026-03", looks=True).values()} == {"fresh"}
    assert ran(built(close, "2026-01..2026-03")) == set()


def test_a_change_that_was_undone_makes_nothing_stale(close: Folder) -> None:
    built(close, "2026-01", "report")
    for columns in (["account"], ["account", "amount"]):
        close.project(to_table("report", columns=columns), id_="report", input_="closing")
        close.apply()
        close.activate("report")
    assert statuses(close, "2026-01")["report@2026-01"] == ("fresh", ())


def test_a_run_of_its_own_counts_like_one_of_a_build_and_a_touched_file_is_fresh(close: Folder) -> None:
    close.runs("2026-01", "roll")
    path = Path(close.root / "data/gl/2026-01.csv")
    path.write_bytes(path.read_bytes())
    assert statuses(close, "2026-01")["roll@2026-01"][0] == "fresh"
    assert ran(built(close, "2026-01", "roll")) == set()


def test_a_changed_operation_is_named_with_the_versions(close: Folder) -> None:
    built(close, "2026-01", "report")
    close.project(
        to_table("report", columns=["account", "amount"], system_columns=False), id_="report", input_="closing"
    )
    assert "edited, not activated" in statuses(close, "2026-01")["report@2026-01"][1][0]
    close.apply()
    close.activate("report")
    state, (reason,) = statuses(close, "2026-01")["report@2026-01"]
    assert state == "stale"
    assert reason.startswith("operation 1 was changed (version ")
