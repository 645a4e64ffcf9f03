"""What is known already is not computed again: plans, expressions, calendars."""

import inspect
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, event

from daybook.plan.plan_project import examine_project
from daybook.runs.attempt.run_request import RunRequest
from daybook.workspace.findings import check_workspace
from daybook.workspace.lifecycle import activate_project, activate_projects, apply_changes
from daybook.workspace.open_workspace import open_workspace
from tests.prepared_runs import prepare_runs
from tests.unit.runs.counting import Counts
from tests.unit.runs.prepared import new_folder
from tests.workspaces import COLUMNS, Folder, assign, to_table

CLOSE = [
    assign("net", "amount * 0.9", selector="{{OPEN}}"),
    {"type": "update", "arguments": {"assignments": [{"column": "tax", "expression": "net * 0.25"}]}},
    {
        "type": "aggregate",
        "selector": "region IS NOT NULL",
        "arguments": {"group_by": ["region"], "aggregations": [{"column": "total", "expression": "SUM(net + tax)"}]},
    },
    to_table(),
]
# The selectors of two operations and the expressions of three assignments and aggregations.
EXPRESSIONS = 5


@pytest.fixture
def counts(monkeypatch: pytest.MonkeyPatch) -> Counts:
    return Counts(monkeypatch)


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    made = new_folder(tmp_path)
    made.project(*CLOSE, selectors={"OPEN": "amount > 0"})
    return made


def prepare(folder: Folder, period: str = "2026-01", project: str = "p", **wanted: Any) -> None:
    workspace = folder.load()
    with folder.around(workspace) as around:
        assert list(prepare_runs(workspace, around, RunRequest(project, period, **wanted)))


def chain(folder: Folder, length: int) -> None:
    """Projects of which each reads what the one before it registers."""
    for number in range(length):
        folder.project(
            to_table(f"t{number}", columns=[column["name"] for column in COLUMNS], register_as_dataset=f"d{number}"),
            id_=f"p{number}",
            input_="orders" if number == 0 else f"d{number - 1}",
        )


class TestRun:
    def test_an_active_project_is_planned_once(self, folder: Folder, counts: Counts) -> None:
        activate_project(open_workspace(folder.root), "p")
        counts.plans.clear()
        prepare(folder)
        assert counts.plans == {"p": 1}

    def test_each_definition_is_asked_for_once_in_a_transaction(self, folder: Folder) -> None:
        activate_project(open_workspace(folder.root), "p")
        transactions: list[list[str]] = []

        def note(_c: object, _k: object, statement: str, parameters: object, _x: object, _m: object) -> None:
            if statement == "BEGIN":
                transactions.append([])
            elif "WHERE definition.kind = ? AND definition.id = ?" in statement:
                transactions[-1].append(str(parameters))

        event.listen(Engine, "before_cursor_execute", note)
        try:
            prepare(folder)
        finally:
            event.remove(Engine, "before_cursor_execute", note)
        assert any("orders" in question for asked in transactions for question in asked)
        assert all(len(asked) == len(set(asked)) for asked in transactions)

    def test_each_expression_is_compiled_once(self, folder: Folder, counts: Counts) -> None:
        activate_project(open_workspace(folder.root), "p")
        counts.expressions.clear()
        prepare(folder)
        assert len(counts.expressions) == EXPRESSIONS
        assert set(counts.expressions.values()) == {1}

    def test_a_project_that_was_never_activated_is_planned_once(self, folder: Folder, counts: Counts) -> None:
        prepare(folder)
        assert counts.plans == {"p": 1}
        assert set(counts.expressions.values()) == {1}

    def test_a_draft_of_an_active_project_is_planned_once(self, folder: Folder, counts: Counts) -> None:
        activate_project(open_workspace(folder.root), "p")
        folder.project(*CLOSE, assign("more", "tax + 1"), to_table("second"), selectors={"OPEN": "amount > 0"})
        counts.plans.clear()
        prepare(folder, is_draft=True)
        assert counts.plans == {"p": 1}

    def test_one_plan_serves_all_periods(self, folder: Folder, counts: Counts) -> None:
        prepare(folder, "2026-01..2026-12")
        assert counts.plans == {"p": 1}
        assert set(counts.expressions.values()) == {1}

    def test_every_period_has_its_own_constants(self, folder: Folder) -> None:
        workspace = folder.load()
        with folder.around(workspace) as around:
            plans = [each.plan for each in prepare_runs(workspace, around, RunRequest("p", "2026-01..2026-02"))]
        periods = [plan.constants and plan.constants.period for plan in plans]
        assert [period and period.identifier for period in periods] == ["2026-01", "2026-02"]

    def test_activating_plans_once(self, folder: Folder, counts: Counts) -> None:
        activate_project(open_workspace(folder.root), "p")
        assert counts.plans == {"p": 1}

    def test_another_answer_of_the_catalog_makes_another_plan(self, folder: Folder, counts: Counts) -> None:
        """Between two periods of a range the input gets a column of another type."""
        workspace = folder.load()
        with folder.around(workspace) as around:
            prepared = prepare_runs(workspace, around, RunRequest("p", "2026-01..2026-02"))
            first = next(prepared)
            wider = [
                {**column, "type": "decimal(20,3)"} if column["name"] == "amount" else column for column in COLUMNS
            ]
            folder.dataset("orders", wider, {"path": "data/orders.csv"}, temporal_mode="period")
            apply_changes(open_workspace(folder.root))
            second = next(prepared)
        assert [str(each.plan.types["amount"]) for each in (first, second)] == ["decimal(18,2)", "decimal(20,3)"]
        assert first.plan.types["net"] != second.plan.types["net"]

    def test_an_expression_is_compiled_again_when_a_column_it_reads_is_widened_later(
        self, folder: Folder, counts: Counts
    ) -> None:
        folder.project(assign("rate", "0.1"), assign("net", "amount * rate"), assign("rate", "0.25"), to_table())
        prepare(folder)
        assert counts.expressions == {"0.1": 1, "amount * rate": 2, "0.25": 1}

    def test_conditions_of_rules_are_compiled_once(self, folder: Folder, counts: Counts) -> None:
        when = 'period.identifier >= "2026-01" AND table.name = "orders"'
        rule = {
            "name": "files",
            "when": when,
            "data_level": "month",
            "strategy": {"type": "path", "datasource_id": "files", "path": "orders.csv"},
        }
        folder.datasource("files", "csv", path="data")
        folder.define("resolver", {"id": "by-month", "rules": [rule]})
        folder.define(
            "dataset",
            {"id": "orders", "resolver_id": "by-month", "main_table": {"name": "orders", "columns": COLUMNS}},
        )
        prepare(folder, "2026-01..2026-03")
        assert counts.expressions[when] == 1


class TestActivateTogether:
    def test_each_project_of_a_chain_is_planned_once(self, folder: Folder, counts: Counts) -> None:
        chain(folder, 30)
        activate_projects(open_workspace(folder.root))
        assert counts.plans == {"p": 1, **{f"p{number}": 1 for number in range(30)}}

    def test_a_chain_may_be_longer_than_python_may_recurse(
        self, folder: Folder, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A recursion over the makers would need more than a frame for each of them."""
        length = 150
        chain(folder, length)
        depths: list[int] = []

        def deepest(*given: Any, **named: Any) -> Any:
            depths.append(len(inspect.stack(0)))
            return examine_project(*given, **named)

        monkeypatch.setattr("daybook.plan.plan_cache.examine_project", deepest)
        assert check_workspace(folder.load()).errors == []
        assert len(depths) == length + 1
        assert max(depths) < min(depths) + length


class TestValidate:
    @pytest.mark.parametrize("length", [1, 2, 6])
    def test_chained_projects_are_planned_at_most_twice(self, folder: Folder, counts: Counts, length: int) -> None:
        chain(folder, length)
        assert check_workspace(folder.load()).errors == []
        assert counts.plans == {"p": 1, **{f"p{number}": 1 for number in range(length)}}

    @pytest.mark.parametrize("length", [1, 2, 6])
    def test_the_same_with_a_store(self, folder: Folder, counts: Counts, length: int) -> None:
        chain(folder, length)
        apply_changes(open_workspace(folder.root))
        counts.plans.clear()
        assert check_workspace(folder.load()).errors == []
        assert counts.plans == {"p": 1, **{f"p{number}": 1 for number in range(length)}}

    def test_active_projects_are_planned_at_most_twice(self, folder: Folder, counts: Counts) -> None:
        chain(folder, 1)
        for project in ("p", "p0"):
            activate_project(open_workspace(folder.root), project)
        counts.plans.clear()
        assert check_workspace(folder.load()).errors == []
        assert max(counts.plans.values()) <= 2

    def test_a_calendar_is_checked_once(self, folder: Folder, counts: Counts) -> None:
        levels = [
            {"name": "year", "unit": "year", "identifier": "ONCE{{year}}"},
            {"name": "month", "unit": "month", "identifier": "ONCE{{year}}-{{month}}"},
        ]
        folder.define(
            "calendar", {"id": "checked-once", "rule": {"type": "months", "first_month": 4}, "levels": levels}
        )
        folder.project(to_table(), calendar_id="checked-once")
        folder.project(to_table("other"), id_="q", calendar_id="checked-once")
        assert check_workspace(folder.load()).errors == []
        prepare(folder, "ONCE2026-01")
        assert counts.calendars == {"checked-once": 1}
