"""A workspace may lie in a folder of any name."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from daybook.errors import DaybookError
from tests.workspaces import COLUMNS, Folder, assign, to_path, to_table


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("close [2026]", marks=pytest.mark.slow),
        pytest.param("close #1", marks=pytest.mark.slow),
        pytest.param("why? {a,b}* #[1]", marks=pytest.mark.slow),
        pytest.param("50% + ü 'q'", marks=pytest.mark.slow),
        "50% of {a,b}*? + ü 'q' #[1]",
    ],
)
def test_runs_registrations_and_replays_work(spark: SparkSession, tmp_path: Path, name: str) -> None:
    folder = Folder.new(tmp_path / name / "w", lambda: spark)
    folder.datasource("files", "parquet", path="files")
    folder.project(
        assign("amount", "amount * 2"),
        to_table(register_as_dataset="doubled"),
        assign("amount", "amount + 1"),
        to_table("copy", "files"),
        to_path("out/{{identifier}}.csv"),
    )
    folder.run("2026-01")
    result = folder.run("2026-02")
    assert result.outputs[0].delta_version == 1
    assert folder.replay(result.run_id).is_same
    assert "RUN_008" not in [notice.code for notice in result.notices]
    folder.project(to_table("again"), id_="next", input_="doubled")
    folder.run("2026-01", "next")
    assert [row["amount"] for row in folder.table("again") if row["order_id"] == "O-1"] == [200]
    folder.dataset("copied", COLUMNS, {"datasource_id": "files", "table": "copy"}, temporal_mode="period")
    folder.project(to_path("out/copied.json"), id_="last", input_="copied")
    folder.run("2026-01", "last")
    assert (folder.root / "out" / "copied.json").read_text().count("\n") == 3


def test_an_escape_is_refused_for_delta_and_taken_as_it_is_elsewhere(spark: SparkSession, tmp_path: Path) -> None:
    folder = Folder.new(tmp_path / "a%20b", lambda: spark)
    folder.project(to_path("out/x.csv"))
    folder.run("2026-01")
    assert len(folder.csv_rows("out/x.csv")) == 3
    folder.project(to_table())
    with pytest.raises(DaybookError) as failed:
        folder.run("2026-01")
    (cause,) = failed.value.causes
    assert cause.code == "IO_012"
    assert "%20" in str(cause.parameters["reason"])
    assert not (folder.root / "lake").exists()
