"""Changes after which a run would write other rows, or elsewhere: none of them may leave a node fresh.

Runs are recorded and not computed; each case is what a full build was seen to compute otherwise.
"""

import shutil
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest

from daybook.graph.build import build
from daybook.graph.build_listener import BuildListener
from daybook.graph.build_plan import BuildRequest
from daybook.resolve.project_files import CheckedFiles
from daybook.workspace.close import close_status
from daybook.workspace.lifecycle import activate_projects
from daybook.workspace.open_workspace import open_workspace
from tests.recorded_runs import record_run
from tests.unit.io.formats.iceberg.lake import Lake, source
from tests.workspaces import Folder, assign, no_session, to_path, to_table
from tests.written_runs import write_run

LEDGER = [{"name": "account", "type": "string"}, {"name": "amount", "type": "decimal(18,2)"}]
COLUMNS = ["account", "amount"]
MONEY = pa.decimal128(18, 2)
Change = Callable[[Folder], None]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Folder:
    monkeypatch.setattr("daybook.graph.build.execute_run", record_run)
    return Folder.new(tmp_path / "w", no_session)


def built(folder: Folder, period: str = "2026-01") -> set[str]:
    """Activates and builds; the nodes that ran."""
    activate_projects(open_workspace(folder.root))
    workspace = folder.load()
    with folder.around(workspace) as around:
        result = build(CheckedFiles(workspace), around, BuildRequest(period, jobs=1), BuildListener())
    assert result.is_ok, [(node.node.name, node.reason) for node in result.nodes if node.is_failure]
    return {node.node.name for node in result.nodes if node.result == "ran"}


def stale(folder: Folder, period: str = "2026-01") -> set[str]:
    nodes = close_status(open_workspace(folder.root), period=period, ask=True, look=True).nodes
    return {status.node.name for status in nodes if status.state == "stale"}


def ledger(folder: Folder) -> None:
    folder.write_csv("in/ledger.csv", [{"account": "1", "amount": "1.00"}])


def read_through_source(folder: Folder, **options: str) -> None:
    ledger(folder)
    folder.define("datasource", {"id": "files", "type": "csv", "options": {"path": "in", "options": options}})
    folder.dataset("ledger", LEDGER, {"datasource_id": "files", "table": "ledger"})
    folder.project(to_table(columns=COLUMNS), input_="ledger")


def written_for(folder: Folder, end: str = "2026-01-31") -> None:
    ledger(folder)
    period = {"identifier": "P01", "level": "month", "start_date": "2026-01-01", "end_date": end}
    folder.define("calendar", {"id": "fiscal", "levels": [{"name": "month"}], "periods": [period]})
    folder.dataset("ledger", LEDGER, {"path": "in/ledger.csv"})
    days = assign("amount", "amount + DAY(period.end_date)")
    folder.project(days, to_table(columns=COLUMNS), input_="ledger", calendar_id="fiscal")


def chained(folder: Folder, key: str = "account") -> None:
    """A reader of what a maker registers under a declaration with a natural key."""
    ledger(folder)
    folder.dataset("ledger", LEDGER, {"path": "in/ledger.csv"})
    maker = to_table("booked", columns=COLUMNS, register_as_dataset="booked")
    folder.project(maker, id_="maker", input_="ledger")
    table = {"name": "booked", "columns": LEDGER, "location": {"datasource_id": "lake", "table": "booked"}}
    folder.define("dataset", {"id": "booked", "natural_key_columns": [key], "main_table": table})
    folder.project(to_table("read", columns=COLUMNS), id_="reader", input_="booked")


def read_from_iceberg(folder: Folder) -> None:
    """A table of somebody else, with a column that nobody reads."""
    with Lake(folder.root).catalog() as catalog:
        catalog.create_namespace("close")
        rows = pa.table({"account": ["1"], "amount": [Decimal("1.00")], "tax": [Decimal("0.25")], "note": [""]})
        types = pa.schema([("account", pa.string()), ("amount", MONEY), ("tax", MONEY), ("note", pa.string())])
        catalog.create_table("close.journal", types).append(rows.cast(types))
    folder.define("datasource", {"id": "lake-of-others", "type": "iceberg", "options": source().options.model_dump()})
    folder.dataset("ledger", LEDGER, {"datasource_id": "lake-of-others", "table": "journal"})
    folder.project(to_path("out/result.csv", columns=COLUMNS), input_="ledger")


def rename_columns(folder: Folder, *names: tuple[str, str]) -> None:
    with Lake(folder.root).table() as table, table.update_schema() as update:
        for before, after in names:
            update.rename_column(before, after)


@pytest.mark.parametrize(
    ("setup", "change", "undo", "expected"),
    [
        pytest.param(
            read_through_source,
            lambda folder: read_through_source(folder, null_value="1"),
            read_through_source,
            {"p@2026-01"},
            id="how a data source reads its files",
        ),
        pytest.param(
            chained,
            lambda folder: folder.datasource("lake", "delta", path="other"),
            lambda folder: folder.datasource("lake", "delta", path="lake"),
            {"maker@2026-01", "reader@2026-01"},
            id="where the folder of the outputs is",
        ),
        pytest.param(
            chained,
            lambda folder: chained(folder, "amount"),
            chained,
            {"reader@2026-01"},
            id="the natural key of a dataset that is declared and registered",
        ),
        pytest.param(
            chained,
            lambda folder: shutil.move(folder.root / "lake/booked", folder.root / "lake/moved"),
            lambda folder: shutil.move(folder.root / "lake/moved", folder.root / "lake/booked"),
            {"maker@2026-01"},
            id="a table that is gone",
        ),
        pytest.param(
            read_from_iceberg,
            lambda folder: rename_columns(folder, ("amount", "net"), ("tax", "amount")),
            lambda folder: rename_columns(folder, ("amount", "tax"), ("net", "amount")),
            {"p@2026-01"},
            id="columns of an Iceberg table that have the names of others",
        ),
        pytest.param(
            read_from_iceberg,
            lambda folder: rename_columns(folder, ("note", "remark")),
            lambda folder: rename_columns(folder, ("remark", "note")),
            set(),
            id="a column of an Iceberg table that is not read",
        ),
    ],
)
def test_what_decides_about_rows_makes_stale_until_it_is_undone(
    folder: Folder, setup: Change, change: Change, undo: Change, expected: set[str]
) -> None:
    setup(folder)
    built(folder)
    assert stale(folder) == set()

    change(folder)
    assert stale(folder) == expected

    undo(folder)
    assert stale(folder) == set()


def test_the_last_day_of_a_period_counts(folder: Folder) -> None:
    written_for(folder)
    built(folder, "P01")

    written_for(folder, end="2026-01-28")

    assert stale(folder, "P01") == {"p@P01"}


def test_a_reader_without_a_time_filter_reads_the_slices_of_all_periods(folder: Folder) -> None:
    span = "2026-01..2026-02"
    folder.project(to_table("booked", columns=["region", "amount"]), id_="maker")
    columns = [{"name": "region", "type": "string"}, {"name": "amount", "type": "decimal(18,2)"}]
    folder.dataset("all", columns, {"datasource_id": "lake", "table": "booked"})
    folder.project(to_table("read", columns=["amount"]), id_="reader", input_="all")
    # Both months of the maker come before either of the reader, so that one build is enough.
    assert len(built(folder, span)) == 4
    assert built(folder, span) == set()

    with folder.around() as around:
        result = build(
            CheckedFiles(folder.load()),
            around,
            BuildRequest("2026-02", ("maker",), only=True, is_full=True),
            BuildListener(),
        )
    assert result.is_ok

    assert stale(folder, span) == {"reader@2026-01", "reader@2026-02"}
    assert built(folder, span) == {"reader@2026-01", "reader@2026-02"}


@pytest.mark.parametrize("name", ["out/report.csv", "out/report"])
def test_a_file_that_was_changed_is_written_again(folder: Folder, name: str) -> None:
    folder.project(to_path({"path": name, "format": "csv"}, columns=["region", "amount"]))
    activate_projects(open_workspace(folder.root))
    write_run(folder, {1: pa.table({"region": ["EMEA"], "amount": pa.array([1], pa.decimal128(18, 2))})})
    assert stale(folder) == set()

    path = folder.root / name
    if path.is_file():
        path.write_text(f"{path.read_text()}APAC,2.00\n")
    else:
        (path / "more.csv").write_text("region,amount\nAPAC,2.00\n")

    assert stale(folder) == {"p@2026-01"}
