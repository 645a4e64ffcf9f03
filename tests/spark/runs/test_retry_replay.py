"""Failed runs taken up again, and runs computed again from their snapshots."""

from hashlib import blake2b
from pathlib import Path
from typing import Any

import pytest

from daybook.errors import DaybookError
from daybook.io.formats.delta.writer import DeltaWriter
from daybook.io.formats.files.format import FileWriter
from daybook.runs.attempt.execution import Execution
from daybook.runs.run_result import RunFailedError
from tests.workspaces import COLUMNS, ORDERS, Folder, assign, to_path, to_table

BROKEN = assign("ratio", 'TO_NUMBER("x")', selector='region = "APAC"')


def failed_run(folder: Folder, period: str = "2026-01", **wish: Any) -> RunFailedError:
    with pytest.raises(RunFailedError) as found:
        folder.run(period, **wish)
    return found.value


def plain(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Without what differs between runs: their times."""
    kept = [{name: value for name, value in row.items() if not name.endswith("_at")} for row in rows]
    return sorted(kept, key=repr)


@pytest.fixture
def full_disk(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Files cannot be staged until the fixture's patches are undone."""

    def stage(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(FileWriter, "stage", stage)
    return monkeypatch


def test_outputs_commit_in_order_and_stay_when_a_later_one_fails(folder: Folder) -> None:
    folder.project(to_table("first"), BROKEN, to_table("second", columns=["ratio"]))
    failure = failed_run(folder)
    assert failure.error.code == "PROJECT_033"
    assert [output.destination for output in failure.outputs] == ["lake.first"]
    assert len(folder.table("first")) == 3
    assert not (folder.root / "lake/second/_delta_log").exists()
    assert folder.staged() == []
    run = folder.last_run()
    assert (run.status, run.last_completed_operation) == ("failed", 1)
    assert run.error is not None
    assert run.error["code"] == "PROJECT_033"


def test_a_value_that_fails_without_an_expression_has_a_place_all_the_same(folder: Folder) -> None:
    """A column that is appended by its name is fitted to the type it has here."""
    wide = [{**column, "type": "decimal(30,4)"} if column["name"] == "amount" else column for column in COLUMNS]
    folder.write_csv("data/more.csv", [{**ORDERS[0], "amount": "99999999999999999999.00"}])
    folder.dataset("more", wide, {"path": "data/more.csv"}, temporal_mode="period")
    folder.project({"type": "append", "arguments": {"source": {"dataset_id": "more"}}}, to_table())
    error = failed_run(folder).error
    assert (error.code, error.parameters["column"], error.parameters["expression"]) == ("PROJECT_033", "amount", None)
    assert error.span is not None
    lines = (folder.root / "definitions/project-p.yaml").read_text().splitlines()
    assert Path(error.span.file or "").name == "project-p.yaml"
    assert lines[error.span.line - 1].strip() == "source:"
    assert (folder.last_run().error or {})["code"] == "PROJECT_033"


def test_closing_outputs_are_all_staged_before_the_first_is_committed(
    folder: Folder, full_disk: pytest.MonkeyPatch
) -> None:
    folder.project(to_table(), to_path("out/x.csv"))
    failure = failed_run(folder)
    assert failure.error.code == "OUTPUT_006"
    assert [(cause.code, cause.parameters["reason"]) for cause in failure.error.causes] == [
        ("IO_026", "[Errno 28] No space left on device")
    ]
    assert failure.outputs == ()
    assert not (folder.root / "lake/result/_delta_log").exists()
    assert folder.staged() == []


def test_a_retry_skips_what_is_committed_and_ends_like_an_undisturbed_run(
    folder: Folder, full_disk: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    operations = (
        to_table("first", register_as_dataset="booked"),
        assign("tax", "amount * 2", selector="amount > 0"),
        to_path("out/x.csv", system_columns=False, order_by=["order_id"]),
        to_table("last"),
    )
    folder.project(*operations)
    failure = failed_run(folder)
    assert [output.destination for output in failure.outputs] == ["lake.first"]
    full_disk.undo()
    before = folder.table("first")
    # The data of the first attempt counts, whatever became of the source since.
    folder.write_csv("data/orders.csv", ORDERS[:1])
    result = folder.retry(failure.run_id)
    assert [(output.destination, output.is_repeat) for output in result.outputs] == [
        ("lake.first", True),
        ("out/x.csv", False),
        ("lake.last", False),
    ]
    assert result.outputs[0].dataset_version == 1
    assert folder.table("first") == before
    undisturbed = Folder.new(tmp_path / "undisturbed", folder.session)
    undisturbed.project(*operations)
    other = undisturbed.run()
    assert undisturbed.csv_rows("out/x.csv") == folder.csv_rows("out/x.csv")
    for table in ("first", "last"):
        assert plain(undisturbed.table(table)) == plain(folder.table(table))
    counted = ("seq", "rows_picked", "rows_added", "rows_deleted", "rows_written")
    assert [[getattr(each, name) for name in counted] for each in result.operations] == [
        [getattr(each, name) for name in counted] for each in other.operations
    ]
    assert folder.last_run().status == "completed"
    assert folder.staged() == []


def test_a_retry_is_refused_after_a_later_run_committed(folder: Folder, full_disk: pytest.MonkeyPatch) -> None:
    folder.project(to_table("first"), assign("tax", "amount"), to_path("out/x.csv"))
    failure = failed_run(folder)
    full_disk.undo()
    folder.run()
    with pytest.raises(DaybookError) as refused:
        folder.retry(failure.run_id)
    assert refused.value.code == "STORE_018"


def test_a_completed_run_cannot_be_retried(folder: Folder) -> None:
    folder.project(to_table())
    with pytest.raises(DaybookError) as refused:
        folder.retry(folder.run().run_id)
    assert refused.value.code == "STORE_015"


def test_a_retry_works_when_every_definition_has_changed(folder: Folder, full_disk: pytest.MonkeyPatch) -> None:
    folder.project(to_path("out/x.csv", columns=["order_id"], order_by=["order_id"]))
    failure = failed_run(folder)
    full_disk.undo()
    folder.dataset("orders", [{"name": "other", "type": "date"}], {"path": "data/none.csv"})
    folder.project(to_table(columns=["other"]))
    folder.retry(failure.run_id)
    assert [row["order_id"] for row in folder.csv_rows("out/x.csv")] == ["O-1", "O-2", "O-3"]


def test_a_bug_is_recorded_and_raised_as_it_is(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    folder.project(to_table())

    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("ours")

    monkeypatch.setattr(Execution, "_write", broken)
    with pytest.raises(ZeroDivisionError):
        folder.run()
    run = folder.last_run()
    assert run.status == "failed"
    assert run.error == {"code": "ZeroDivisionError", "message": "ours"}


def test_a_failure_to_clean_up_does_not_hide_the_failure(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    folder.project(BROKEN, to_table())

    def broken(*_: object) -> None:
        raise OSError("gone")

    monkeypatch.setattr(DeltaWriter, "discard", broken)
    assert failed_run(folder).error.code == "PROJECT_033"
    assert folder.last_run().status == "failed"


def test_a_replay_gives_the_same_and_can_be_looked_at(folder: Folder) -> None:
    folder.project(
        assign("share", "amount * 0.1"),
        to_table(),
        to_path("out/x.csv", order_by=["order_id"]),
    )
    run = folder.run()
    folder.write_csv("data/orders.csv", ORDERS[:1])
    folder.dataset("orders", [{"name": "other", "type": "date"}], {"path": "data/none.csv"})
    verified = folder.replay(run.run_id)
    assert [(output.is_same, output.rows_now) for output in verified.outputs] == [(True, 3)] * 2
    assert not list((folder.root / ".daybook/replays").glob("*"))
    kept = folder.replay(run.run_id, keep=True)
    again = folder.replay(run.run_id, keep=True)
    assert kept.is_same
    assert again.is_same
    place = again.outputs[0].place
    assert place is not None
    assert plain(folder.table(place)) == plain(folder.table())
    file = again.outputs[1].place
    assert file is not None
    assert Path(file).read_text() == (folder.root / "out/x.csv").read_text()


def test_a_replay_tells_different_rows(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    folder.project(to_table(), to_path("out/x.csv"))
    run = folder.run()
    landed = next(folder.root.glob(".daybook/landing/files/*/*/*.parquet"))
    other = Folder.new(folder.root.parent / "other", folder.session)
    other.write_csv("data/orders.csv", [{**row, "amount": "9.99"} for row in ORDERS])
    other.project(to_table())
    other.run()
    changed = next(other.root.glob(".daybook/landing/files/*/*/*.parquet")).read_bytes()
    manifest = landed.parent.parent / "manifest.json"
    manifest.write_text(manifest.read_text().replace(blake2b(landed.read_bytes(), digest_size=20).hexdigest(), ""))
    landed.write_bytes(changed)
    replayed = folder.replay(run.run_id)
    assert [output.is_same for output in replayed.outputs] == [False, False]
    assert replayed.is_same is False


def test_a_replay_says_when_inputs_or_outputs_are_gone(folder: Folder) -> None:
    folder.project(to_table())
    run = folder.run()
    for file in folder.root.glob("lake/result/daybook-*/**/*.parquet"):
        file.unlink()
    assert [output.is_same for output in folder.replay(run.run_id).outputs] == [None]
    for manifest in folder.root.glob(".daybook/landing/files/*/manifest.json"):
        manifest.unlink()
    # The file is as it was, so it is landed again.
    assert [output.is_same for output in folder.replay(run.run_id).outputs] == [None]
    for manifest in folder.root.glob(".daybook/landing/files/*/manifest.json"):
        manifest.unlink()
    folder.write_csv("data/orders.csv", ORDERS[:1])
    with pytest.raises(DaybookError) as gone:
        folder.replay(run.run_id)
    assert gone.value.code == "RUN_012"
    assert [cause.code for cause in gone.value.causes] == ["IO_009"]


def test_a_changed_parquet_input_is_told_by_a_replay(folder: Folder) -> None:
    folder.project(to_path("data/lines.parquet", system_columns=False))
    folder.run()
    columns = [{"name": "order_id", "type": "string"}, {"name": "amount", "type": "decimal(18,2)"}]
    folder.dataset("lines", columns, {"path": "data/lines.parquet"})
    folder.project(to_table(), id_="q", input_="lines")
    run = folder.run("2026-01", "q")
    assert folder.replay(run.run_id).is_same
    folder.run("2026-02")
    with pytest.raises(DaybookError) as gone:
        folder.replay(run.run_id)
    assert gone.value.code == "RUN_012"


def test_only_what_committed_can_be_replayed(folder: Folder) -> None:
    folder.project(BROKEN, to_table())
    failure = failed_run(folder)
    with pytest.raises(DaybookError) as refused:
        folder.replay(failure.run_id)
    assert refused.value.code == "RUN_017"


def test_a_retry_and_its_replay_use_the_values_that_the_run_was_given(
    folder: Folder, full_disk: pytest.MonkeyPatch
) -> None:
    folder.project(
        assign("amount", "amount * param.rate"),
        to_path("out/x.csv", columns=["order_id", "amount"], order_by=["order_id"]),
        parameters={"rate": {"type": "decimal(9,4)", "default": 1}, "label": {"type": "string", "default": "x"}},
    )
    failure = failed_run(folder, parameters={"rate": "2.5"})
    full_disk.undo()
    result = folder.retry(failure.run_id)
    assert result.parameters == {"rate": "2.5", "label": "x"}
    written = [(row["order_id"], row["amount"]) for row in folder.csv_rows("out/x.csv")]
    assert written == [("O-1", "250.00"), ("O-2", "125.00"), ("O-3", "0.00")]
    assert folder.replay(failure.run_id).is_same
