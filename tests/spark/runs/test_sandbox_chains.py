"""Drafts read each other in the sandbox, slice by slice, before anything of a chain is live."""

import shutil
from typing import Any

import pytest
import yaml
from deltalake import DeltaTable

from daybook.errors import DaybookError
from daybook.runs.run_result import RunResult
from tests.workspaces import Folder, assign, to_path, to_table


@pytest.fixture
def chain(folder: Folder) -> Folder:
    """`maker` registers what `reader` reads; a draft writes to the sandbox."""
    (folder.root / "daybook.yaml").write_text(yaml.safe_dump({"name": "tests", "sandbox": "sandbox"}))
    make(folder, "1")
    folder.project(to_table("copy", columns=["order_id", "mark"]), id_="reader", input_="booked")
    return folder


def make(folder: Folder, mark: str, **more: Any) -> None:
    folder.project(assign("mark", mark), to_table(register_as_dataset="booked", **more), id_="maker")


def copied(folder: Folder) -> list[tuple[str, str, int]]:
    rows = DeltaTable(folder.root / "sandbox/lake/copy").to_pyarrow_table().to_pylist()
    return sorted((row["_run_period"], row["order_id"], row["mark"]) for row in rows)


def origins(result: RunResult) -> list[tuple[str, str, str, str]]:
    return [(each.dataset_id, each.period, each.origin, each.run_id) for each in result.slices]


def test_a_chain_of_drafts_runs_and_is_replayed_before_anything_is_live(chain: Folder) -> None:
    made = chain.run("2026-02", "maker", is_draft=True)
    read = chain.run("2026-02", "reader", is_draft=True)
    assert copied(chain) == [("2026-02", "O-4", 1)]
    assert origins(read) == [("booked", "2026-02", "sandbox", made.run_id)]
    assert chain.replay(read.run_id).is_same
    with pytest.raises(DaybookError) as refused:
        chain.run("2026-02", "reader", is_draft=True, reads_sandbox=False)
    assert refused.value.code == "PROJECT_020"


def test_each_slice_comes_from_where_it_is_newest(chain: Folder) -> None:
    chain.apply()
    chain.activate("maker")
    live = {period: chain.run(period, "maker").run_id for period in ("2026-01", "2026-02")}
    make(chain, "2")
    draft = chain.run("2026-02", "maker", is_draft=True)
    chain.define("dataset", {"id": "both", "view": {"of": "booked", "window": {"last": 2}}})
    chain.project(to_table("copy", columns=["order_id", "mark"]), id_="reader", input_="both")
    read = chain.run("2026-02", "reader", is_draft=True)
    assert origins(read) == [
        ("both", "2026-01", "live", live["2026-01"]),
        ("both", "2026-02", "sandbox", draft.run_id),
    ]
    marks = [("O-1", 1), ("O-2", 1), ("O-3", 1), ("O-4", 2)]
    assert copied(chain) == [("2026-02", order, mark) for order, mark in marks]
    only_live = chain.run("2026-02", "reader", is_draft=True, reads_sandbox=False)
    assert origins(only_live) == [
        ("both", "2026-01", "live", live["2026-01"]),
        ("both", "2026-02", "live", live["2026-02"]),
    ]
    assert {mark for _, _, mark in copied(chain)} == {1}
    make(chain, "1")
    chain.run("2026-02", "maker")
    again = chain.run("2026-02", "reader", is_draft=True)
    assert {each.origin for each in again.slices} == {"live"}


def test_a_reference_to_a_version_reads_live_data(chain: Folder) -> None:
    chain.apply()
    chain.activate("maker")
    chain.run("2026-02", "maker")
    make(chain, "2")
    chain.run("2026-02", "maker", is_draft=True)
    pinned = {"dataset_id": "booked", "dataset_version": 1}
    chain.project(to_table("copy", columns=["order_id", "mark"]), id_="reader", input=pinned)
    read = chain.run("2026-02", "reader", is_draft=True)
    assert copied(chain) == [("2026-02", "O-4", 1)]
    assert {each.origin for each in read.slices} == {"live"}


@pytest.mark.slow
def test_a_place_that_a_draft_writes_is_read_there_too(chain: Folder) -> None:
    columns = [{"name": "order_id", "type": "string"}, {"name": "mark", "type": "integer"}]
    chain.dataset("listed", columns, {"path": "out/{{identifier}}.csv"}, temporal_mode="period")
    output = to_path("out/{{identifier}}.csv", columns=["order_id", "mark"])
    chain.project(assign("mark", "7"), output, id_="lists")
    chain.project(to_table("copy"), id_="reader", input_="listed")
    made = chain.run("2026-02", "lists", is_draft=True)
    read = chain.run("2026-02", "reader", is_draft=True)
    assert copied(chain) == [("2026-02", "O-4", 7)]
    assert origins(read) == [("listed", "2026-02", "sandbox", made.run_id)]


def test_a_roll_forward_of_drafts_reads_its_own_slice_before(chain: Folder) -> None:
    chain.define("dataset", {"id": "before", "view": {"of": "totals", "window": "previous", "missing": "empty"}})
    columns = [{"name": "region", "type": "string"}, {"name": "amount", "type": "decimal(38,2)"}]
    chain.dataset("totals", columns, {"datasource_id": "lake", "table": "totals"}, temporal_mode="period")
    total = {"group_by": ["region"], "aggregations": [{"column": "amount", "expression": "SUM(amount)"}]}
    chain.project(
        {"type": "append", "arguments": {"source": {"dataset_id": "before"}}},
        {"type": "aggregate", "arguments": total},
        {**to_table("totals", columns=["region", "amount"]), "selector": "_operation_seq = 2"},
        id_="roll",
    )
    chain.runs("2026-01..2026-02", "roll", is_draft=True)
    rows = DeltaTable(chain.root / "sandbox/lake/totals").to_pyarrow_table().to_pylist()
    found = {(row["_run_period"], row["region"]): str(row["amount"]) for row in rows}
    # APAC has 70.00 in February after 0.00 in January; EMEA keeps its 150.00.
    assert found == {
        ("2026-01", "APAC"): "0.00",
        ("2026-01", "EMEA"): "150.00",
        ("2026-02", "APAC"): "70.00",
        ("2026-02", "EMEA"): "150.00",
    }


@pytest.mark.slow
def test_what_was_removed_from_the_sandbox_is_read_from_live_data(chain: Folder) -> None:
    chain.apply()
    chain.activate("maker")
    live = chain.run("2026-02", "maker").run_id
    make(chain, "2")
    chain.run("2026-02", "maker", is_draft=True)
    shutil.rmtree(chain.root / "sandbox")
    read = chain.run("2026-02", "reader", is_draft=True)
    assert origins(read) == [("booked", "2026-02", "live", live)]
    assert copied(chain) == [("2026-02", "O-4", 1)]
    # The table is there again, without the slice that was removed.
    shutil.rmtree(chain.root / "sandbox")
    draft = chain.run("2026-01", "maker", is_draft=True)
    assert origins(chain.run("2026-02", "reader", is_draft=True)) == origins(read)
    assert origins(chain.run("2026-01", "reader", is_draft=True)) == [("booked", "2026-01", "sandbox", draft.run_id)]


def test_drafts_of_others_are_not_read(chain: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        patched.setattr("daybook.runs.snapshot.current_user", lambda: "somebody-else")
        chain.run("2026-02", "maker", is_draft=True)
    with pytest.raises(DaybookError) as refused:
        chain.run("2026-02", "reader", is_draft=True)
    assert refused.value.code == "PROJECT_020"
