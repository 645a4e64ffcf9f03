"""Names of tables of a state in a schema, and what Spark cannot reach where nothing is shared."""

import json
from pathlib import Path

import pytest

from daybook.errors import DaybookError
from daybook.io.formats.spark_catalog.table import TableName
from daybook.io.shared_paths import refuse_paths_of_spark, unreachable_errors
from daybook.io.state_tables import StateTables
from daybook.model.datasource import SparkCatalogOptions, SparkCatalogSource
from daybook.resolve.location import Location
from daybook.runs.environment import open_run_environment
from tests.workspaces import Folder, no_session

RUN = "20260131-094502-7c1f0a"
ATTEMPT = f"landing/{'0a' * 12}/{RUN}/51ba320e"


class KeptManifests:
    def __init__(self, **manifests: str) -> None:
        self._manifests = {"files/key": json.dumps({"files": [{"path": f"{ATTEMPT}/0-1", "rows": 1}]}), **manifests}

    def find(self, folder: str) -> str | None:
        return self._manifests.get(folder)

    def publish(self, folder: str, manifest: str, *, instead_of: str | None = None) -> bool:
        self._manifests[folder] = manifest
        return True

    def folders(self) -> tuple[str, ...]:
        return tuple(self._manifests)


def tables() -> StateTables:
    options = SparkCatalogOptions(catalog="main")
    source = SparkCatalogSource(id="db", name="db", type="spark_catalog", options=options)
    return StateTables(lambda: source, "state", "B2EA55B1ffff", KeptManifests())


def test_a_table_is_named_by_the_workspace_and_its_path() -> None:
    name = tables().table(f"catalog://state/staging/{RUN}.3/001-Left Over")
    assert name == TableName("main", "state", "daybook_B2EA55B1_staging_20260131_094502_7c1f0a_3_001_left_over")


@pytest.mark.parametrize("path", [ATTEMPT, f"catalog://state/staging/{RUN}.12/001-x"])
def test_a_table_of_a_run_names_it(path: str) -> None:
    assert tables().run_of(tables().table(path)) == RUN


def test_a_replay_is_of_no_attempt() -> None:
    assert tables().run_of(tables().table(f"replays/{RUN}/1")) is None


def test_the_tables_of_landings_are_listed() -> None:
    assert tables().listed() == {tables().table(ATTEMPT)}


@pytest.mark.parametrize(
    ("format_", "is_output"), [("delta", True), ("sqlite", True), ("parquet", False), ("jdbc", False)]
)
def test_what_spark_opens_by_a_path_is_refused(format_: str, is_output: bool) -> None:
    with pytest.raises(DaybookError) as caught:
        refuse_paths_of_spark(Location(format_, uri="/lake/orders"), is_output=is_output)
    assert caught.value.code == "IO_080"


@pytest.mark.parametrize(
    ("format_", "is_output"), [("csv", True), ("parquet", True), ("sqlite", False), ("xlsx", False)]
)
def test_what_this_machine_reads_and_writes_is_not(format_: str, is_output: bool) -> None:
    refuse_paths_of_spark(Location(format_, uri="/out/orders"), is_output=is_output)


def test_all_inputs_that_spark_cannot_open_are_named() -> None:
    locations = [Location("delta", uri="/a"), Location("csv", uri="/b"), Location("parquet", uri="/c")]
    assert [error.parameters["location"] for error in unreachable_errors(locations)] == ["/a", "/c"]


def test_a_state_needs_its_data_source(tmp_path: Path) -> None:
    folder = Folder.new(tmp_path, no_session, state={"datasource_id": "db", "schema": "state"})
    with open_run_environment(folder.load(), no_session) as environment:
        state = environment.storage.tables
        assert state is not None
        with pytest.raises(DaybookError) as caught:
            state.table("landing")
    assert caught.value.code == "IO_081"
