"""Destinations become targets: places, modes, templates, the sandbox, scratch."""

from pathlib import Path
from typing import Any

import pytest

from daybook.errors import DaybookError
from daybook.runs.outputs import redirect_to_scratch
from daybook.runs.snapshot import RunSettings
from tests.unit.runs.prepared import new_folder, prepared
from tests.workspaces import to_path, to_table

SANDBOX = RunSettings(is_draft=True, sandbox="sandbox")


def target(tmp_path: Path, output: dict[str, Any], period: str = "2026-01", **settings: Any) -> Any:
    folder = new_folder(tmp_path)
    folder.datasource("db", "sqlite", path="data/out.db")
    folder.datasource("pg", "postgresql", host="h", database="d", user="u")
    folder.project(output)
    return prepared(folder, period, settings=RunSettings(**settings)).outputs[0].target


def test_a_table_collects_periods_by_default(tmp_path: Path) -> None:
    found = target(tmp_path, to_table())
    assert (found.format, found.mode, found.run_period) == ("delta", "replace_period", "2026-01")
    assert found.label == f"{tmp_path.resolve()}/w/lake/result"


def test_an_inline_location_is_replaced_by_default(tmp_path: Path) -> None:
    found = target(tmp_path, to_path("out/x.csv"))
    assert (found.format, found.mode, found.run_period, found.is_one_file) == ("csv", "replace", None, True)


@pytest.mark.parametrize(
    ("on_empty", "settings", "is_allowed"),
    [({}, {}, False), ({"on_empty": "replace"}, {}, True), ({"on_empty": "refuse"}, {"allow_empty": True}, True)],
)
def test_rows_may_be_replaced_by_none_where_the_output_or_the_run_allows_it(
    tmp_path: Path, on_empty: dict[str, str], settings: dict[str, Any], is_allowed: bool
) -> None:
    assert target(tmp_path, to_table(**on_empty), **settings).allow_empty is is_allowed


def test_databases_are_told_by_their_table(tmp_path: Path) -> None:
    assert target(tmp_path, to_table("t", "db")).label == "db.t"
    assert target(tmp_path, to_table("t", "pg")).label == "pg.public.t"


@pytest.mark.parametrize(
    ("path", "period", "place"),
    [
        ("out/{{identifier}}.csv", "2026-Q1", "out/2026-Q1.csv"),
        ("out/{{YYYY}}/{{MM}}/{{table_name}}.json", "2026-03", "out/2026/03/orders.json"),
        ("{{QQ}}/x.parquet", "2026-05", "Q2/x.parquet"),
    ],
)
def test_templates(tmp_path: Path, path: str, period: str, place: str) -> None:
    found = target(tmp_path, to_path(path), period)
    assert found.uri.removeprefix(f"{tmp_path.resolve()}/w/") in (place, place.replace("Q2", "02"))


@pytest.mark.parametrize(
    ("output", "label"),
    [
        (to_path("out/x.csv"), "out/x.csv"),
        (to_path("out/{{identifier}}.csv"), "out/2026-01.csv"),
        (to_path("/elsewhere/x.csv"), "/elsewhere/x.csv"),
        (to_table("t", "db"), "db.t"),
    ],
)
def test_an_output_is_called_what_the_project_calls_it(tmp_path: Path, output: dict[str, Any], label: str) -> None:
    folder = new_folder(tmp_path)
    folder.datasource("db", "sqlite", path="data/out.db")
    folder.project(output)
    assert prepared(folder).outputs[0].label == label
    assert prepared(folder, settings=SANDBOX).outputs[0].label == f"{label} (sandbox)"


@pytest.mark.parametrize("mode", ["replace", "append", "error", "replace_period"])
def test_a_mode_that_is_written_counts(tmp_path: Path, mode: str) -> None:
    found = target(tmp_path, to_table(mode=mode))
    assert (found.mode, found.run_period) == (mode, "2026-01")


@pytest.mark.parametrize(
    ("output", "format_", "below"),
    [
        (to_table(), "delta", "sandbox/lake/result"),
        (to_table("t", "db"), "delta", "sandbox/db/t"),
        (to_table("t", "pg"), "delta", "sandbox/pg/t"),
        (to_path("out/{{identifier}}.csv"), "csv", "sandbox/out/2026-01.csv"),
        (to_path("/elsewhere/x.csv"), "csv", "sandbox/elsewhere/x.csv"),
        (to_path("out/v1.2/x.csv"), "csv", "sandbox/out/v1.2/x.csv"),
        (to_path({"path": "out/v1.2", "format": "csv"}), "csv", "sandbox/out/v1.2"),
        (to_path("s3://bucket/x.parquet"), "parquet", "sandbox/s3/bucket/x.parquet"),
        (to_path("out/book.xlsx"), "xlsx", "sandbox/out/book.xlsx"),
    ],
)
def test_drafts_write_below_the_sandbox(tmp_path: Path, output: dict[str, Any], format_: str, below: str) -> None:
    found = target(tmp_path, output, is_draft=True, sandbox="sandbox")
    assert found.format == format_
    assert found.label == f"{tmp_path.resolve()}/w/{below}"
    assert found.location.datasource is None


def test_drafts_write_delta_to_a_sandbox_on_an_object_store(tmp_path: Path) -> None:
    found = target(tmp_path, to_path("out/x.csv"), is_draft=True, sandbox="s3://bucket/drafts")
    assert (found.format, found.label) == ("delta", "s3://bucket/drafts/out/x-csv")


def test_files_keep_their_format_and_options_in_a_replay_and_in_the_sandbox(tmp_path: Path) -> None:
    folder = new_folder(tmp_path)
    location = {"path": "out/{{identifier}}.csv", "options": {"delimiter": ";"}}
    folder.project(to_path(location))  # type: ignore[arg-type]
    planned = prepared(folder).outputs[0]
    replayed = redirect_to_scratch(planned, "/scratch").target
    assert (replayed.format, replayed.label, replayed.options["delimiter"]) == ("csv", "/scratch/1/2026-01.csv", ";")
    drafted = prepared(folder, settings=SANDBOX).outputs[0].target
    assert (drafted.format, drafted.options["delimiter"]) == ("csv", ";")


def test_a_replay_writes_to_scratch_whatever_the_destination(tmp_path: Path) -> None:
    folder = new_folder(tmp_path)
    folder.datasource("pg", "postgresql", host="h", database="d", user="u")
    folder.project(to_table("t", "pg", mode="append"))
    found = redirect_to_scratch(prepared(folder).outputs[0], "/scratch").target
    assert (found.format, found.label, found.mode, found.location.datasource) == (
        "delta",
        "/scratch/1",
        "replace",
        None,
    )


@pytest.mark.parametrize(
    ("first", "second", "is_refused"),
    [
        (to_path("out/{{identifier}}.csv"), to_path("out/2026-01.csv"), True),
        (to_path("out/{{identifier}}.csv"), to_path("out/2026-02.csv"), False),
        (to_path("out/a/x.csv"), to_path("out/b/x.csv"), False),
        (to_table("t", "db"), to_table("u", "db"), False),
        (to_table(mode="append"), to_table(mode="append"), False),
    ],
)
def test_outputs_of_one_project_do_not_replace_each_other(
    tmp_path: Path, first: dict[str, Any], second: dict[str, Any], is_refused: bool
) -> None:
    folder = new_folder(tmp_path)
    folder.datasource("db", "sqlite", path="data/out.db")
    folder.project(first, second)
    if not is_refused:
        assert len(prepared(folder).outputs) == 2
        return
    with pytest.raises(DaybookError) as refused:
        prepared(folder)
    assert refused.value.code == "RUN_006"


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("data/orders.csv", "PROJECT_009"),
        ("{root}/data/orders.csv", "IO_027"),
        ("file://{root}/data/orders.csv", "IO_027"),
        ("link/orders.csv", "IO_027"),
        ("DATA/Orders.csv", "IO_027"),
        ("data", "IO_027"),
        ("data/orders.csv/x.csv", "IO_027"),
        ("./data//orders.csv", "RESOLVE_035"),
        ("out/../data/orders.csv", "RESOLVE_035"),
    ],
)
def test_an_output_never_touches_an_input(tmp_path: Path, path: str, code: str) -> None:
    folder = new_folder(tmp_path)
    (folder.root / "link").symlink_to(folder.root / "data")
    location = {"path": path.format(root=folder.root), "format": "csv"}
    folder.project({"type": "output", "arguments": {"destination": {"location": location}}})
    with pytest.raises(DaybookError) as refused:
        prepared(folder)
    assert refused.value.code == code
