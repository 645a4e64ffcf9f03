"""Three commands agree with what really changed in random closes: `status`, `build --dry-run` and `build`.

Everything is real up to the node: files, landings, definitions, store, plans, snapshots, freshness. A node is computed
by the second engine instead of Spark, and what it writes is kept in memory.
"""

import json
import os
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from daybook.engine.counters import GroupCounts
from daybook.graph.build import build
from daybook.graph.build_listener import BuildListener
from daybook.graph.build_plan import BuildRequest
from daybook.io.pins import LandedPin, Pin, PinnedFile
from daybook.io.read_source import find_inputs, land_without_session, landing_requests
from daybook.io.source_rows import read_source_rows
from daybook.io.writer import Commit, RowsDigest, StagedOutput
from daybook.model.types import RUN_PERIOD_COLUMN
from daybook.plan.steps import LoadStep
from daybook.recompute import StoredTable, TableKey, compute
from daybook.resolve.project_files import CheckedFiles
from daybook.runs.attempt.lease import LeaseKeeper
from daybook.runs.attempt.prepare import PreparedRun
from daybook.runs.attempt.recorder import RunRecorder
from daybook.runs.attempt.run_request import RunRequest
from daybook.runs.attempt.start import start_run
from daybook.runs.environment import RunEnvironment
from daybook.runs.second_engine import ReadWindow, make_table, run_facts, stored_table, table_key
from daybook.workspace.close import CloseStatus, close_status, plan_close_build
from daybook.workspace.lifecycle import activate_projects
from daybook.workspace.open_workspace import open_workspace
from daybook.workspace.periods import lock_period
from tests.prepared_runs import prepare_runs
from tests.recorded_runs import leave_places
from tests.workspaces import Folder, no_session, to_table

COLUMNS = [{"name": "account", "type": "string"}, {"name": "amount", "type": "decimal(18,2)"}]
MONTHS = ("2026-01", "2026-02", "2026-03")
SPAN = f"{MONTHS[0]}..{MONTHS[-1]}"
EXAMPLES = 60 if os.environ.get("DAYBOOK_FAULTS") == "long" else 3
KINDS = ("rows", "order", "touch", "rerun", "edit", "undo", "lock")

NodeName = tuple[int, str]
Rows = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class ProjectShape:
    """What a project reads beside its file: projects before it, and projects one month earlier."""

    same_month: tuple[int, ...]
    month_before: tuple[int, ...]


@dataclass(frozen=True)
class Change:
    kind: str
    project: int
    month: str
    amount: int


@st.composite
def shapes(draw: st.DrawFn) -> tuple[ProjectShape, ...]:
    count = draw(st.integers(2, 4))
    return tuple(
        ProjectShape(
            tuple(sorted(draw(st.sets(st.integers(0, number - 1), max_size=2)))) if number else (),
            tuple(sorted(draw(st.sets(st.integers(0, count - 1), max_size=1)))),
        )
        for number in range(count)
    )


def changes(count: int) -> st.SearchStrategy[list[Change]]:
    number, month = st.integers(0, count - 1), st.sampled_from(MONTHS)
    return st.lists(st.builds(Change, st.sampled_from(KINDS), number, month, st.integers(1, 3)), min_size=1, max_size=4)


@dataclass
class SecondEngineRuns:
    """Takes the place of `execute_run`: the second engine computes, and slices are kept here."""

    # By table and period.
    slices: dict[tuple[str, str], list[tuple[Any, ...]]] = field(default_factory=dict)

    def execute(self, environment: RunEnvironment, prepared: PreparedRun) -> Any:
        lease = start_run(environment.store, prepared, environment.before_start)
        recorder = RunRecorder(environment, LeaseKeeper(environment.store, lease, lambda: None), prepared)
        with environment.store.write() as transaction:
            transaction.runs.mark_running(lease, now=transaction.now())
        tables: dict[TableKey, StoredTable] = {}
        pins: dict[str, tuple[Pin, ...]] = {}
        for load in prepared.plan.loads:
            tables[table_key(load)], pins[load.key] = self._read(environment, prepared, load)
        recorder.record_sources(pins)
        computation = compute(prepared.plan.project, tables, run_facts(prepared.plan, prepared.snapshot.as_of))
        leave_places(prepared)
        for planned, output in zip(prepared.outputs, computation.outputs, strict=True):
            rows = [tuple(row) for row in output.rows]
            self.slices[planned.target.label, prepared.snapshot.period.identifier] = rows
            digest = json.dumps(sorted(map(repr, rows)))
            staged = StagedOutput("", len(rows), digest=RowsDigest(digest, f"{digest} {lease.run_id}"))
            recorder.record(planned, Commit(len(rows)), staged, GroupCounts(None, ()))
        with environment.store.write() as transaction:
            transaction.runs.finish(lease, "completed", now=transaction.now(), error=None)
        return SimpleNamespace(run_id=lease.run_id)

    def _read(
        self, environment: RunEnvironment, prepared: PreparedRun, load: LoadStep
    ) -> tuple[StoredTable, tuple[Pin, ...]]:
        resolution = prepared.snapshot.source(load.key).resolution
        window = ReadWindow(resolution.periods, resolution.as_of, resolution.row_period)
        area, root = environment.landing(prepared.snapshot.run_id), environment.root
        if load.role == "input":
            (request,) = landing_requests(resolution, load.version, area, root)
            landed = land_without_session(request)
            files = tuple(PinnedFile(file.stat, file.digest) for file in find_inputs(request).files)
            pin = LandedPin(request.names, landed.folder, landed.rows, files)
            source = read_source_rows(resolution, load.version, [area], workspace=root)
            return stored_table(load, source, window), (pin,)
        stored = [
            (*row, period, location.label, number)
            for location in resolution.locations
            for period in resolution.periods
            for number, row in enumerate(self.slices.get((location.label, period), ()))
        ]
        columns = {column.name: column.type for column in load.version.dataset.main_table.columns}

        def rows() -> Iterator[tuple[Any, ...]]:
            return iter(stored)

        return make_table(load, columns, (RUN_PERIOD_COLUMN,), rows, window), ()


@dataclass
class Close:
    """A workspace of such projects, and beside it what really is in the files, definitions and slices."""

    folder: Folder
    shapes: tuple[ProjectShape, ...]
    runs: SecondEngineRuns = field(default_factory=SecondEngineRuns)
    files: dict[int, list[tuple[str, str, str]]] = field(default_factory=dict)
    editions: dict[int, list[int]] = field(default_factory=dict)
    locked: set[str] = field(default_factory=set)
    # What every node loaded and did when it ran last.
    used: dict[NodeName, object] = field(default_factory=dict)

    def define(self) -> None:
        for number in range(len(self.shapes)):
            self.files[number] = [("a", "1.00", month) for month in MONTHS] + [("b", "2.00", month) for month in MONTHS]
            self.write_file(number)
            self.folder.dataset(f"s{number}", COLUMNS, {"path": f"data/s{number}.csv"}, temporal_mode="period")
            table = {"datasource_id": "lake", "table": f"t{number}"}
            self.folder.dataset(f"d{number}", COLUMNS, table, temporal_mode="period")
            view = {"of": f"d{number}", "window": "previous", "missing": "empty"}
            self.folder.define("dataset", {"id": f"v{number}", "view": view})
            self.editions[number] = [9]
            self.write_project(number)
        self.activate()

    def write_file(self, number: int) -> None:
        rows = [
            {"account": account, "amount": amount, "_period": month} for account, amount, month in self.files[number]
        ]
        self.folder.write_csv(f"data/s{number}.csv", rows)

    def write_project(self, number: int) -> None:
        shape = self.shapes[number]
        read = [f"d{maker}" for maker in shape.same_month] + [f"v{maker}" for maker in shape.month_before]
        appends = [{"type": "append", "arguments": {"source": {"dataset_id": name}}} for name in read]
        left_out = {"type": "delete", "selector": f"amount = {self.editions[number][-1]}.00", "arguments": {}}
        output = to_table(f"t{number}", columns=["account", "amount"], on_empty="replace")
        self.folder.project(*appends, left_out, output, id_=f"p{number}", input_=f"s{number}")

    def activate(self) -> None:
        activate_projects(open_workspace(self.folder.root))

    def apply(self, change: Change) -> None:
        number, month = change.project, change.month
        match change.kind:
            case "rows":
                self.files[number].append(("c", f"{change.amount}.00", month))
                self.write_file(number)
            case "order":
                self.files[number].reverse()
                self.write_file(number)
            case "touch":
                path = self.folder.root / f"data/s{number}.csv"
                os.utime(path, ns=(0, path.stat().st_mtime_ns + 10**9))
            case "rerun" if month not in self.locked:
                workspace = self.folder.load()
                with self.folder.around(workspace) as around:
                    for prepared in prepare_runs(workspace, around, RunRequest(f"p{number}", month)):
                        self.runs.execute(around, prepared)
                self.used[number, month] = self.uses((number, month))
            case "lock":
                lock_period(open_workspace(self.folder.root), month)
                self.locked.add(month)
            case "edit":
                self.editions[number].append(change.amount)
                self.write_project(number)
                self.activate()
            case "undo" if len(self.editions[number]) > 1:
                self.editions[number].pop()
                self.write_project(number)
                self.activate()
            case _:
                pass

    def uses(self, node: NodeName) -> object:
        """All that the rows of a node are computed of, as it is now."""
        number, month = node
        position = MONTHS.index(month)
        own = Counter((account, amount) for account, amount, period in self.files[number] if period == month)
        read = [(maker, month) for maker in self.shapes[number].same_month]
        read += [(maker, MONTHS[position - 1]) for maker in self.shapes[number].month_before if position]
        slices = [Counter(map(repr, self.slice(node))) for node in read]
        return own, self.editions[number][-1], slices

    def slice(self, node: NodeName) -> list[tuple[Any, ...]]:
        label = str((self.folder.root / f"lake/t{node[0]}").resolve())
        return self.runs.slices.get((label, node[1]), [])

    def expected(self) -> Iterator[NodeName]:
        """The nodes that have to run, one after the other: each is asked once those before it have run."""
        for month in MONTHS:
            for number in range(len(self.shapes)):
                node = (number, month)
                if month not in self.locked and self.used.get(node) != self.uses(node):
                    yield node

    def build(self) -> set[str]:
        """Builds, with every node that runs compared with what had to run at that moment."""
        ran: list[NodeName] = []

        def execute(environment: RunEnvironment, prepared: PreparedRun) -> Any:
            node = (int(prepared.snapshot.project.id[1:]), prepared.snapshot.period.identifier)
            assert self.used.get(node) != self.uses(node), f"{node} runs, and nothing that it loads changed"
            self.used[node] = self.uses(node)
            ran.append(node)
            return self.runs.execute(environment, prepared)

        workspace = self.folder.load()
        with self.folder.around(workspace) as around, patch("daybook.graph.build.execute_run", execute):
            result = build(CheckedFiles(workspace), around, BuildRequest(SPAN, jobs=1), BuildListener())
        assert result.is_ok, [(node.node.name, node.reason) for node in result.nodes if node.is_failure]
        assert list(self.expected()) == []
        return {f"p{number}@{month}" for number, month in ran}


def states(found: CloseStatus) -> dict[str, str]:
    return {status.node.name: status.state for status in found.nodes}


@settings(max_examples=EXAMPLES, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_status_dry_run_and_build_agree_with_what_really_changed(data: st.DataObject) -> None:
    shape = data.draw(shapes())
    with tempfile.TemporaryDirectory(prefix="daybook-close-") as folder:
        close = Close(Folder.new(Path(folder) / "w", no_session), shape)
        close.define()
        assert len(close.build()) == len(shape) * len(MONTHS)
        for change in data.draw(changes(len(shape))):
            close.apply(change)
        workspace = open_workspace(close.folder.root)
        glanced = states(close_status(workspace, period=SPAN))
        planned = plan_close_build(workspace, BuildRequest(SPAN))
        looked = states(close_status(workspace, period=SPAN, look=True))
        certain = {f"p{number}@{month}" for number, month in close.expected()}
        ran = close.build()
        locked = {name for name in glanced if name.partition("@")[2] in close.locked}
        assert glanced == {node.status.node.name: node.status.state for node in planned.nodes}
        for found in (glanced, looked):
            may_run = {name for name, state in found.items() if state != "fresh"} - locked
            must_run = {name for name, state in found.items() if state == "stale"} - locked
            assert must_run <= ran <= may_run
        assert {name for name, state in looked.items() if state == "stale"} - locked == certain
        assert {node.project + "@" + node.period.identifier for node in planned.will_run} >= ran
        after = states(close_status(workspace, period=SPAN))
        assert {state for name, state in after.items() if name not in locked} <= {"fresh"}
        assert close.build() == set()


def test_a_change_concerns_what_reads_it_also_where_that_changed_itself(tmp_path: Path) -> None:
    shape = (ProjectShape((), ()), ProjectShape((0,), ()), ProjectShape((1,), ()))
    close = Close(Folder.new(tmp_path / "w", no_session), shape)
    close.define()
    close.build()
    for number in (0, 1):
        close.apply(Change("rows", number, MONTHS[1], 1))
    workspace = open_workspace(close.folder.root)
    for look in (False, True):
        found = close_status(workspace, period=SPAN, look=look)
        concerned = {cause.text: [status.node.name for status in cause.nodes] for cause in found.causes}
        month = f"@{MONTHS[1]}"
        assert {name for name in concerned["s0.csv changed"] if month in name} == {
            f"p0{month}",
            f"p1{month}",
            f"p2{month}",
        }
        assert {name for name in concerned["s1.csv changed"] if month in name} == {f"p1{month}", f"p2{month}"}


def test_a_stale_node_says_too_what_nobody_has_looked_at(tmp_path: Path) -> None:
    close = Close(Folder.new(tmp_path / "w", no_session), (ProjectShape((), ()), ProjectShape((0,), ())))
    close.define()
    close.build()
    close.apply(Change("rows", 0, MONTHS[1], 1))
    close.apply(Change("rerun", 0, MONTHS[1], 1))
    close.apply(Change("rows", 1, MONTHS[1], 1))
    found = close_status(open_workspace(close.folder.root), period=SPAN)
    (status,) = (node for node in found.nodes if node.node.name == f"p1@{MONTHS[1]}")
    assert status.state == "stale"
    again, changed = status.reasons
    assert again.startswith(f"d0 {MONTHS[1]} was run again")
    assert "s1.csv" in changed


def test_times_count_for_what_carries_them_to_a_project_that_sees_them(tmp_path: Path) -> None:
    """The second project writes the times of the first one's rows as they are; the third one decides by them."""
    shape = (ProjectShape((), ()), ProjectShape((0,), ()), ProjectShape((1,), ()))
    close = Close(Folder.new(tmp_path / "w", no_session), shape)
    close.define()
    close.build()
    close.apply(Change("rerun", 0, MONTHS[1], 1))
    workspace = open_workspace(close.folder.root)
    assert set(states(close_status(workspace, period=SPAN)).values()) == {"fresh"}

    append = {"type": "append", "arguments": {"source": {"dataset_id": "d1"}}}
    timed = {"type": "delete", "selector": "_created_at IS NULL", "arguments": {}}
    close.folder.project(append, timed, to_table("t2", columns=["account", "amount"]), id_="p2", input_="s2")
    close.activate()
    stale = {name for name, state in states(close_status(workspace, period=SPAN)).items() if state == "stale"}
    assert stale == {f"p1@{MONTHS[1]}", *(f"p2@{month}" for month in MONTHS)}
