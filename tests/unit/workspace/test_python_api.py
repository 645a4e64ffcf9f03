"""`daybook.Workspace` as a program uses it, without Spark: every use case is there, every wrong call has a code."""

import datetime
import inspect
import pydoc
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any, assert_type

import pytest

import daybook
from daybook.demo.workspace_files import write_workspace
from daybook.workspace.close import CloseStatus
from daybook.workspace.python_api.arguments import check_of
from daybook.workspace.runs import RunListing

NOW = datetime.datetime(2026, 1, 5, 12, tzinfo=datetime.UTC)
RUN = "20260101-000000-000000"
METHODS = {
    f"{owner.__name__}.{name}": member
    for owner in (daybook.Workspace, daybook.Run)
    for name, member in inspect.getmembers(owner, inspect.isfunction)
    if not name.startswith("_")
}


@pytest.fixture
def workspace(tmp_path: Path) -> daybook.Workspace:
    write_workspace("starter", tmp_path / "sales")
    return daybook.Workspace(tmp_path / "sales")


@pytest.mark.parametrize("name", METHODS)
def test_every_parameter_of_every_method_is_checked(name: str) -> None:
    parameters = [item for item in inspect.signature(METHODS[name]).parameters.values() if item.name != "self"]
    assert all(expected for _, expected in map(check_of, parameters))
    if parameters and name != "Run.explain":
        assert hasattr(METHODS[name], "__wrapped__")


Call = Callable[[daybook.Workspace], Any]
WRONG: dict[str, Call] = {
    "project": lambda workspace: workspace.run(7, "2026-01"),  # type: ignore[arg-type]
    "period": lambda workspace: workspace.run("monthly-sales", datetime.date(2026, 1, 1)),  # type: ignore[arg-type]
    "periods": lambda workspace: workspace.run_range("monthly-sales", None),  # type: ignore[arg-type]
    "within": lambda workspace: workspace.new_scenario("monthly-sales", within=60),  # type: ignore[arg-type]
    "as_of": lambda workspace: workspace.run("monthly-sales", "2026-01", as_of=20260405),  # type: ignore[arg-type]
    "draft": lambda workspace: workspace.run("monthly-sales", "2026-01", draft="yes"),  # type: ignore[arg-type]
    "operation": lambda workspace: workspace.explain(RUN, None),  # type: ignore[arg-type]
    "keys": lambda workspace: workspace.explain(RUN, 1, region=["EMEA"]),  # type: ignore[arg-type]
    "limit": lambda workspace: workspace.runs(limit=0),
    "year": lambda workspace: workspace.periods(year="2026"),  # type: ignore[arg-type]
    "kind": lambda workspace: workspace.show("table", "orders"),  # type: ignore[arg-type]
    "version": lambda workspace: workspace.show("dataset", "orders", version=True),
    "dataset_version": lambda workspace: workspace.activate("monthly-sales", dataset_version=0),
    "run_id": lambda workspace: workspace.retry(b"x"),  # type: ignore[arg-type]
    "reason": lambda workspace: workspace.reopen_period("2026-01", reason=None),  # type: ignore[arg-type]
    "group_by": lambda workspace: workspace.parse("SUM(x)", columns="x integer", group_by="region"),
    "paths": lambda workspace: workspace.test(1),  # type: ignore[arg-type]
    "path": lambda _: daybook.Workspace(None),  # type: ignore[arg-type]
    "spark": lambda workspace: daybook.Workspace(workspace.root, spark="local"),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("argument", WRONG)
def test_a_value_of_a_wrong_type_has_a_code(workspace: daybook.Workspace, argument: str) -> None:
    with pytest.raises(daybook.DaybookError) as caught:
        WRONG[argument](workspace)
    assert (caught.value.code, caught.value.parameters["argument"]) == ("RUN_031", argument)


REFUSED: dict[str, tuple[Call, str | None]] = {
    "a text that is not a date": (
        lambda workspace: workspace.run("monthly-sales", "2026-01", as_of="5.4.2026"),
        "RUN_013",
    ),
    "a time": (lambda workspace: workspace.run("monthly-sales", "2026-01", as_of=NOW), "RUN_031"),
    "a project": (lambda workspace: workspace.activate("sales"), "STORE_007"),
    "a period": (lambda workspace: workspace.dry_run("monthly-sales", "2026-1"), "RESOLVE_001"),
    "a status": (lambda workspace: workspace.runs(status="done"), "RUN_031"),
    "a run": (lambda workspace: workspace.show_run(RUN), "STORE_014"),
    "a run to replay": (lambda workspace: workspace.replay(RUN), "STORE_014"),
    "a run to cancel": (lambda workspace: workspace.cancel(RUN), "STORE_014"),
    "a run to continue after": (lambda workspace: workspace.runs(after=RUN), "STORE_014"),
    "a definition": (lambda workspace: workspace.show("dataset", "order"), "STORE_007"),
    "a calendar": (lambda workspace: workspace.periods(calendar="fiscal"), None),
    "a level": (lambda workspace: workspace.periods(level="week"), None),
    "a function": (lambda workspace: workspace.functions("SUMM"), "EXPR_014"),
    "an expression": (lambda workspace: workspace.parse("1 +"), None),
    "a code": (lambda workspace: workspace.explain_code("EXPR_12"), "RUN_029"),
    "a folder of scenarios": (lambda workspace: workspace.test("nowhere"), "MODEL_064"),
    "a path to check": (lambda workspace: workspace.check("nowhere"), "MODEL_064"),
    "an empty reason": (lambda workspace: workspace.reopen_period("2026-01", reason=" "), "STORE_032"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_does_not_exist_has_a_code(workspace: daybook.Workspace, what: str) -> None:
    call, code = REFUSED[what]
    with pytest.raises(daybook.DaybookError) as caught:
        call(workspace)
    assert code is None or caught.value.code == code


def test_what_the_system_refuses_has_a_code(workspace: daybook.Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied", "/somewhere")

    monkeypatch.setattr("daybook.store.store.open_store", refuse)
    with pytest.raises(daybook.DaybookError) as caught:
        workspace.apply()
    assert caught.value.code == "IO_012"


def test_a_broken_definition_is_reported_where_definitions_are_needed(workspace: daybook.Workspace) -> None:
    (workspace.root / "broken.yaml").write_text("project: {id: p, operations: [\n")
    opened = daybook.Workspace(workspace.root)
    assert opened.runs().runs == ()
    assert {Path(str(error.span.file)).name for error in opened.validate() if error.span} == {"broken.yaml"}
    with pytest.raises(daybook.DaybookError):
        _ = opened.projects


def test_files_are_read_as_they_are_now(workspace: daybook.Workspace) -> None:
    assert workspace.projects == ("monthly-sales",)
    file = workspace.root / "projects" / "monthly-sales.yaml"
    file.write_text(file.read_text(encoding="utf-8").replace("SUM(fee)", "SUM(fees)"), encoding="utf-8")
    assert [error.code for error in workspace.validate()] == ["AGGREGATE_004"]


def test_the_life_of_a_project(workspace: daybook.Workspace) -> None:
    assert [(change.id, change.action) for change in workspace.plan().changes] == [
        ("orders", "added"),
        ("monthly-sales", "added"),
    ]
    assert not (workspace.root / ".daybook").exists()
    assert {change.action for change in workspace.apply().changes} == {"added"}
    assert workspace.activate("monthly-sales").is_new
    shown = workspace.show("project", "monthly-sales")
    assert (shown.status, shown.versions) == ("active", (1, 2))
    assert workspace.deactivate("monthly-sales").is_changed
    assert not workspace.deactivate("monthly-sales").is_changed


def test_the_status_of_a_period(workspace: daybook.Workspace) -> None:
    assert workspace.close_period("2026-01", reason="sent to the auditors").is_changed
    assert workspace.lock_period("2026-Q1").is_changed
    months = {each.period.identifier: each.status.status for each in workspace.periods(year=2026, level="month")}
    assert (months["2026-01"], months["2026-04"]) == ("locked", "open")
    assert workspace.reopen_period("2026-Q1", reason="a late invoice").is_changed
    assert workspace.show_period("2026-01").status.status == "closed"


def test_compiling_and_a_dry_run_start_no_spark(workspace: daybook.Workspace) -> None:
    assert workspace.compile("monthly-sales", period="2026-01").period.identifier == "2026-01"
    (planned,) = workspace.dry_run("monthly-sales", "2026-01", as_of="2026-01-15")
    assert (planned.project_id, planned.as_of) == ("monthly-sales", datetime.date(2026, 1, 15))
    assert [output.destination for output in planned.outputs] == ["out/sales-2026-01.csv"]
    assert [source.dataset_id for source in planned.sources] == ["orders"]
    assert workspace._session._session is None


def test_reference_and_house_keeping(workspace: daybook.Workspace) -> None:
    assert workspace.parse("amount * 2", columns="amount decimal(18,2)").columns == ("amount",)
    assert [entry.name for entry in workspace.functions("sum")] == ["SUM"]
    assert workspace.explain_code("io-021").code == "IO_021"
    assert workspace.check().definition_count == 2
    assert workspace.gc(dry_run=True).bytes == 0
    assert "Store" in {finding.subject for finding in workspace.doctor(with_spark=False).findings}
    assert workspace.write_schemas(workspace.root / "schemas")


@pytest.mark.parametrize("value", [None, "x", 1, 1.5, Decimal("1.5"), True, datetime.date(2026, 1, 1)])
def test_values_that_may_stand_in_keys(workspace: daybook.Workspace, value: Any) -> None:
    with pytest.raises(daybook.DaybookError) as caught:
        workspace.explain(RUN, 1, region=value)
    assert caught.value.code == "STORE_014"


def test_a_method_that_is_a_use_case_has_its_types_and_its_documentation(workspace: daybook.Workspace) -> None:
    assert_type(workspace.status(period="2026-01"), CloseStatus)
    assert_type(workspace.runs(limit=1), RunListing)
    assert str(inspect.signature(daybook.Workspace.close_period)) == (
        "(self, period: str, *, calendar: str | None = None, reason: str | None = None)"
        " -> daybook.workspace.periods.PeriodChange"
    )
    assert daybook.Workspace.close_period.__name__ == "close_period"
    assert "Close a period: runs on it and inside it warn." in pydoc.render_doc(daybook.Workspace)


@pytest.mark.parametrize("name", METHODS)
def test_every_method_is_documented_under_its_name(name: str) -> None:
    assert METHODS[name].__doc__
    assert METHODS[name].__qualname__ == name


def test_a_stored_definition_has_its_documented_members(workspace: daybook.Workspace) -> None:
    workspace.apply()
    shown = workspace.show("project", "monthly-sales")
    assert (shown.definition.kind, shown.definition.version, shown.definition.is_latest) == ("project", 1, True)
    assert (shown.status, shown.versions) == ("draft", (1,))
    assert shown.project is not None
