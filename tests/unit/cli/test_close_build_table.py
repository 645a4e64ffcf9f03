"""The table that people watch during a build: node, state and time, within the lines of the terminal."""

import io
from pathlib import Path

import pytest
from rich.console import Console

from daybook.cli.build_progress import BuildLines, BuildTable
from daybook.cli.close import show_build_result
from daybook.errors import notice
from daybook.graph.build import BuildResult, NodeResult
from daybook.graph.nodes import Node
from daybook.resolve.calendars.calendar import GREGORIAN
from daybook.resolve.calendars.periods import period_of


def node(project: str, period: str = "2026-01") -> Node:
    return Node(project, period_of(period, GREGORIAN))


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def shown(table: BuildTable, height: int = 40) -> list[str]:
    stream = io.StringIO()
    Console(file=stream, width=80).print(table.render(height))
    return [" ".join(line.split()) for line in stream.getvalue().splitlines()]


def test_every_node_has_its_state_and_time() -> None:
    clock = Clock()
    table = BuildTable(clock)
    ledger, report, plan = node("ledger"), node("report"), node("plan", "2026-02")
    table.planned((ledger, report, plan))
    assert shown(table) == [
        "node state time",
        "ledger 2026-01 waiting",
        "report 2026-01 waiting",
        "plan 2026-02 waiting",
        "3 waiting",
    ]
    table.started(ledger, "r1")
    table.stage(ledger, "reading")
    clock.now += 2.5
    assert "ledger 2026-01 running: reading 2.5 s" in shown(table)
    table.finished(NodeResult(ledger, "ran", "r1", seconds=3.25))
    table.finished(NodeResult(report, "fresh"))
    table.finished(NodeResult(plan, "failed", reason="no", seconds=0.5))
    assert shown(table) == [
        "node state time",
        "ledger 2026-01 ran 3.2 s",
        "report 2026-01 fresh",
        "plan 2026-02 failed 0.5 s",
        "1 failed, 1 fresh, 1 ran",
    ]


def test_a_small_terminal_shows_what_runs_and_what_failed() -> None:
    table = BuildTable(Clock())
    nodes = tuple(node(f"p{number}") for number in range(20))
    table.planned(nodes)
    table.finished(NodeResult(nodes[3], "failed"))
    table.started(nodes[15], "r")
    lines = shown(table, height=8)
    assert [line.split()[0] for line in lines[1:-1]] == ["p3", "p15"]
    assert lines[-1] == "1 failed, 1 running, 18 waiting"


def test_names_steer_no_terminal() -> None:
    table = BuildTable(Clock())
    table.planned((node("a[red]b\x1b[2J"),))
    assert "a[red]b" in shown(table)[1]
    assert "\x1b[2J" not in "".join(shown(table))


def test_a_warning_names_its_nodes(capsys: pytest.CaptureFixture[str]) -> None:
    said = notice("RUN_003", period="2026-01")
    lines = BuildLines(is_quiet=False)
    lines.notice(node("ledger"), said)
    assert "ledger 2026-01: " in capsys.readouterr().err
    table = BuildTable(Clock())
    for name in ("ledger", "report", "plan", "tax", "tax"):
        table.notice(node(name), said)
    assert {each.code: [one.project for one in nodes] for each, nodes in table.notices.items()} == {
        "RUN_003": ["ledger", "report", "plan", "tax"]
    }


def test_what_waits_for_a_node_that_failed_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    failed = node("ledger")
    waiting = [node(f"p{number}") for number in range(45)]
    results = [NodeResult(failed, "failed", reason="RUN_015 nothing there", is_failure=True)]
    results += [
        NodeResult(each, "blocked", reason="ledger 2026-01 failed", is_failure=True, waits_for=failed)
        for each in waiting
    ]
    results += [
        NodeResult(node(name), "blocked", reason="the build ended before it", is_failure=True, is_not_begun=True)
        for name in ("x", "y")
    ]
    result = BuildResult("b", tuple(results))
    expected = [
        "ledger 2026-01: RUN_015 nothing there",
        "ledger 2026-01: 45 nodes wait for it",
        "2 nodes not begun: the build ended before them",
    ]
    assert list(result.problems) == expected
    show_build_result(result)
    assert capsys.readouterr().out.splitlines()[-3:] == expected


def test_files_of_a_failed_node_are_named_as_seen_from_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    reason = f"TOTALS_010 {tmp_path}/data/a.csv: the number of rows is 1, and 2 by {tmp_path}/data/a.control.csv"
    show_build_result(BuildResult("b", (NodeResult(node("ledger"), "failed", "run", reason, is_failure=True),)))
    *_, shown_reason = capsys.readouterr().out.splitlines()
    assert shown_reason == (
        "ledger 2026-01: TOTALS_010 data/a.csv: the number of rows is 1, and 2 by data/a.control.csv"
    )
