"""What `daybook status` costs: no Spark, no scan of data, and the same few questions to the store for many projects."""

import datetime
import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import yaml
from sqlalchemy import Engine, event

from daybook.definitions.changes import DefinitionHead
from daybook.definitions.loading.definition_texts import read_definitions
from daybook.definitions.loading.loaded_workspace import ReadFiles
from daybook.graph import data_changes
from daybook.graph.build import build
from daybook.graph.build_listener import BuildListener
from daybook.graph.build_plan import BuildRequest
from daybook.graph.close import read_close
from daybook.graph.dependencies import derive_graph
from daybook.graph.nodes import Node
from daybook.graph.recorded_runs import RecordedRuns
from daybook.io.filesystem import FileStat, list_files
from daybook.io.storage import Storage
from daybook.model.datasource import DataSource
from daybook.model.definition import DefinitionKind
from daybook.model.project import Project
from daybook.model.serialization import decode_definition, stored_json
from daybook.plan.loads import LoadReference, load_references
from daybook.resolve.calendars.calendar import CalendarYear, IdentifierPattern
from daybook.resolve.location import Location, table_location
from daybook.resolve.project_files import CheckedFiles
from daybook.runs.attempt.prepare import PreparedRun
from daybook.runs.attempt.run_request import RunRequest
from daybook.runs.environment import RunEnvironment
from daybook.runs.lifecycle.apply import apply
from daybook.store.database import definition_rows, snapshot_sections
from daybook.store.database.snapshot_sections import SnapshotReader
from daybook.workspace.close import close_graph, close_overview, close_status
from daybook.workspace.lifecycle import activate_projects, apply_changes
from daybook.workspace.open_workspace import open_workspace
from daybook.workspace.validate import validate_definitions
from tests.prepared_runs import prepare_runs
from tests.recorded_runs import record_run
from tests.unit.runs.counting import Counts
from tests.workspaces import Folder, no_session, to_table

COLUMNS = [{"name": "account", "type": "string"}, {"name": "amount", "type": "decimal(18,2)"}]
MONTHS = ("2026-01", "2026-02", "2026-03")
# What takes long to import and `status` does not need.
UNUSED = (
    *("pyspark", "py4j", "numpy", "pandas", "pyarrow", "alembic", "rich", "http.client"),
    *("sqlalchemy.orm", "sqlalchemy.dialects.postgresql"),
    *("daybook.expression.compiler", "daybook.plan.steps", "daybook.plan.plan_cache", "daybook.engine.pipeline"),
)


def close(root: Path, projects: int) -> Path:
    """A chain of projects, each with a file of its own per month and a view of its month before."""
    folder = Folder.new(root, no_session)
    for number in range(projects):
        for month in MONTHS:
            folder.write_csv(f"data/s{number}/{month}.csv", [{"account": "a", "amount": "1.00"}])
        folder.dataset(
            f"s{number}", COLUMNS, {"path": f"data/s{number}/{{{{identifier}}}}.csv"}, temporal_mode="period"
        )
        table = {"datasource_id": "lake", "table": f"t{number}"}
        folder.dataset(f"d{number}", COLUMNS, table, temporal_mode="period")
        view = {"of": f"d{number}", "window": "previous", "missing": "empty"}
        folder.define("dataset", {"id": f"v{number}", "view": view})
        read = [f"v{number}"] + ([f"d{number - 1}"] if number else [])
        appends = [{"type": "append", "arguments": {"source": {"dataset_id": each}}} for each in read]
        output = to_table(f"t{number}", columns=["account", "amount"])
        folder.project(*appends, output, id_=f"p{number}", input_=f"s{number}")
    activate_projects(open_workspace(root))
    workspace = folder.load()
    with folder.around(workspace) as around:
        for number in range(projects):
            for prepared in prepare_runs(workspace, around, RunRequest(f"p{number}", f"{MONTHS[0]}..{MONTHS[-1]}")):
                record_run(around, prepared)
    return root


@contextmanager
def counted_queries() -> Iterator[list[str]]:
    found: list[str] = []

    def count(*arguments: Any) -> None:
        found.append(str(arguments[2]))

    event.listen(Engine, "before_cursor_execute", count)
    try:
        yield found
    finally:
        event.remove(Engine, "before_cursor_execute", count)


def test_the_store_and_the_disk_are_asked_no_more_than_needed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    listed: list[str] = []

    def listing(uri: str, root: str | None, storage: Storage) -> tuple[FileStat, ...]:
        listed.append(uri)
        return list_files(uri, root, storage)

    monkeypatch.setattr(data_changes, "list_files", listing)
    asked = []
    for projects in (2, 6):
        root = close(tmp_path / str(projects), projects)
        listed.clear()
        with counted_queries() as queries:
            found = close_status(open_workspace(root), period=f"{MONTHS[0]}..{MONTHS[-1]}")
        assert {each.state for each in found.nodes} == {"fresh"}
        assert len(found.nodes) == projects * len(MONTHS)
        asked.append(len(queries))
        # Every file that a node reads once; tables of runs are known by the store.
        assert len(listed) == len(set(listed)) == projects * len(MONTHS)
    assert asked[0] == asked[1]
    assert asked[1] < 40


def registered_close(root: Path, projects: int) -> Path:
    """A chain of projects that read what the one before registers in every month."""
    folder = Folder.new(root, no_session)
    for number in range(projects):
        for month in MONTHS:
            folder.write_csv(f"data/s{number}/{month}.csv", [{"account": "a", "amount": "1.00"}])
        folder.dataset(
            f"s{number}", COLUMNS, {"path": f"data/s{number}/{{{{identifier}}}}.csv"}, temporal_mode="period"
        )
        source = {"type": "append", "arguments": {"source": {"dataset_id": f"d{number - 1}"}}}
        output = to_table(f"t{number}", columns=["account", "amount"], register_as_dataset=f"d{number}")
        folder.project(*([source] if number else []), output, id_=f"p{number}", input_=f"s{number}")
    activate_projects(open_workspace(root))
    workspace = folder.load()
    with folder.around(workspace) as around, pytest.MonkeyPatch.context() as patch:
        patch.setattr("daybook.graph.build.execute_run", record_run)
        request = BuildRequest(f"{MONTHS[0]}..{MONTHS[-1]}", jobs=1)
        assert build(CheckedFiles(workspace), around, request, BuildListener()).is_ok
    return root


def test_datasets_that_runs_registered_are_asked_for_and_decoded_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A project was activated with an early version of what it reads; the store is not asked for each of them."""
    decoded: list[str] = []

    def decode(kind: DefinitionKind, body: str) -> Any:
        decoded.append(body)
        return decode_definition(kind, body)

    asked = []
    for projects in (2, 5):
        root = registered_close(tmp_path / str(projects), projects)
        monkeypatch.setattr(definition_rows, "decode_definition", decode)
        with counted_queries() as queries:
            found = close_status(open_workspace(root), period=f"{MONTHS[0]}..{MONTHS[-1]}")
        monkeypatch.undo()
        assert {each.state for each in found.nodes} == {"fresh"}
        asked.append(len(queries))
        assert len(decoded) == len(set(decoded))
        decoded.clear()
    assert asked[0] == asked[1]


def test_validate_asks_the_store_as_often_in_a_large_close_that_has_run(tmp_path: Path) -> None:
    asked = []
    for projects in (2, 5):
        root = registered_close(tmp_path / str(projects), projects)
        with counted_queries() as queries:
            assert validate_definitions(workspace=root).is_ok
        asked.append(len(queries))
    assert asked[0] == asked[1]


def test_applying_the_files_of_a_close_asks_the_store_as_often_for_many(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("daybook.runs.lifecycle.apply._FEW_DEFINITIONS", 0)
    asked = []
    for projects in (2, 5):
        workspace = open_workspace(registered_close(tmp_path / str(projects), projects))
        # What no project uses has not been applied yet.
        apply_changes(workspace)
        with counted_queries() as queries:
            assert all(change.action == "unchanged" for change in apply_changes(workspace).changes)
        asked.append(len(queries))
    assert asked[0] == asked[1]


def test_what_does_not_depend_on_the_period_is_computed_once_for_a_project(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = registered_close(tmp_path / "w", 4)
    referenced: list[str] = []
    located: list[str] = []
    texts: list[str] = []

    def references(project: Project) -> Iterator[LoadReference]:
        referenced.append(project.id)
        return load_references(project)

    def locate(datasource: DataSource, table: str, schema: str | None, place: Path) -> Location:
        located.append(table)
        return table_location(datasource, table, schema, place)

    def read_json(text: str) -> Any:
        texts.append(text)
        return stored_json(text)

    monkeypatch.setattr("daybook.graph.freshness.load_references", references)
    monkeypatch.setattr("daybook.resolve.resolution.table_location", locate)
    monkeypatch.setattr(snapshot_sections, "stored_json", read_json)
    found = close_status(open_workspace(root), period=f"{MONTHS[0]}..{MONTHS[-1]}")
    assert {each.state for each in found.nodes} == {"fresh"}
    assert sorted(referenced) == ["p0", "p1", "p2", "p3"]
    # What three projects read of each other, for three months.
    assert sorted(located) == ["t0", "t1", "t2"]
    # Equal sections are decoded once, and the projects not at all: their versions are the active ones.
    assert len(texts) == len(set(texts))
    assert not any('"operations"' in text for text in texts)


def test_a_later_look_reads_only_what_is_new(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = registered_close(tmp_path / "w", 2)
    folder = Folder(root, no_session)
    workspace = replace(open_workspace(root), read_files=ReadFiles())
    recorded = RecordedRuns()
    read: list[str] = []
    parsed: list[str] = []
    read_snapshot = SnapshotReader.read

    def count_snapshot(self: SnapshotReader, body: str) -> Mapping[str, Any]:
        read.append(body)
        return read_snapshot(self, body)

    def parse(text: str, file: str | None) -> Any:
        parsed.append(Path(file or "").name)
        return read_definitions(text, file)

    monkeypatch.setattr(SnapshotReader, "read", count_snapshot)
    monkeypatch.setattr("daybook.definitions.loading.loaded_workspace.read_definitions", parse)
    first = close_overview(workspace, recorded=recorded)
    assert len(read) == 2 * len(MONTHS)
    read.clear()
    parsed.clear()
    assert close_overview(workspace, recorded=recorded) == first
    assert (read, parsed) == ([], [])
    # What changed is seen: a run, and a file.
    with folder.around(folder.load()) as around:
        (prepared,) = prepare_runs(folder.load(), around, RunRequest("p1", MONTHS[-1]))
        result = record_run(around, prepared)
    parsed.clear()
    folder.write_csv(f"data/s0/{MONTHS[0]}.csv", [{"account": "other", "amount": "2.00"}])
    folder.project(to_table("t1-changed"), id_="p1", input_="s1")
    status, _ = close_overview(workspace, recorded=recorded)
    assert len(read) == 1
    assert parsed == ["project-p1.yaml"]
    nodes = {node.node.name: node for node in status.nodes}
    assert nodes[f"p1@{MONTHS[-1]}"].run == result.run_id
    assert nodes[f"p1@{MONTHS[-1]}"].reasons[0].startswith("edited, not activated")
    assert nodes[f"p0@{MONTHS[0]}"].state in ("stale", "unknown")
    assert nodes[f"p0@{MONTHS[1]}"].state == "fresh"
    assert status == close_status(open_workspace(root))


def test_a_build_derives_the_graph_once_and_plans_each_project_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every node is stale: a chain of projects, each with a file of its own per month."""
    folder = Folder(close(tmp_path / "w", 4), no_session)
    for number in range(4):
        for month in MONTHS:
            folder.write_csv(f"data/s{number}/{month}.csv", [{"account": "other", "amount": "2.00"}])
    derived: list[Any] = []
    applied: list[Any] = []

    def counting(found: list[Any], function: Any) -> Any:
        def called(*arguments: Any, **options: Any) -> Any:
            found.append(arguments)
            return function(*arguments, **options)

        return called

    monkeypatch.setattr("daybook.graph.close.derive_graph", counting(derived, derive_graph))
    monkeypatch.setattr("daybook.runs.attempt.prepare.apply", counting(applied, apply))
    monkeypatch.setattr("daybook.graph.build.execute_run", record_run)
    counts = Counts(monkeypatch)
    workspace = folder.load()
    with folder.around(workspace) as around:
        result = build(CheckedFiles(workspace), around, BuildRequest(f"{MONTHS[0]}..{MONTHS[-1]}"), BuildListener())
    assert result.count("ran") == 4 * len(MONTHS)
    assert counts.plans == {f"p{number}": 1 for number in range(4)}
    assert (len(derived), len(applied)) == (1, 1)


def queries_of_nodes(root: Path, projects: int, monkeypatch: pytest.MonkeyPatch) -> set[tuple[int, int]]:
    """How many queries lie between the nodes of a build of the last project, and how many definitions are read."""
    folder = Folder(close(root, projects), no_session)
    for month in MONTHS:
        folder.write_csv(f"data/s{projects - 1}/{month}.csv", [{"account": "other", "amount": "2.00"}])
    begun: list[tuple[int, int]] = []
    heads: list[object] = []

    def read_head(row: Any) -> DefinitionHead:
        heads.append(row)
        return to_head(row)

    to_head = definition_rows._to_head
    monkeypatch.setattr(definition_rows, "_to_head", read_head)
    workspace = folder.load()
    with folder.around(workspace) as around, counted_queries() as queries:

        def record(environment: RunEnvironment, prepared: PreparedRun) -> Any:
            begun.append((len(queries), len(heads)))
            return record_run(environment, prepared)

        monkeypatch.setattr("daybook.graph.build.execute_run", record)
        request = BuildRequest(f"{MONTHS[0]}..{MONTHS[-1]}", jobs=1)
        assert build(CheckedFiles(workspace), around, request, BuildListener()).count("ran") == len(MONTHS)
    return {(after[0] - before[0], after[1] - before[1]) for before, after in pairwise(begun)}


def test_what_a_build_does_for_a_node_does_not_grow_with_the_nodes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Counted by how often nodes are looked up, which whatever goes through all nodes does for each of them."""
    looked_up: list[float] = []
    for projects in (3, 12):
        folder = Folder.new(tmp_path / str(projects), no_session)
        for number in range(projects):
            folder.project(to_table(f"t{number}"), id_=f"p{number}")
        activate_projects(open_workspace(folder.root))
        hashed: list[Node] = []

        def count_hash(node: Node, hashed: list[Node] = hashed) -> int:
            hashed.append(node)
            return hash((node.project, node.period.identifier))

        monkeypatch.setattr(Node, "__hash__", count_hash)
        monkeypatch.setattr("daybook.graph.build.execute_run", record_run)
        workspace = folder.load()
        with folder.around(workspace) as around:
            result = build(CheckedFiles(workspace), around, BuildRequest("2026-01..2026-02"), BuildListener())
        assert result.count("ran") == projects * 2
        looked_up.append(len(hashed) / (projects * 2))
    assert looked_up[1] <= looked_up[0] + 1


def test_a_node_of_a_build_reads_its_own_run_of_a_project_with_many_periods(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = close(tmp_path / "w", 1)
    folder = Folder(root, no_session)
    for month in MONTHS:
        folder.write_csv(f"data/s0/{month}.csv", [{"account": "other", "amount": "2.00"}])
    read: list[str] = []
    read_snapshot = SnapshotReader.read

    def count_snapshot(self: SnapshotReader, body: str) -> Mapping[str, Any]:
        read.append(body)
        return read_snapshot(self, body)

    monkeypatch.setattr(SnapshotReader, "read", count_snapshot)
    monkeypatch.setattr("daybook.graph.build.execute_run", record_run)
    workspace = folder.load()
    with folder.around(workspace) as around:
        result = build(CheckedFiles(workspace), around, BuildRequest(f"{MONTHS[0]}..{MONTHS[-1]}"), BuildListener())
    assert result.count("ran") == len(MONTHS)
    # Every snapshot once to plan the build, and each node that of its own last run.
    assert len(read) == 2 * len(MONTHS)


def test_a_node_of_a_build_asks_the_store_as_often_in_a_large_close(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small, large = (queries_of_nodes(tmp_path / str(projects), projects, monkeypatch) for projects in (2, 6))
    assert small == large
    assert len(small) == 1


def test_every_definition_is_parsed_once_and_every_period_made_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = close(tmp_path / "w", 4)
    parsed: list[str] = []
    made: list[str] = []

    def parse(text: str, **options: Any) -> Any:
        parsed.append(text)
        return parse_yaml(text, **options)

    def write(self: IdentifierPattern, year: CalendarYear, start: datetime.date) -> str:
        made.append(f"{self.text} {start}")
        return write_identifier(self, year, start)

    parse_yaml, write_identifier = yaml.parse, IdentifierPattern.write
    monkeypatch.setattr(yaml, "parse", parse)
    monkeypatch.setattr(IdentifierPattern, "write", write)
    close_status(open_workspace(root), period=f"{MONTHS[0]}..{MONTHS[-1]}")
    definitions = [text for text in parsed if not text.startswith("name:")]
    assert len(definitions) == len(set(definitions)) == len(list(root.rglob("*.yaml"))) - 1
    assert len(made) == len(set(made))


def test_the_page_of_a_close_looks_at_files_and_store_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    workspace = open_workspace(close(tmp_path / "w", 3))
    expected = close_status(workspace), close_graph(workspace)
    with counted_queries() as queries:
        close_status(workspace, period=f"{MONTHS[0]}..{MONTHS[-1]}")
    of_status = len(queries)
    looks: list[object] = []

    def looking(*arguments: Any, **options: Any) -> Any:
        looks.append(arguments)
        return read_close(*arguments, **options)

    monkeypatch.setattr("daybook.workspace.close.read_close", looking)
    with counted_queries() as queries:
        assert close_overview(workspace) == expected
    assert (len(queries), len(looks)) == (of_status, 1)


def test_neither_spark_nor_what_only_runs_need_is_imported(tmp_path: Path) -> None:
    root = close(tmp_path / "w", 2)
    program = (
        "import json, sys\n"
        "sys.argv = ['daybook', '--workspace', sys.argv[1], 'status', '--period', '2026-01..2026-03', '--json']\n"
        "from daybook.__main__ import main\n"
        "assert main() == 0\n"
        f"print(json.dumps([name for name in {UNUSED} if name in sys.modules]))\n"
    )
    done = subprocess.run([sys.executable, "-c", program, str(root)], capture_output=True, text=True, check=True)
    *answer, imported = done.stdout.splitlines()
    assert len(json.loads("\n".join(answer))["nodes"]) == 6
    assert json.loads(imported) == []
