"""Slices are listed with who wrote them, and one is dropped without touching the others."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from daybook.errors import DaybookError
from daybook.graph.build_plan import BuildRequest
from daybook.workspace.maintenance import drop_slice, list_slices
from daybook.workspace.open_workspace import OpenedWorkspace, open_workspace
from daybook.workspace.periods import lock_period
from tests.workspaces import COLUMNS, Folder, iceberg_rows, to_table


def opened(folder: Folder) -> OpenedWorkspace:
    return open_workspace(folder.root, session=folder.session)


def periods_in(folder: Folder, type_: str) -> list[str]:
    """The periods that a table holds rows of, by readers of other people."""
    match type_:
        case "delta":
            return sorted({row["_run_period"] for row in folder.table()})
        case "iceberg":
            return sorted({row["_run_period"] for row in iceberg_rows(folder.root / "ice", "result")})
        case "sqlite":
            with closing(sqlite3.connect(folder.root / "data.db")) as database, database:
                return sorted(row[0] for row in database.execute("select distinct _run_period from result"))
        case _:
            files = (folder.root / "files/result").glob(f"_run_period=*/*.{type_}")
            return sorted({file.parent.name.partition("=")[2] for file in files})


@pytest.mark.parametrize(
    ("type_", "path"),
    [
        ("delta", "lake"),
        ("iceberg", "ice"),
        *(pytest.param(format_, "files", marks=pytest.mark.slow) for format_ in ("parquet", "csv")),
        pytest.param("sqlite", "data.db", marks=pytest.mark.slow),
    ],
)
def test_one_slice_is_dropped_and_the_others_stay(folder: Folder, type_: str, path: str) -> None:
    folder.datasource("to", type_, path=path)
    folder.project(to_table("result", "to", register_as_dataset="booked"))
    runs = {period: folder.run(period).run_id for period in ("2026-01", "2026-02")}
    workspace = opened(folder)
    listed = list_slices(workspace, "booked")
    assert [(each.table, each.period, each.project_id, each.run_id, each.rows) for each in listed] == [
        ("to.result", "2026-01", "p", runs["2026-01"], 3),
        ("to.result", "2026-02", "p", runs["2026-02"], 1),
    ]
    done = drop_slice(workspace, "result", "2026-01", reason="delivered twice")
    assert (done.rows, done.datasets) == (3, (("booked", 3),))
    assert periods_in(folder, type_) == ["2026-02"]
    assert [each.period for each in list_slices(workspace)] == ["2026-02"]
    with folder.slices() as slices:
        (record,) = slices.dropped()
    assert (record.period, record.run_id, record.rows, record.reason) == (
        "2026-01",
        runs["2026-01"],
        3,
        "delivered twice",
    )
    assert record.dropped_by == workspace.user
    # The slice is nobody's now, so another project may write it.
    folder.project(to_table("result", "to"), id_="other")
    folder.run("2026-01", "other")
    assert periods_in(folder, type_) == ["2026-01", "2026-02"]
    assert [each.project_id for each in list_slices(workspace, "to.result")] == ["other", "p"]


@pytest.mark.parametrize(
    ("type_", "path"),
    [
        ("parquet", "files"),
        pytest.param("delta", "lake", marks=pytest.mark.slow),
        pytest.param("csv", "files", marks=pytest.mark.slow),
        pytest.param("sqlite", "data.db", marks=pytest.mark.slow),
    ],
)
def test_a_column_that_was_added_later_is_null_in_older_slices(folder: Folder, type_: str, path: str) -> None:
    folder.datasource("to", type_, path=path)
    folder.project(to_table("result", "to", columns=["order_id", "region"]))
    folder.run("2026-01")
    folder.project(to_table("result", "to", columns=["order_id", "region", "amount"], on_schema_change="add"))
    folder.run("2026-02")
    folder.dataset("both", COLUMNS, {"datasource_id": "to", "table": "result"}, temporal_mode="period")
    folder.project(to_table("copy"), id_="reader", input_="both")
    folder.runs("2026-01..2026-02", "reader")
    found = sorted((row["_run_period"], row["order_id"], row["amount"]) for row in folder.table("copy"))
    assert found == [
        ("2026-01", "O-1", None),
        ("2026-01", "O-2", None),
        ("2026-01", "O-3", None),
        ("2026-02", "O-4", 70),
    ]


def test_a_version_registered_before_still_has_the_dropped_slice(folder: Folder) -> None:
    folder.project(to_table("result", register_as_dataset="booked"))
    folder.run("2026-01")
    drop_slice(opened(folder), "lake.result", "2026-01", reason="wrong")
    folder.project(to_table("then"), id_="pinned", input={"dataset_id": "booked", "dataset_version": 1})
    folder.run("2026-01", "pinned")
    assert len(folder.table("then")) == 3
    folder.project(to_table("now"), id_="latest", input_="booked")
    assert folder.run("2026-01", "latest", allow_empty=True).outputs[0].rows_written == 0


@pytest.mark.slow
def test_a_locked_period_keeps_its_slice(folder: Folder) -> None:
    folder.project(to_table("result"))
    folder.run("2026-01")
    workspace = opened(folder)
    lock_period(workspace, "2026-Q1")
    with pytest.raises(DaybookError) as caught:
        drop_slice(workspace, "result", "2026-01", reason="wrong")
    assert caught.value.code == "RUN_002"
    assert len(folder.table()) == 3


def test_an_appended_slice_is_dropped_with_the_rows_of_all_and_build_runs_them_again(folder: Folder) -> None:
    for id_ in ("a", "b"):
        folder.project(to_table("result", mode="append"), id_=id_)
        folder.apply()
        folder.activate(id_)
        folder.run("2026-01", id_)
    workspace = opened(folder)
    (shared,) = list_slices(workspace)
    assert (shared.project_id, shared.rows) == (None, 6)
    folder.write_csv("data/orders.csv", [{"order_id": "O-9", "region": "", "amount": "1.00", "_period": "2026-01"}])
    blocked = build(folder)
    assert {each.node.project: each.result for each in blocked.nodes} == {"a": "blocked", "b": "blocked"}
    assert all("`daybook slices drop lake.result 2026-01`" in (each.reason or "") for each in blocked.nodes)
    assert drop_slice(workspace, "lake.result", "2026-01", reason="again").rows == 6
    again = build(folder)
    assert {each.node.project: each.result for each in again.nodes} == {"a": "ran", "b": "ran"}
    assert [row["order_id"] for row in folder.table()] == ["O-9", "O-9"]
    (shared,) = list_slices(workspace)
    assert (shared.project_id, shared.rows) == (None, 2)


def build(folder: Folder) -> Any:
    from daybook.workspace.close import build_close

    return build_close(opened(folder), BuildRequest("2026-01", keep_going=True, jobs=1))


def test_a_slice_that_was_written_again_since_is_not_dropped(
    folder: Folder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between choosing a slice and dropping it another process runs the period again."""
    from daybook.runs import slices

    folder.project(to_table("result"))
    folder.run("2026-01")
    workspace = opened(folder)
    chosen = slices.find_slice(list_slices(workspace), "result", "2026-01")
    folder.run("2026-01")
    with folder.around() as around, pytest.raises(DaybookError) as caught:
        slices.drop_slice(around, chosen, reason="old", user=None)
    assert caught.value.code == "IO_024"
    assert len(folder.table()) == 3
