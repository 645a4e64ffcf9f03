"""What an output is registered as."""

import datetime
import shutil
from pathlib import Path
from typing import Any

import pytest

from daybook.engine.counters import GroupCounts
from daybook.errors import DaybookError
from daybook.io.formats.delta.format import held_versions
from daybook.io.storage import PROVIDER_STORAGE
from daybook.io.writer import Commit, StagedOutput
from daybook.model.dataset import Dataset, PathLocation, TableLocation
from daybook.model.definition import RegisteredDataPin, TableVersion
from daybook.resolve.location import Location
from daybook.runs.attempt.lease import LeaseKeeper
from daybook.runs.attempt.recorder import RunRecorder, data_pin, hold_version, holding_store, registered_dataset
from daybook.runs.attempt.run_request import RunRequest
from daybook.runs.attempt.start import start_run
from daybook.runs.lifecycle.apply import apply
from daybook.runs.lifecycle.registration import RegisteredDataset
from daybook.runs.lifecycle.runnable import find_version
from daybook.runs.snapshot import RunSettings
from daybook.store import open_store
from daybook.store.records import Registration
from tests.prepared_runs import prepare_runs
from tests.unit.runs.prepared import TIMESTAMP, new_folder, prepared
from tests.workspaces import COLUMNS, to_path, to_table


def registered(tmp_path: Path, output: dict[str, Any], mode: str | None = "period", **settings: Any) -> Dataset:
    folder = new_folder(tmp_path)
    temporal = {"temporal_mode": mode} if mode else {}
    folder.dataset("orders", COLUMNS, {"path": "data/orders.csv"}, **temporal)
    output["arguments"]["register_as_dataset"] = "booked"
    folder.project(output)
    run = prepared(folder, settings=RunSettings(**settings))
    return registered_dataset(run.outputs[0], run)


@pytest.mark.parametrize(
    ("mode", "output", "expected"),
    [
        ("period", to_table(), "period"),
        ("period", to_table(columns=["amount"]), "period"),
        ("period", to_table(mode="replace", columns=["amount"]), "period"),
        ("period", to_path("out/x.csv"), "period"),
        ("period", to_path("out/x.csv", columns=["amount", "_period"]), "period"),
        ("period", to_path("out/x.csv", columns=["amount"]), None),
        ("period", to_path("out/x.csv", system_columns=False), None),
        ("period", to_path("out/{{identifier}}.csv", columns=["amount"]), "period"),
        ("period", to_path("out/{{YYYY}}-{{MM}}.csv", columns=["amount"]), "period"),
        ("period", to_path("out/y{{YYYY}}.csv", columns=["amount"]), None),
        ("period", to_path("out/{{table_name}}.csv", columns=["amount"]), None),
        ("bitemporal", to_table(), "bitemporal"),
        ("bitemporal", to_table(columns=["amount", "_valid_from", "_valid_to"]), "bitemporal"),
        ("bitemporal", to_table(columns=["amount", "_valid_from"]), None),
        (None, to_table(), None),
        (None, to_table(mode="append"), None),
        (None, to_table(mode="replace"), None),
        (None, to_path("out/x.csv"), None),
    ],
)
def test_the_way_with_time(tmp_path: Path, mode: str | None, output: dict[str, Any], expected: str | None) -> None:
    assert registered(tmp_path, output, mode).main_table.temporal_mode == expected


def test_business_columns_alone_are_declared(tmp_path: Path) -> None:
    dataset = registered(tmp_path, to_table())
    assert [column.name for column in dataset.main_table.columns] == ["order_id", "region", "amount"]
    assert (dataset.id, dataset.main_table.name) == ("booked", "result")
    assert dataset.main_table.location == TableLocation(datasource_id="lake", table="result")


def test_a_location_keeps_its_template_and_names_its_format(tmp_path: Path) -> None:
    dataset = registered(tmp_path, to_path("out/{{identifier}}.csv"))
    assert dataset.main_table.location == PathLocation(path="out/{{identifier}}.csv", format="csv")


def test_in_the_sandbox_it_has_another_name_and_place(tmp_path: Path) -> None:
    dataset = registered(tmp_path, to_table(), is_draft=True, sandbox="sandbox")
    assert dataset.id == "sandbox.booked"
    assert isinstance(dataset.main_table.location, PathLocation)
    assert dataset.main_table.location.path == "sandbox/lake/result"


def test_without_columns_of_its_own_it_cannot_be_registered(tmp_path: Path) -> None:
    with pytest.raises(DaybookError) as refused:
        registered(tmp_path, to_table(columns=["_row_id", "_period"]))
    assert refused.value.code == "OUTPUT_007"


def test_only_delta_is_pinned(tmp_path: Path) -> None:
    folder = new_folder(tmp_path)
    folder.project(to_table(), to_path("out/x.csv"))
    delta, csv = prepared(folder).outputs
    assert data_pin(delta, Commit(1, TableVersion("delta", "7"))) == RegisteredDataPin(
        delta.target.location.file_uri, TableVersion("delta", "7")
    )
    assert data_pin(csv, Commit(1)) is None


def test_a_path_keeps_the_name_of_the_table_it_was_written_from(tmp_path: Path) -> None:
    dataset = registered(tmp_path, to_path("out/{{table_name}}-{{identifier}}.csv"))
    assert dataset.main_table.location == PathLocation(path="out/orders-{{identifier}}.csv", format="csv")


def test_a_draft_in_the_sandbox_has_one_place_for_all_periods(tmp_path: Path) -> None:
    dataset = registered(tmp_path, to_path("out/{{identifier}}.csv", columns=["amount"]), sandbox="sandbox")
    assert dataset.main_table.temporal_mode is None


@pytest.mark.parametrize("table", ["period", "a`b"])
def test_a_table_that_expressions_cannot_name(tmp_path: Path, table: str) -> None:
    with pytest.raises(DaybookError) as caught:
        registered(tmp_path, to_table(table))
    assert (caught.value.code, [cause.code for cause in caught.value.causes]) == ("OUTPUT_022", ["MODEL_048"])


def test_a_version_that_cannot_be_noted_beside_its_table_is_told(tmp_path: Path) -> None:
    table = tmp_path / "lake/net"
    (table / "_delta_log").mkdir(parents=True)
    pin = RegisteredDataPin(str(table), TableVersion("delta", "7"))
    dataset = registered(tmp_path, to_table())
    location = Location("delta", uri=str(table))
    with open_store("sqlite:///store.db", root=tmp_path) as store:
        with store.write() as transaction:
            now = datetime.datetime(2026, 2, 1, tzinfo=datetime.UTC)
            version = transaction.definitions.register(dataset, Registration("p", "r", 1, pin), now=now)
        made = RegisteredDataset(dataset.id, version, ())
        assert (
            list(
                hold_version(
                    holding_store(store),
                    made,
                    pin,
                    location,
                    tmp_path,
                    destination="lake.net",
                    storage=PROVIDER_STORAGE,
                )
            )
            == []
        )
        assert held_versions(str(table)) == {7}
        shutil.rmtree(table / "_daybook")
        (table / "_daybook").write_text("somebody else's")
        (told,) = hold_version(
            holding_store(store), made, pin, location, tmp_path, destination="lake.net", storage=PROVIDER_STORAGE
        )
    assert (told.code, "lake.net" in told.message) == ("RUN_042", True)


def test_an_output_whose_registration_is_refused_is_written_with_a_warning(tmp_path: Path) -> None:
    """Somebody declares the dataset with another column between the start of the run and its commit."""
    folder = new_folder(tmp_path)
    output = to_table(register_as_dataset="booked")
    folder.project(output)
    workspace = folder.load()
    with folder.around(workspace) as environment:
        (run,) = prepare_runs(workspace, environment, RunRequest("p", "2026-01"))
        folder.dataset("booked", [{"name": "other", "type": "date"}], {"datasource_id": "lake", "table": "result"})
        declared = folder.load().definitions["dataset"]["booked"]
        apply(environment.store, [declared], workspace=workspace.settings.name, now=TIMESTAMP)
        lease = start_run(environment.store, run)
        recorder = RunRecorder(environment, LeaseKeeper(environment.store, lease, lambda: None), run)
        with environment.store.write() as transaction:
            transaction.runs.mark_running(lease, now=transaction.now())
        recorder.record_sources({})
        result, (notice,) = recorder.record(run.outputs[0], Commit(1), StagedOutput("", 1), GroupCounts(None, ()))
        with environment.store.read() as transaction:
            commits = transaction.outcomes.commits(lease.run_id)
    assert (notice.code, notice.operation_seq) == ("RUN_007", 1)
    assert (result.dataset_id, [commit.rows for commit in commits]) == (None, [1])


def test_a_project_that_is_not_in_the_store_does_not_run(tmp_path: Path) -> None:
    folder = new_folder(tmp_path)
    folder.project(to_table())
    written = folder.load().definitions["project"]["p"].model
    with (
        open_store("sqlite:///store.db", root=tmp_path) as store,
        store.read() as transaction,
        pytest.raises(DaybookError) as caught,
    ):
        find_version(transaction, written, as_draft=False)
    assert caught.value.code == "RUN_015"
