"""What changed definitions would do to the last close, against a calculation by hand."""

import subprocess
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path

import pytest
from deltalake import DeltaTable

from daybook.compare.impact import ImpactResult, MeasureImpact
from daybook.errors import DaybookError
from daybook.workspace.impact import ImpactLimit, ImpactRequest, exceeded_limits, find_impact, impact_markdown
from daybook.workspace.open_workspace import OpenedWorkspace
from tests.spark.compare.group_close import CURRENCIES, PERIOD, GroupClose
from tests.workspaces import Folder, to_table

PROJECTS = (*(f"clean-{entity}" for entity in CURRENCIES), "group", "management")


def found(folder: Folder, *projects: str, **wish: str) -> ImpactResult:
    located = folder.load()
    workspace = OpenedWorkspace(located.root, located.settings, folder.session)
    return find_impact(workspace, ImpactRequest(projects, **wish))


def git(folder: Path, *arguments: str) -> None:
    author = ("-c", "user.name=A", "-c", "user.email=a@b.invalid")
    subprocess.run(["git", *author, "-C", str(folder), *arguments], capture_output=True, check=True)


def only(result: ImpactResult, output: str) -> MeasureImpact:
    (measure,) = (measure for measure in result.outputs if measure.output == output)
    return measure


@pytest.fixture(scope="module")
def active(closed_group: Folder) -> GroupClose:
    """A close whose projects are active, after one run of each."""
    close = GroupClose(closed_group)
    close.write()
    for project in PROJECTS:
        closed_group.apply()
        closed_group.activate(project)
        closed_group.run(PERIOD, project)
    return close


def test_nothing_changed_concerns_no_run(active: GroupClose) -> None:
    assert found(active.folder).changed == ()


def test_two_changed_rules_move_every_total_behind_them_by_shares_that_add_up(active: GroupClose) -> None:
    runs_before = active.folder.all_runs()
    before = active.total_by_hand()
    active.factors["pl"] = "0.50"
    with_pl = active.total_by_hand()
    active.factors["us"] = "1.25"
    after = active.total_by_hand()
    active.write()
    try:
        result = found(active.folder)
    finally:
        active.factors |= {"us": "1.10", "pl": "1.10"}
        active.write()

    assert result.changed == ("clean-pl", "clean-us")
    # The journal of uk is as it was, and so is what it gave.
    assert result.runs == 4
    assert {measure.output for measure in result.moved} == {
        "lake.tb_us",
        "lake.tb_pl",
        "lake.group_totals",
        "lake.management",
    }
    management = only(result, "lake.management")
    assert (management.before, management.after, management.rows_changed) == (before, after, 1)
    shares = {cause.project: cause.share for cause in management.causes}
    # Neither reads the other, so that they come by name.
    assert shares == {"clean-pl": with_pl - before, "clean-us": after - with_pl}
    assert [*shares] == ["clean-pl", "clean-us"]
    assert [cause.name for cause in management.causes] == ["op-20", "op-20"]
    assert active.folder.all_runs() == runs_before

    limits = [ImpactLimit.parse(text) for text in ("management.total=0.01", "lake.tb_us.total=1000000")]
    assert [limit.output for limit, _ in exceeded_limits(result, limits)] == ["management"]
    comment = impact_markdown(result)
    assert "| management | 2026-01 | lake.management | total |" in comment.replace("\\_", "_")


def test_a_new_column_that_two_projects_use_at_once_is_computed_as_one_change(active: GroupClose) -> None:
    """The group reads a column that cleaning has only now: neither change can be computed without the other."""
    folder = active.folder
    before = active.total_by_hand()
    cleaning = [dict(operation) for operation in active._cleaning("us")]
    arguments = {**cleaning[2]["arguments"]}
    arguments["aggregations"] = [*arguments["aggregations"], {"column": "lines", "expression": "COUNT(*)"}]
    cleaning[2]["arguments"] = arguments
    output = {**cleaning[3]["arguments"], "columns": ["account", "total", "lines"], "on_schema_change": "add"}
    cleaning[3]["arguments"] = output
    try:
        folder.project(*cleaning, id_="clean-us", input_="journal-us")
        result = found(folder)
    finally:
        active.write()

    management = only(result, "lake.management")
    assert (management.before, management.after, management.causes) == (before, before, ())


def test_a_commit_is_what_files_are_compared_with(active: GroupClose) -> None:
    root = active.folder.root
    git(root, "init", "-q")
    git(root, "add", "definitions", "daybook.yaml")
    git(root, "commit", "-qm", "the close")
    before = active.total_by_hand()
    active.factors["uk"] = "0.90"
    after = active.total_by_hand()
    active.write()
    try:
        result = found(active.folder, against="HEAD")
        with pytest.raises(DaybookError) as unknown:
            found(active.folder, against="no-such-branch")
    finally:
        active.factors["uk"] = "1.10"
        active.write()

    management = only(result, "lake.management")
    assert (result.against, management.before, management.after) == ("HEAD", before, after)
    assert unknown.value.code == "RUN_095"


def test_a_limit_of_a_total_that_is_not_there_is_refused() -> None:
    total = MeasureImpact("p", "2026-01", "lake.t", "total", Decimal(1), Decimal(2), 1, (), ("lake.t", "t"))
    result = ImpactResult("active", (total,), changed=("p",), runs=1)

    with pytest.raises(DaybookError) as unknown:
        exceeded_limits(result, [ImpactLimit.parse("t.totl=1")])
    with pytest.raises(DaybookError) as malformed:
        ImpactLimit.parse("total=x")

    assert (unknown.value.code, malformed.value.code) == ("RUN_094", "RUN_031")
    assert [impact for _, impact in exceeded_limits(result, [ImpactLimit.parse("lake.t.total=0.99")])] == [total]
    assert exceeded_limits(result, [ImpactLimit.parse("t.total=1")]) == ()


def test_a_period_without_a_close_has_no_impact(active: GroupClose) -> None:
    active.factors["us"] = "1.25"
    active.write()
    try:
        result = found(active.folder, period="2027-05")
    finally:
        active.factors["us"] = "1.10"
        active.write()

    assert (result.changed, result.runs, result.outputs) == (("clean-us",), 0, ())


def test_what_was_done_to_tables_since_changes_no_number(folder: Folder) -> None:
    """What the last runs wrote is read where it still is; what others did to the tables later counts for nothing."""
    close = GroupClose(folder)
    close.write()
    for project in PROJECTS:
        folder.apply()
        folder.activate(project)
        folder.run(PERIOD, project)
    before = close.total_by_hand()

    def expected_of(factor: str) -> Decimal:
        close.factors["us"] = factor
        close.write()
        return close.total_by_hand()

    # Somebody else changes rows.
    for table in ("management", "tb_us"):
        DeltaTable(folder.root / "lake" / table).update({"total": "total + 1000"})
    after = expected_of("1.25")
    edited = found(folder)
    assert only(edited, "lake.management").before == before
    assert only(edited, "lake.management").after == after

    # Maintenance removes the files of the versions that the runs wrote.
    for table in ("management", "tb_us"):
        DeltaTable(folder.root / "lake" / table).vacuum(0, dry_run=False, enforce_retention_duration=False)
    assert found(folder).outputs == edited.outputs

    # Another version of a project runs; what reads it has not run since.
    between = expected_of("1.20")
    folder.apply()
    folder.activate("clean-us")
    folder.run(PERIOD, "clean-us")
    after = expected_of("1.30")
    again = found(folder)
    assert (only(again, "lake.management").before, only(again, "lake.management").after) == (before, after)
    cleaned = only(again, "lake.tb_us")
    close.factors["us"] = "1.20"
    assert between == close.total_by_hand()
    assert (cleaned.before, cleaned.after) == tuple(cleaned_total(close, factor) for factor in ("1.20", "1.30"))


def cleaned_total(close: GroupClose, factor: str) -> Decimal:
    """The trial balance of the us by hand."""
    total = Decimal(0)
    for account, amount in close.journals["us"].values():
        eur = cents(Decimal(amount) * Decimal(close.rates["USD"]))
        total += cents(eur * Decimal(factor)) if account == "6000" else eur
    return total


def cents(amount: Decimal) -> Decimal:
    return amount.quantize(Decimal("0.01"), ROUND_HALF_UP)


def write_two_outputs(folder: Folder, rule: str, picked: str) -> None:
    """The first output is read by another project; the second one has the rows of an account."""
    update = {
        "seq": 10,
        "type": "update",
        "arguments": {"assignments": [{"column": "amount", "expression": rule, "type": "decimal(18,2)"}]},
    }
    first = to_table(
        "sales", columns=["account", "amount"], register_as_dataset="sales", natural_key_columns=["account"]
    )
    second = to_table("other", columns=["account", "amount"])
    folder.project(
        update,
        {**first, "seq": 20, "selector": "account = '4000'"},
        {**second, "seq": 30, "selector": f"account = '{picked}'"},
        id_="maker",
        input_="ledger",
    )
    folder.project(to_table("read", columns=["account", "amount"]), id_="reader", input_="sales")


def test_an_output_that_gets_the_rows_of_another_one_is_compared_with_its_own(folder: Folder) -> None:
    """The rule gives what it gave, so that the first output stays; the second one has the rows of the first now."""
    folder.write_csv("in/ledger.csv", [{"account": "4000", "amount": "5.00"}, {"account": "6000", "amount": "2.00"}])
    columns = [{"name": "account", "type": "string"}, {"name": "amount", "type": "decimal(18,2)"}]
    folder.dataset("ledger", columns, {"path": "in/ledger.csv"})
    write_two_outputs(folder, "amount * 2", "6000")
    for project in ("maker", "reader"):
        folder.apply()
        folder.activate(project)
        folder.run(PERIOD, project)
    write_two_outputs(folder, "amount + amount", "4000")

    result = found(folder)

    totals = {measure.output: (measure.before, measure.after) for measure in result.outputs}
    ten, four = Decimal("10.00"), Decimal("4.00")
    assert totals == {"lake.sales": (ten, ten), "lake.other": (four, ten), "lake.read": (ten, ten)}
    assert {measure.output for measure in result.moved} == {"lake.other"}
