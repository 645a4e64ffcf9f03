"""A run as it was recorded: named by its id or by project and period, with everything its rows can be found by."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from daybook.compare.result import ComparedRun
from daybook.errors import DaybookError
from daybook.errors.error import did_you_mean
from daybook.io.pins import Pin
from daybook.runs.attempt.recorder import recorded_output_result, recorded_pins
from daybook.runs.attempt.start import PreparedRun, restore_run
from daybook.runs.environment import RunEnvironment
from daybook.runs.output_rows import choose_output
from daybook.runs.outputs import SANDBOX_SUFFIX
from daybook.runs.result import OutputResult
from daybook.runs.snapshot import RunSnapshot, snapshot_from_json
from daybook.store.records import OutputCommit, RunFilter, RunRecord
from daybook.store.store import Transaction

# Between a project and a period; no id has it.
_SEPARATOR = "@"


@dataclass(frozen=True, slots=True)
class RecordedRun:
    """A run that committed something; `pins` are what it read, `commits` what it wrote, by operation."""

    record: RunRecord
    prepared: PreparedRun
    pins: Mapping[str, tuple[Pin, ...]]
    commits: Mapping[int, OutputCommit]

    @property
    def id(self) -> str:
        return self.record.id

    @property
    def snapshot(self) -> RunSnapshot:
        return self.prepared.snapshot

    @property
    def outputs(self) -> tuple[OutputResult, ...]:
        return tuple(recorded_output_result(self.prepared.output(seq), each) for seq, each in self.commits.items())

    def compared(self, *, is_computed: bool) -> ComparedRun:
        record = self.record
        return ComparedRun(
            record.id, record.project_id, record.project_version, record.period, record.is_draft, is_computed
        )


def find_recorded_run(environment: RunEnvironment, text: str) -> RecordedRun:
    """The run with this id, or the last completed one of `PROJECT@PERIOD` that wrote to its destinations."""
    with environment.store.read() as transaction:
        run_id = find_run_id(transaction, text)
        record = transaction.runs.get(run_id)
        snapshot = snapshot_from_json(transaction.runs.snapshot(run_id))
        pins = recorded_pins(transaction, run_id)
        commits = {commit.operation_seq: commit for commit in transaction.outcomes.commits(run_id)}
    if not commits:
        raise DaybookError("RUN_062", run_id=run_id, status=record.status)
    return RecordedRun(record, restore_run(snapshot, environment.root), pins, commits)


def find_run_id(transaction: Transaction, text: str) -> str:
    """The id of a run that is named by it, or as `PROJECT@PERIOD`."""
    project_id, separator, period = text.rpartition(_SEPARATOR)
    if not separator:
        return text
    for run in _completed_runs(transaction, RunFilter(project_id, period, "completed")):
        if not run.is_sandboxed:
            return run.id
    periods = sorted({run.period for run in _completed_runs(transaction, RunFilter(project_id, status="completed"))})
    hint: str | None
    if periods:
        hint = did_you_mean(period, periods) or f"it has completed runs for {', '.join(periods)}"
    else:
        hint = did_you_mean(project_id, [state.project_id for state in transaction.projects.all()])
    raise DaybookError("RUN_061", project_id=project_id, period=period, hint=hint)


def _completed_runs(transaction: Transaction, wanted: RunFilter) -> Iterator[RunRecord]:
    """Newest first."""
    page = transaction.runs.page(wanted)
    yield from page.runs
    while page.next_page is not None:
        page = transaction.runs.page(wanted, after=page.next_page)
        yield from page.runs


def choose_outputs(a: RecordedRun, b: RecordedRun, wanted: str | None) -> tuple[OutputResult, OutputResult]:
    """The output of each run that this names; without a name the last of A, and in B the one that belongs to it."""
    first = choose_output(a.outputs, a.prepared, wanted)
    if wanted is not None:
        return first, choose_output(b.outputs, b.prepared, wanted)
    by_id = {output.operation_id: output for output in b.outputs if not has_default_id(output)}
    by_label = {output.destination.removesuffix(SANDBOX_SUFFIX): output for output in b.outputs}
    found = by_id.get(first.operation_id) or by_label.get(first.destination.removesuffix(SANDBOX_SUFFIX))
    return first, found or b.outputs[-1]


def has_default_id(output: OutputResult) -> bool:
    """Whether nobody wrote an id for the operation, so that it is made of its seq."""
    return output.operation_id == f"op-{output.operation_seq}"
