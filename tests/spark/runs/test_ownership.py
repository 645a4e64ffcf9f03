"""Whose a slice is stands with the data: another name or another workspace does not get around it."""

import datetime
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from pyspark.sql import SparkSession

from daybook.io.formats.delta.format import held_versions
from daybook.model.settings import RetentionSettings
from daybook.runs.garbage import collect_garbage
from daybook.runs.run_result import RunFailedError
from tests.postgres import PostgresServer
from tests.workspaces import ORDERS, Folder, to_table


@pytest.fixture
def session(spark: SparkSession) -> Any:
    return lambda: spark


def workspace(root: Path, session: Any, name: str, type_: str, path: str) -> Folder:
    """A workspace with its own store that writes January to a shared table."""
    folder = Folder.new(root / name, session)
    (folder.root / "daybook.yaml").write_text(f"name: {name}\n")
    folder.datasource("shared", type_, path=path)
    folder.project(to_table("result", "shared"))
    return folder


def refusal(folder: Folder, project: str = "p", period: str = "2026-01") -> str:
    """What the run that wants another's slice is told."""
    with pytest.raises(RunFailedError) as caught:
        folder.run(period, project)
    (cause,) = caught.value.error.causes
    assert (caught.value.error.code, cause.code) == ("OUTPUT_006", "STORE_016")
    return str(cause.parameters["owner"])


@pytest.mark.parametrize(
    ("type_", "path"),
    [
        ("delta", "lake"),
        ("iceberg", "lake"),
        *(pytest.param(format_, "lake", marks=pytest.mark.slow) for format_ in ("parquet", "csv")),
        pytest.param("sqlite", "data.db", marks=pytest.mark.slow),
    ],
)
def test_a_slice_of_another_workspace_is_not_replaced(session: Any, tmp_path: Path, type_: str, path: str) -> None:
    shared = str(tmp_path / path)
    first = workspace(tmp_path, session, "first", type_, shared)
    second = workspace(tmp_path, session, "second", type_, shared)
    first.run("2026-01")
    assert refusal(second).startswith("operation op-1 of project p of workspace first (id ")
    # Other periods are free, and the owner goes on.
    second.run("2026-02")
    first.run("2026-01")
    assert "of workspace second (id " in refusal(first, period="2026-02")


@pytest.mark.slow
def test_a_slice_of_a_run_that_the_store_lost_is_noted_and_replaced(session: Any, tmp_path: Path) -> None:
    """The store was put back from a copy of the folder by hand, so that nobody looked for what was committed since."""
    folder = workspace(tmp_path, session, "first", "delta", str(tmp_path / "lake"))
    folder.apply()
    shutil.copytree(folder.root / ".daybook", tmp_path / "kept")
    before = folder.run("2026-01").run_id
    shutil.rmtree(folder.root / ".daybook")
    shutil.copytree(tmp_path / "kept", folder.root / ".daybook")
    found = [each.message for each in folder.run("2026-01").notices if each.code == "RUN_041"]
    assert len(found) == 1
    assert before in found[0]
    assert "RUN_041" not in {each.code for each in folder.run("2026-01").notices}


def test_a_link_is_no_other_table(session: Any, tmp_path: Path) -> None:
    folder = workspace(tmp_path, session, "first", "delta", str(tmp_path / "lake"))
    folder.run("2026-01")
    (tmp_path / "alias").symlink_to(tmp_path / "lake")
    folder.datasource("alias", "delta", path=str(tmp_path / "alias"))
    folder.project(to_table("result", "alias"), id_="other")
    assert refusal(folder, "other") == "operation op-1 of project p"


def test_the_case_of_a_name_makes_no_other_table_in_sqlite(session: Any, tmp_path: Path) -> None:
    folder = workspace(tmp_path, session, "first", "sqlite", str(tmp_path / "data.db"))
    folder.run("2026-01")
    folder.datasource("again", "sqlite", path=str(tmp_path / "first" / ".." / "data.db"))
    folder.project(to_table("RESULT", "again"), id_="other")
    assert refusal(folder, "other") == "operation op-1 of project p"


@pytest.mark.slow
def test_a_table_is_not_replaced_over_the_slices_of_another_workspace(session: Any, tmp_path: Path) -> None:
    first = workspace(tmp_path, session, "first", "delta", str(tmp_path / "lake"))
    second = workspace(tmp_path, session, "second", "delta", str(tmp_path / "lake"))
    first.run("2026-01")
    second.project(to_table("result", "shared", mode="replace"))
    assert refusal(second, period="2026-02").startswith("operation op-1 of project p of workspace first (id ")


@pytest.mark.slow
def test_slices_that_others_append_to_are_shared_by_workspaces(session: Any, tmp_path: Path) -> None:
    first = workspace(tmp_path, session, "first", "delta", str(tmp_path / "lake"))
    second = workspace(tmp_path, session, "second", "delta", str(tmp_path / "lake"))
    for folder in (first, second):
        folder.project(to_table("result", "shared", mode="append"))
        folder.run("2026-01")
    second.project(to_table("result", "shared"))
    assert refusal(second) == "every project that appends to it"


def test_what_one_workspace_registered_is_not_vacuumed_by_another(session: Any, tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    first = workspace(tmp_path, session, "first", "delta", str(lake))
    first.project(to_table("result", "shared", register_as_dataset="booked"))
    for number in range(3):
        first.write_csv("data/orders.csv", [{**row, "amount": f"{number}.00"} for row in ORDERS])
        first.run("2026-01")
    assert held_versions(str(lake / "result")) == {0, 1, 2}
    second = workspace(tmp_path, session, "second", "delta", str(lake))
    for _ in range(3):
        second.run("2026-02")

    def sweep(folder: Folder, versions: int) -> int:
        with folder.around() as around:
            later = replace(around, clock=lambda: datetime.datetime.now(datetime.UTC) + datetime.timedelta(days=100))
            return len(collect_garbage(later, RetentionSettings(runs="90d", versions=versions)).files)

    removed = sweep(second, 1)
    assert removed > 0
    # The registered versions of the first workspace are still there.
    first.project(to_table("then", "lake"), id_="pinned", input={"dataset_id": "booked", "dataset_version": 1})
    first.run("2026-01", "pinned")
    assert {row["amount"] for row in first.table("then")} == {0}
    # Its own retention lets those go that no project is pinned to.
    sweep(first, 1)
    assert held_versions(str(lake / "result")) == {0, 2}


@pytest.mark.postgres
def test_a_server_under_two_names_is_one_database(
    session: Any, tmp_path: Path, postgres_server: PostgresServer
) -> None:
    database = urlsplit(postgres_server.create_database()).path[1:]
    # Paths of sockets are short.
    link = postgres_server.folder / "link"
    link.symlink_to(postgres_server.folder)
    folders = []
    for name, host in (("first", str(postgres_server.folder)), ("second", str(link))):
        folder = Folder.new(tmp_path / name, session, name=name)
        folder.datasource("shared", "postgresql", host=host, database=database, user="postgres")
        folder.project(to_table("result", "shared"))
        folders.append(folder)
    first, second = folders
    first.run("2026-01")
    assert refusal(second).startswith("operation op-1 of project p of workspace first (id ")
    first.datasource("again", "postgresql", host=str(link), database=database, user="postgres")
    first.project(to_table("result", "again"), id_="other")
    assert refusal(first, "other") == "operation op-1 of project p"
