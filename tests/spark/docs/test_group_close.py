"""The group close of the examples, built on Spark, against the same close by hand: every cell that was written."""

from collections import Counter
from decimal import Decimal
from pathlib import Path

import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from daybook.compare.bridge import BridgeRequest
from daybook.graph.build_plan import BuildRequest
from daybook.workspace.close import build_close, close_status
from daybook.workspace.lifecycle import activate_projects
from daybook.workspace.numbers import bridge_runs
from daybook.workspace.open_workspace import OpenedWorkspace, open_workspace
from daybook.workspace.runs import list_runs
from tests.group_close import COLUMNS, copy_example, expected_tables
from tests.group_close_by_hand import MONTHS, TOTAL, Cells
from tests.office import sheet_values

FIRST, *_, LAST = MONTHS
YEAR_END = "2025-12"


@pytest.fixture(scope="module")
def workspace(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> OpenedWorkspace:
    """The first month is built."""
    root = copy_example(tmp_path_factory.mktemp("examples") / "group-close")
    workspace = open_workspace(root, session=lambda: spark)
    activate_projects(workspace, ())
    build(workspace, FIRST)
    return workspace


@pytest.fixture(scope="module")
def all_months(workspace: OpenedWorkspace, product_settings: None) -> OpenedWorkspace:
    build(workspace, f"{FIRST}..{LAST}")
    return workspace


def build(workspace: OpenedWorkspace, span: str) -> list[str]:
    """The nodes that ran."""
    done = build_close(workspace, BuildRequest(span))
    assert done.is_ok
    return [node.node.name for node in done.nodes if node.result == "ran"]


def written(root: Path, table: str) -> Counter[Cells]:
    rows = DeltaTable(root / "warehouse" / table).to_pyarrow_table().to_pylist()
    return Counter((row["_run_period"], *(row[name] for name in COLUMNS[table])) for row in rows)


def only(expected: Counter[Cells], months: tuple[str, ...]) -> Counter[Cells]:
    return Counter({cells: count for cells, count in expected.items() if cells[0] in months})


def test_every_cell_of_the_first_month_is_right(workspace: OpenedWorkspace) -> None:
    """One test: every worker that had a part of it would build the month."""
    for table, cells in expected_tables(workspace.root).items():
        expected, found = only(cells, (FIRST,)), only(written(workspace.root, table), (FIRST,))
        assert found - expected == Counter(), table
        assert expected - found == Counter(), table
    check_workbook(workspace.root, FIRST)


def check_workbook(root: Path, month: str) -> None:
    page = [cells[1:] for cells in expected_tables(root)["board_pack"] if cells[0] == month]
    rows = sheet_values(root / "out" / f"board-pack-{month}.xlsx", "Board pack")
    found = [tuple(_exact(row[name]) for name in COLUMNS["board_pack"]) for row in rows]
    assert found == sorted(page, key=lambda cells: str(cells[0]))


def _exact(value: object) -> object:
    return Decimal(str(value)) if isinstance(value, int | float) else value


@pytest.mark.slow
@pytest.mark.usefixtures("all_months")
def test_every_cell_of_every_month_is_right(workspace: OpenedWorkspace) -> None:
    tables = expected_tables(workspace.root)
    for table, expected in tables.items():
        assert written(workspace.root, table) - expected == Counter(), table
        assert expected - written(workspace.root, table) == Counter(), table
    for month in MONTHS:
        check_workbook(workspace.root, month)
    states = {node.state for node in close_status(workspace, period=f"{FIRST}..{LAST}").nodes}
    assert states == {"fresh"}


@pytest.mark.slow
@pytest.mark.usefixtures("all_months")
def test_a_late_journal_and_a_corrected_rate_run_what_they_concern_and_nothing_else(workspace: OpenedWorkspace) -> None:
    before = by_hand_to_date(workspace)
    first_run = last_run(workspace)
    replace(
        workspace.root / "data" / "average_rates.csv",
        "USD,1.1709,2026-01-02,2026-02-02",
        "USD,1.1709,2026-01-02,2026-01-04\nUSD,1.1690,2026-01-04,2026-02-02",
    )
    between = by_hand_to_date(workspace)
    ledger = workspace.root / "data" / "ledger"
    with (ledger / "us01-2025-12.csv").open("a", encoding="utf-8") as stream:
        stream.write("2025-12,U2512-900,1,2025-12-30,5000,OPS,,,1234.56,Carrier,posted\n")
        stream.write("2025-12,U2512-900,2,2025-12-30,2000,,,,-1234.56,Carrier,posted\n")
    replace(ledger / "us01-2025-12.control.csv", "74,", "76,")
    after = by_hand_to_date(workspace)
    assert len({before, between, after}) == 3

    # The year ends with December: what is later reads its balances, and no other result.
    late = {f"{project}@{month}" for project in ("balances", "board-pack") for month in MONTHS[1:]}
    expected_nodes = {f"{project}@{YEAR_END}" for project in ("clean-us01", "group-ledger", "consolidation")} | late
    assert set(build(workspace, f"{FIRST}..{LAST}")) == expected_nodes
    for table, expected in expected_tables(workspace.root).items():
        assert written(workspace.root, table) == expected, table

    bridge = bridge_runs(workspace, BridgeRequest(first_run, f"board-pack@{YEAR_END}", "year_actual"))
    assert (bridge.before, bridge.after, bridge.residual) == (before, after, 0)
    shares = {cause.members[0].text: cause.share for cause in bridge.causes}
    assert shares == {"data:average-rates": between - before, "data:journal-us01": after - between}


def last_run(workspace: OpenedWorkspace) -> str:
    return next(run.id for run in list_runs(workspace, project="board-pack", limit=10).runs if run.period == YEAR_END)


def by_hand_to_date(workspace: OpenedWorkspace) -> Decimal:
    """The operating result of the year up to December."""
    page = {cells[:2]: cells for cells in expected_tables(workspace.root)["board_pack"]}
    total = page[YEAR_END, TOTAL][5]
    assert isinstance(total, Decimal)
    return total


def replace(path: Path, before: str, after: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert text.count(before) == 1
    path.write_text(text.replace(before, after), encoding="utf-8")
