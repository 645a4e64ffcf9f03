"""Which version runs, where drafts write, and what periods allow."""

import datetime
from collections.abc import Callable
from decimal import Decimal
from itertools import pairwise
from typing import Any

import pyarrow as pa
import pytest
import yaml
from pyarrow.csv import ConvertOptions, read_csv
from pyarrow.parquet import write_table

from daybook.engine import load_rows
from daybook.errors import DaybookError
from daybook.model.calendar import PeriodStatus
from daybook.resolve.calendars.calendar import GREGORIAN
from daybook.resolve.calendars.periods import period_of
from daybook.runs.lifecycle.activation import deactivate
from daybook.runs.run_result import RunFailedError
from tests.workspaces import COLUMNS, ORDERS, Folder, assign, to_path, to_table

UTC_TIME = pa.timestamp("us", tz="UTC")
NOW = datetime.datetime(2026, 3, 1, tzinfo=datetime.UTC)


def spy(function: Callable[..., str], columns: list[str]) -> Callable[..., str]:
    """The same function, which notes the column it is asked for."""

    def noting(column: str, *arguments: Any) -> str:
        columns.append(column)
        return function(column, *arguments)

    return noting


def refused(folder: Folder, period: str = "2026-01", **wish: Any) -> DaybookError:
    with pytest.raises(DaybookError) as found:
        folder.run(period, **wish)
    return found.value


def set_status(folder: Folder, identifier: str, status: PeriodStatus) -> None:
    with folder.around() as around, around.store.write() as transaction:
        transaction.periods.advance(period_of(identifier, GREGORIAN), status, now=NOW)


def with_sandbox(folder: Folder) -> None:
    (folder.root / "daybook.yaml").write_text(yaml.safe_dump({"name": "tests", "sandbox": "sandbox"}))


def test_a_file_that_differs_from_the_active_version_is_refused(folder: Folder) -> None:
    folder.project(to_table())
    folder.apply()
    folder.activate()
    assert folder.run().is_draft is False
    folder.project(assign("tax", "amount"), to_table())
    error = refused(folder)
    assert error.code == "STORE_021"
    assert "activate" in str(error.hint)
    assert "--draft" in str(error.hint)
    assert len(folder.all_runs()) == 1


def test_a_draft_on_the_destinations_of_an_active_version_warns(folder: Folder) -> None:
    folder.project(to_table(columns=["order_id"]))
    folder.apply()
    folder.activate()
    folder.project(to_table(columns=["order_id"], selector="amount > 0"))
    result = folder.run(is_draft=True)
    assert [notice.code for notice in result.notices] == ["RUN_014"]
    assert len(folder.table()) == 2


def test_drafts_write_to_the_sandbox(folder: Folder) -> None:
    with_sandbox(folder)
    folder.datasource("db", "sqlite", path="data/out.db")
    folder.project(
        to_table(register_as_dataset="booked"),
        to_table("t", "db"),
        to_path("out/{{identifier}}.csv", order_by=["order_id"]),
    )
    result = folder.run()
    assert (result.is_draft, result.sandbox) == (True, "sandbox")
    assert {notice.code for notice in result.notices} == {"RUN_009"}
    assert [output.format for output in result.outputs] == ["delta", "delta", "csv"]
    assert not (folder.root / "lake").exists()
    assert not (folder.root / "data/out.db").exists()
    assert not (folder.root / "out").exists()
    below = {str(path.parent.relative_to(folder.root)) for path in folder.root.glob("sandbox/**/_delta_log")}
    assert below == {"sandbox/lake/result", "sandbox/db/t"}
    assert [line.split(",")[0] for line in (folder.root / "sandbox/out/2026-01.csv").read_text().splitlines()] == [
        "order_id",
        "O-1",
        "O-2",
        "O-3",
    ]
    assert result.outputs[0].dataset_id == "sandbox.booked"


def test_what_drafts_register_is_seen_by_drafts_only(folder: Folder) -> None:
    with_sandbox(folder)
    folder.project(to_table(register_as_dataset="booked"))
    folder.run()
    folder.project(to_table("copy"), id_="reads", input_="sandbox.booked")
    assert folder.run("2026-01", "reads").outputs[0].rows_written == 3
    with pytest.raises(DaybookError):
        folder.activate("reads")


def test_projects_in_conflict_and_inactive_ones_do_not_run(folder: Folder) -> None:
    folder.project(assign("tax", "amount * 2"), to_table())
    folder.apply()
    folder.activate()
    folder.dataset("orders", [{**COLUMNS[0]}, COLUMNS[1]], {"path": "data/orders.csv"}, temporal_mode="period")
    error = refused(folder)
    assert error.code == "STORE_019"
    assert "amount" in error.message
    folder.dataset("orders", COLUMNS, {"path": "data/orders.csv"}, temporal_mode="period")
    folder.run()
    with folder.around() as around:
        deactivate(around.store, "p", now=NOW)
    assert refused(folder).code == "STORE_020"


def test_what_a_run_applies_may_break_another_project_and_that_is_told(folder: Folder) -> None:
    folder.project(assign("tax", "amount * 2"), to_table("other"), id_="other")
    folder.apply()
    folder.activate("other")
    folder.dataset("orders", COLUMNS[:2], {"path": "data/orders.csv"}, temporal_mode="period")
    folder.project(to_table(columns=["order_id"]))
    result = folder.run()
    assert [(notice.code, "amount" in notice.message) for notice in result.notices if notice.code == "RUN_020"] == [
        ("RUN_020", True)
    ]


def test_a_locked_period_is_refused_and_a_closed_one_warns(folder: Folder) -> None:
    folder.project(to_table())
    done = folder.run("2026-01")
    set_status(folder, "2026-02", "closed")
    result = folder.run("2026-02")
    assert [notice.code for notice in result.notices] == ["RUN_003"]
    set_status(folder, "2026-Q1", "locked")
    error = refused(folder, "2026-02")
    assert (error.code, error.parameters["because_of"]) == ("RUN_002", "2026-Q1")
    # Nothing of a range runs when one of its periods is locked.
    assert refused(folder, "2026-03..2026-04").code == "RUN_002"
    assert len(folder.all_runs()) == 2
    assert folder.replay(done.run_id).is_same


def test_a_draft_writes_to_the_sandbox_for_a_locked_period(folder: Folder) -> None:
    with_sandbox(folder)
    folder.project(to_table())
    set_status(folder, "2026-01", "locked")
    assert folder.run("2026-01").outputs[0].rows_written == 3
    folder.activate()
    assert refused(folder, "2026-01").code == "RUN_002"


def test_a_period_that_is_locked_meanwhile_is_not_written(folder: Folder) -> None:
    folder.project(to_table())
    session = folder.session

    def locking() -> Any:
        set_status(Folder(folder.root, session), "2026-01", "locked")
        return session()

    folder.session = locking
    with pytest.raises(RunFailedError) as failed:
        folder.run("2026-01")
    assert failed.value.error.code == "RUN_002"
    assert folder.staged() == []
    with pytest.raises(DaybookError) as error:
        folder.retry(failed.value.run_id)
    assert error.value.code == "RUN_002"


def test_a_range_runs_in_order(folder: Folder) -> None:
    folder.project(to_table())
    results = folder.runs("2026-01..2026-02")
    assert [(run.period, run.outputs[0].rows_written) for run in results] == [("2026-01", 3), ("2026-02", 1)]


def test_as_of_chooses_the_valid_rows(folder: Folder) -> None:
    rows = [
        {"id": "a", "rate": "1.0", "valid_from": "2025-01-01", "valid_to": "2026-01-15"},
        {"id": "a", "rate": "2.0", "valid_from": "2026-01-15", "valid_to": ""},
    ]
    folder.write_csv("data/rates.csv", rows)
    columns = [{"name": "id", "type": "string"}, {"name": "rate", "type": "decimal(4,1)"}]
    folder.dataset("rates", columns, {"path": "data/rates.csv"}, temporal_mode="bitemporal")
    folder.project(to_table(columns=["rate"]), input_="rates")
    assert folder.run().as_of == datetime.date(2026, 1, 1)
    assert [row["rate"] for row in folder.table()] == [Decimal("1.0")]
    assert folder.run(as_of=datetime.date(2026, 1, 15)).as_of == datetime.date(2026, 1, 15)
    assert [row["rate"] for row in folder.table()] == [Decimal("2.0")]


@pytest.mark.parametrize("format_", ["csv", pytest.param("parquet", marks=pytest.mark.slow)])
def test_validity_may_be_timestamps(folder: Folder, format_: str) -> None:
    """Compared at the start of the as-of day, or with `as_of: end` at its end; that of the rows stays a day."""
    moments = ["2025-06-01T00:00:00", "2026-01-15T00:00:00", "2026-01-15T10:00:00", "2026-01-31T18:00:00", ""]
    rows = [
        {"id": "a", "rate": f"{number}.0", "valid_from": start and f"{start}Z", "valid_to": end and f"{end}Z"}
        for number, (start, end) in enumerate(pairwise(moments))
    ]
    folder.write_csv("data/rates.csv", rows)
    if format_ == "parquet":
        typed = {"rate": pa.decimal128(4, 1), "valid_from": UTC_TIME, "valid_to": UTC_TIME}
        table = read_csv(folder.root / "data/rates.csv", convert_options=ConvertOptions(column_types=typed))
        write_table(table, folder.root / "data/rates.parquet")
    columns = [
        {"name": "id", "type": "string"},
        {"name": "rate", "type": "decimal(4,1)"},
        {"name": "valid_from", "type": "timestamp"},
        {"name": "valid_to", "type": "timestamp"},
    ]
    folder.dataset("rates", columns, {"path": f"data/rates.{format_}"}, temporal_mode="bitemporal")
    folder.project(to_table(columns=["rate", "_valid_from", "_valid_to"]), input_="rates")
    found = []
    for day in (14, 15, 16):
        folder.run(as_of=datetime.date(2026, 1, day))
        found += [(row["rate"], row["_valid_from"], row["_valid_to"]) for row in folder.table()]
    first, second, third, fourth = (datetime.date(2025, 6, 1), *(datetime.date(2026, 1, day) for day in (15, 16, 31)))
    after = fourth + datetime.timedelta(days=1)
    assert found == [
        (Decimal("0.0"), first, second),
        (Decimal("1.0"), second, third),
        (Decimal("2.0"), third, after),
    ]
    # At the end of January the last row is valid already.
    folder.dataset("rates", columns, {"path": f"data/rates.{format_}"}, temporal_mode="bitemporal", as_of="end")
    folder.run()
    assert [(row["rate"], row["_valid_from"], row["_valid_to"]) for row in folder.table()] == [
        (Decimal("3.0"), after, None)
    ]


def test_rows_are_filtered_by_period_unless_the_statistics_of_files_prove_it(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = folder.root / "data/lines"
    data.mkdir()
    columns = [{"name": "line", "type": "integer"}]
    folder.dataset("lines", columns, {"path": "data/lines", "format": "parquet"}, temporal_mode="period")
    folder.project(to_table(columns=["line"]), input_="lines")
    filtered: list[str] = []
    monkeypatch.setattr(load_rows, "_period_condition", spy(load_rows._period_condition, filtered))

    def lines_of(period: str, **files: list[tuple[int, str | None]]) -> list[int]:
        for name, rows in files.items():
            lines, periods = zip(*rows, strict=True)
            write_table(pa.table({"line": pa.array(lines), "_period": pa.array(periods)}), data / f"{name}.parquet")
        filtered.clear()
        folder.run(period)
        return sorted(row["line"] for row in folder.table() if row["_run_period"] == period)

    assert lines_of("2026-01", a=[(1, "2026-01"), (2, "2026-01")]) == [1, 2]
    assert filtered == []
    # Each file has one period, but not each the one that is wanted.
    assert lines_of("2026-01", b=[(3, "2026-02")]) == [1, 2]
    assert filtered == ["_period"]
    assert lines_of("2026-02") == [3]
    assert lines_of("2026-02", a=[(1, "2026-01"), (2, "2026-02"), (4, None)]) == [2, 3]


def test_an_input_without_rows_is_noticed(folder: Folder) -> None:
    folder.project(to_table())
    result = folder.run("2026-07")
    assert [notice.code for notice in result.notices] == ["RUN_005"]
    assert result.operations[0].rows_added == 0


def test_an_append_without_rows_is_noticed(folder: Folder) -> None:
    folder.write_csv("data/late.csv", [{**ORDERS[0], "_period": "2025-12"}])
    folder.dataset("late", COLUMNS, {"path": "data/late.csv"}, temporal_mode="period")
    append = {"type": "append", "arguments": {"source": {"dataset_id": "late"}}}
    folder.project(append, to_table(), to_path("out.csv"))
    assert [(notice.code, notice.operation_seq) for notice in folder.run().notices] == [("RUN_005", 1)]
    folder.project({**append, "accept": ["RUN_005"]}, to_table())
    assert folder.run().notices == ()


def test_undeclared_columns_are_accepted_on_the_dataset_and_counted(folder: Folder) -> None:
    folder.write_csv("data/orders.csv", [{**row, "note": "x"} for row in ORDERS])
    folder.project(to_path("out.csv"))
    noticed = folder.run()
    assert ([notice.code for notice in noticed.notices], noticed.accepted) == (["IO_007"], 0)
    version = folder.dataset_versions("orders")
    folder.dataset("orders", COLUMNS, {"path": "data/orders.csv"}, temporal_mode="period")
    path = folder.root / "definitions/dataset-orders.yaml"
    path.write_text(path.read_text().replace("dataset:", "dataset:\n  accept: [IO_007]"))
    accepted = folder.run()
    assert ([notice.code for notice in accepted.notices], accepted.accepted) == ([], 1)
    assert folder.dataset_versions("orders") == version
    path.write_text(path.read_text().replace("IO_007", "IO_001"))
    assert refused(folder).code == "MODEL_096"


def test_an_append_source_that_cannot_be_read(folder: Folder) -> None:
    folder.dataset("gone", COLUMNS, {"path": "data/gone.csv"})
    folder.project({"type": "append", "arguments": {"source": {"dataset_id": "gone"}}}, to_table())
    with pytest.raises(RunFailedError) as failed:
        folder.run()
    assert failed.value.error.code == "APPEND_008"
    assert [cause.code for cause in failed.value.error.causes] == ["IO_001"]
    assert folder.last_run().status == "failed"


def test_an_output_into_an_input_is_refused(folder: Folder) -> None:
    folder.project(to_path(f"{folder.root}/data/orders.csv"))
    assert refused(folder).code == "IO_027"
    assert folder.all_runs() == ()
