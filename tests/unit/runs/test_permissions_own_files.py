"""An output never overwrites what the workspace lives on."""

from pathlib import Path
from typing import Any

import pytest

from daybook.errors import DaybookError
from daybook.io.filesystem import uri_identity
from daybook.runs.attempt.run_request import RunRequest
from daybook.runs.permissions import own_file_errors
from daybook.workspace.validate import validate_definitions
from tests.attacks.tables import paths
from tests.prepared_runs import prepare_runs
from tests.workspaces import COLUMNS, Folder, no_session, to_table


def at(path: str, format_: str) -> dict[str, Any]:
    location = {"path": path, "format": format_}
    return {"type": "output", "arguments": {"destination": {"location": location}, "mode": "replace"}}


def one_column(output: dict[str, Any], name: str) -> dict[str, Any]:
    """The output of one column; every row would be a document with one key."""
    output["arguments"]["columns"] = [name]
    return output


def plan(tmp_path: Path, output: dict[str, Any], **settings: Any) -> tuple[str, ...]:
    """The places a run would write to."""
    tmp_path.mkdir(exist_ok=True)
    folder = Folder.new(tmp_path / "w", no_session, **settings)
    # Elsewhere, since an output that contains the input is refused for that.
    elsewhere = str(tmp_path.with_name("orders.csv"))
    columns = [*COLUMNS, {"name": "project", "type": "string"}]
    folder.dataset("orders", columns, {"path": elsewhere}, temporal_mode="period")
    folder.datasource("state", "csv", path=".daybook")
    folder.datasource("hidden", "delta", path=".warehouse")
    folder.datasource("hidden-db", "sqlite", path=".data/x.db")
    folder.datasource("db", "sqlite", path=".daybook/store.db")
    folder.project(output)
    workspace = folder.load()
    with folder.around(workspace) as around:
        planned = prepare_runs(workspace, around, RunRequest("p", "2026-01"))
        return tuple(output.label for each in planned for output in each.outputs)


@pytest.mark.parametrize(
    ("output", "what"),
    [
        (at(".daybook/store.db", "json"), "the store"),
        (at(".daybook/store.db-wal", "json"), "the store"),
        (to_table("t", "db"), "the store"),
        (at(".daybook/x.csv", "csv"), "the state folder"),
        (at(".daybook", "parquet"), "the store"),
        (to_table("t", "state"), "the state folder"),
        (at("daybook.yaml", "csv"), "the settings"),
        (at("{root}", "parquet"), "the settings"),
        (at("{root}/..", "parquet"), "the settings"),
        (at("definitions/project-p.yaml", "csv"), "a definition"),
        (at("definitions", "parquet"), "a definition"),
        (at("file://{root}/link/dataset-orders.yaml", "json"), "a definition"),
        (at("out/daybook.yaml", "csv"), "what is read as a definition"),
        (at("definitions/new.YML", "csv"), "what is read as a definition"),
        (one_column(at("out/rows.json", "json"), "project"), "what is read as a definition"),
    ],
)
def test_own_files_are_refused_before_a_run_exists(tmp_path: Path, output: dict[str, Any], what: str) -> None:
    root = tmp_path / "w"
    root.mkdir()
    (root / "link").symlink_to(root / "definitions")
    location = output["arguments"]["destination"].get("location")
    if location:
        location["path"] = location["path"].format(root=root).replace(f"{root}/..", str(tmp_path))
    with pytest.raises(DaybookError) as refused:
        plan(tmp_path, output)
    assert refused.value.code == "IO_034"
    assert refused.value.parameters["what"] == what


@pytest.mark.parametrize(
    ("output", "part"),
    [
        *((at(path, "csv"), part) for path, part in paths.HIDDEN_TARGETS),
        (to_table("t", "hidden"), ".warehouse"),
        (to_table("t", "hidden-db"), ".data"),
    ],
)
def test_names_that_begin_with_a_dot_are_not_written_to(tmp_path: Path, output: dict[str, Any], part: str) -> None:
    (tmp_path / "w/.git").mkdir(parents=True)
    (tmp_path / "w/link-to-git").symlink_to(tmp_path / "w/.git")
    if location := output["arguments"]["destination"].get("location"):
        location["path"] = location["path"].format(home=tmp_path)
    with pytest.raises(DaybookError) as refused:
        plan(tmp_path, output)
    assert (refused.value.code, refused.value.parameters["part"]) == ("IO_043", part)


@pytest.mark.parametrize("format_", ["csv", "json", "parquet", "delta", "xlsx"])
@pytest.mark.parametrize(
    ("path", "code"),
    [
        (".git/config", "IO_043"),
        (".git/", "IO_043"),
        (".git/{{{{identifier}}}}", "IO_043"),
        (".env", "IO_043"),
        ("out/.{{{{YYYY}}}}/x", "IO_043"),
        (".daybook", "IO_034"),
        (".daybook/{{{{identifier}}}}", "IO_034"),
        ("daybook.yaml", "IO_034"),
        ("{root}/daybook.yaml", "IO_034"),
        ("definitions/project-p.yaml", "IO_034"),
        ("definitions/another.yaml", "IO_034"),
        ("definitions", "IO_034"),
    ],
)
def test_they_are_refused_at_validate_whatever_the_format(tmp_path: Path, path: str, code: str, format_: str) -> None:
    folder = Folder.new(tmp_path / "w", no_session)
    folder.project(at(path.format(root=folder.root), format_))
    file = folder.root / "definitions/project-p.yaml"
    found = [
        error for error in validate_definitions(workspace=folder.root).errors if error.code in ("IO_034", "IO_043")
    ]
    assert [error.code for error in found] == [code]
    span = found[0].span
    assert span is not None
    line = file.read_text().splitlines()[span.line - 1].strip()
    assert (Path(span.file or "").name, line) in ((file.name, "location:"), (file.name, "destination:"))


def test_a_workspace_below_a_folder_with_a_dot_is_written_to(tmp_path: Path) -> None:
    assert len(plan(tmp_path / ".work", to_table())) == 1


@pytest.mark.parametrize(
    "output", [at("out/daybook.yaml.csv", "csv"), at("out/x.json", "json"), at("definitions2", "parquet"), to_table()]
)
def test_other_places_are_free(tmp_path: Path, output: dict[str, Any]) -> None:
    assert len(plan(tmp_path, output)) == 1


def test_a_store_elsewhere_is_kept_as_well(tmp_path: Path) -> None:
    with pytest.raises(DaybookError) as refused:
        plan(tmp_path, at("meta", "parquet"), store="sqlite:///meta/store.db")
    assert refused.value.code == "IO_034"


def test_the_sandbox_may_lie_in_the_state_folder(tmp_path: Path) -> None:
    assert plan(tmp_path, to_table(), sandbox=".daybook/sandbox") == ("lake.result (sandbox)",)


def test_outputs_are_not_compared_with_every_file_of_the_workspace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A thousand files took half a minute when each output was compared with each of them."""
    folder = Folder.new(tmp_path / "w", no_session)
    for number in range(40):
        folder.project(at(f"out/{number}.csv", "csv"), id_=f"p{number}")
    workspace = folder.load()
    looked_at: list[str] = []

    def identity(uri: str, root: Path) -> str:
        looked_at.append(uri)
        return uri_identity(uri, root)

    monkeypatch.setattr("daybook.io.location_checks.uri_identity", identity)
    assert list(own_file_errors(workspace)) == []
    assert 80 < len(looked_at) < 200
