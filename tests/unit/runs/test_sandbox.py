"""What a draft would read of other drafts in the sandbox, known before Spark is involved."""

import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from daybook.errors import DaybookError
from daybook.runs.attempt.run_request import RunRequest
from daybook.runs.snapshot import SourceSnapshot
from tests.prepared_runs import prepare_runs
from tests.workspaces import Folder, assign, no_session, to_path, to_table
from tests.written_runs import write_run

MARKED = pa.table({"order_id": ["O-4"], "mark": pa.array([7], pa.int64())})


@pytest.fixture
def chain(tmp_path: Path) -> Folder:
    """`maker` writes what `reader` reads, by registration or by place; both are drafts."""
    return Folder.new(tmp_path / "w", no_session, sandbox="sandbox")


def make(folder: Folder, output: dict[str, Any]) -> None:
    folder.project(assign("mark", "7"), output, id_="maker")


def read(folder: Folder, dataset: str, **wish: Any) -> SourceSnapshot:
    folder.project(to_table("copy", columns=["order_id", "mark"]), id_="reader", input_=dataset)
    workspace = folder.load()
    with folder.around(workspace) as around:
        (prepared,) = prepare_runs(workspace, around, RunRequest("reader", "2026-02", is_draft=True, **wish))
    return prepared.snapshot.source("input")


def places(folder: Folder, source: SourceSnapshot) -> list[tuple[str, str, tuple[str, ...] | None]]:
    root = f"{folder.root}/"
    return [((each.uri or "").removeprefix(root), each.format, each.slices) for each in source.resolution.locations]


def test_a_registered_table_is_read_from_the_sandbox(chain: Folder) -> None:
    make(chain, to_table(columns=["order_id", "mark"], register_as_dataset="booked"))
    run_id = write_run(chain, {2: MARKED}, "2026-02", project="maker")
    source = read(chain, "booked")
    assert places(chain, source) == [("sandbox/lake/result", "delta", ("2026-02",))]
    assert (source.slices, source.sandbox_periods) == ({"2026-02": run_id}, ("2026-02",))


def test_a_file_is_read_from_the_sandbox_in_its_own_format(chain: Folder) -> None:
    columns = [{"name": "order_id", "type": "string"}, {"name": "mark", "type": "integer"}]
    chain.dataset("listed", columns, {"path": "out/{{identifier}}.csv"}, temporal_mode="period")
    make(chain, to_path("out/{{identifier}}.csv", columns=["order_id", "mark"]))
    write_run(chain, {2: MARKED}, "2026-02", project="maker")
    source = read(chain, "listed")
    assert places(chain, source) == [("sandbox/out/2026-02.csv", "csv", None)]
    assert source.sandbox_periods == ("2026-02",)
    assert places(chain, read(chain, "listed", reads_sandbox=False)) == [("out/2026-02.csv", "csv", None)]


def test_what_was_removed_from_the_sandbox_is_not_looked_for_there(chain: Folder) -> None:
    make(chain, to_table(columns=["order_id", "mark"], register_as_dataset="booked"))
    write_run(chain, {2: MARKED}, "2026-02", project="maker")
    shutil.rmtree(chain.root / "sandbox")
    with pytest.raises(DaybookError) as refused:
        read(chain, "booked")
    assert refused.value.code == "PROJECT_020"
    # The table is there again, for another month.
    write_run(chain, {2: MARKED}, "2026-01", project="maker")
    assert read(chain, "booked").sandbox_periods == ()
