"""Builds of random closes run exactly what a naive model of freshness says; a second build runs nothing.

Everything is real up to the node: definitions, store, plans, snapshots, freshness. What would start Spark is replaced
by an executor that records what a run records and computes nothing.
"""

import os
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from unittest.mock import patch

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from daybook.graph.build import build
from daybook.graph.build_listener import BuildListener
from daybook.graph.build_plan import BuildRequest
from daybook.resolve.project_files import CheckedFiles
from daybook.runs.attempt.run_request import RunRequest
from daybook.workspace.lifecycle import activate_projects
from daybook.workspace.open_workspace import open_workspace
from tests.prepared_runs import prepare_runs
from tests.recorded_runs import record_run
from tests.workspaces import Folder, no_session, to_table

COLUMNS = [{"name": "account", "type": "string"}, {"name": "amount", "type": "decimal(18,2)"}]
MONTHS = ("2026-01", "2026-02", "2026-03")
SPAN = f"{MONTHS[0]}..{MONTHS[-1]}"
# Each builds a close three times or more.
EXAMPLES = 100 if os.environ.get("DAYBOOK_FAULTS") == "long" else 4

NodeName = tuple[int, str]


@dataclass(frozen=True)
class ProjectShape:
    """What a project reads: its own file of the month, projects before it, and projects one month earlier."""

    same_month: tuple[int, ...]
    month_before: tuple[int, ...]


@dataclass(frozen=True)
class Change:
    kind: str
    project: int
    month: str


@st.composite
def shapes(draw: st.DrawFn) -> tuple[ProjectShape, ...]:
    count = draw(st.integers(2, 4))
    return tuple(
        ProjectShape(
            tuple(sorted(draw(st.sets(st.integers(0, number - 1), max_size=2)))) if number else (),
            tuple(sorted(draw(st.sets(st.integers(0, count - 1), max_size=2)))),
        )
        for number in range(count)
    )


def changes(count: int) -> st.SearchStrategy[list[Change]]:
    kinds = st.sampled_from(("file", "rerun", "edit"))
    each = st.builds(Change, kinds, st.integers(0, count - 1), st.sampled_from(MONTHS))
    return st.lists(each, min_size=1, max_size=3)


@dataclass
class Model:
    """A node is out of date when it never ran or when one thing it used is another one now."""

    shapes: tuple[ProjectShape, ...]
    files: dict[NodeName, int] = field(default_factory=dict)
    versions: dict[int, int] = field(default_factory=dict)
    runs: dict[NodeName, int] = field(default_factory=dict)
    used: dict[NodeName, tuple[object, ...]] = field(default_factory=dict)

    def uses(self, node: NodeName) -> tuple[object, ...]:
        number, month = node
        shape = self.shapes[number]
        position = MONTHS.index(month)
        before = [(each, MONTHS[position - 1]) for each in shape.month_before] if position else []
        read = [(each, month) for each in shape.same_month] + before
        return (self.files.get(node, 0), self.versions.get(number, 0), *(self.runs.get(each, 0) for each in read))

    def run(self, node: NodeName) -> None:
        self.used[node] = self.uses(node)
        self.runs[node] = self.runs.get(node, 0) + 1

    def build(self) -> set[str]:
        """Months in order, projects in order: nothing reads what comes later."""
        ran = set()
        for month in MONTHS:
            for number in range(len(self.shapes)):
                node = (number, month)
                if self.used.get(node) != self.uses(node):
                    self.run(node)
                    ran.add(f"p{number}@{month}")
        return ran


class Close:
    """A workspace of such projects."""

    def __init__(self, root: Path, shapes: tuple[ProjectShape, ...]) -> None:
        self.folder = Folder.new(root, no_session)
        self.shapes = shapes
        for number in range(len(shapes)):
            for month in MONTHS:
                self.write_file(number, month, 0)
            location = {"path": f"data/s{number}/{{{{identifier}}}}.csv"}
            self.folder.dataset(f"s{number}", COLUMNS, location, temporal_mode="period")
            table = {"datasource_id": "lake", "table": f"t{number}"}
            self.folder.dataset(f"d{number}", COLUMNS, table, temporal_mode="period")
            view = {"of": f"d{number}", "window": "previous", "missing": "empty"}
            self.folder.define("dataset", {"id": f"v{number}", "view": view})
            self.write_project(number, 0)
        self.activate()

    def write_file(self, number: int, month: str, edition: int) -> None:
        rows = [{"account": f"edition-{edition}" * (edition + 1), "amount": "1.00"}]
        self.folder.write_csv(f"data/s{number}/{month}.csv", rows)

    def write_project(self, number: int, edition: int) -> None:
        shape = self.shapes[number]
        read = [f"d{each}" for each in shape.same_month] + [f"v{each}" for each in shape.month_before]
        appends = [{"type": "append", "arguments": {"source": {"dataset_id": each}}} for each in read]
        kept = {"type": "delete", "selector": f"amount = {edition + 1000}.00", "arguments": {}}
        output = to_table(f"t{number}", columns=["account", "amount"])
        self.folder.project(*appends, kept, output, id_=f"p{number}", input_=f"s{number}")

    def activate(self) -> None:
        activate_projects(open_workspace(self.folder.root))

    def build(self) -> set[str]:
        workspace = self.folder.load()
        with self.folder.around(workspace) as around, patch("daybook.graph.build.execute_run", record_run):
            result = build(CheckedFiles(workspace), around, BuildRequest(SPAN), BuildListener())
        assert result.is_ok, [(each.node.name, each.reason) for each in result.nodes if each.is_failure]
        assert result.count("ran") + result.count("fresh") == len(self.shapes) * len(MONTHS)
        return {each.node.name for each in result.nodes if each.result == "ran"}

    def rerun(self, number: int, month: str) -> None:
        workspace = self.folder.load()
        with self.folder.around(workspace) as around:
            for prepared in prepare_runs(workspace, around, RunRequest(f"p{number}", month)):
                record_run(around, prepared)


@settings(max_examples=EXAMPLES, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_a_build_runs_what_the_model_says_and_a_second_one_nothing(data: st.DataObject) -> None:
    chosen = data.draw(shapes())
    with tempfile.TemporaryDirectory(prefix="daybook-close-") as folder:
        close, model = Close(Path(folder) / "w", chosen), Model(chosen)
        assert close.build() == model.build()
        for change in data.draw(changes(len(chosen))):
            node = (change.project, change.month)
            match change.kind:
                case "file":
                    model.files[node] = model.files.get(node, 0) + 1
                    close.write_file(*node, model.files[node])
                case "rerun":
                    model.run(node)
                    close.rerun(*node)
                case _:
                    model.versions[change.project] = model.versions.get(change.project, 0) + 1
                    close.write_project(change.project, model.versions[change.project])
                    close.activate()
        assert close.build() == model.build()
        assert close.build() == set()
