"""What an output of a run wrote, found again without Spark."""

from dataclasses import dataclass
from pathlib import Path

from daybook.io.registry import format_named
from daybook.io.rows.stored import StoredRows
from daybook.io.writer import Commit
from daybook.runs.output_rows import choose_output
from daybook.runs.outputs import PlannedOutput
from daybook.runs.preparation import PreparedRun, restore_run
from daybook.runs.recorder import recorded_output_result
from daybook.runs.result import OutputResult
from daybook.runs.snapshot import snapshot_from_json
from daybook.store.records import RunRecord
from daybook.store.store import Transaction


@dataclass(frozen=True, slots=True)
class CommittedOutput:
    """One output that a run committed, whatever became of the run afterwards."""

    record: RunRecord
    result: OutputResult
    planned: PlannedOutput

    def rows(self) -> StoredRows:
        """Its rows as they were committed; RUN_084 when they are not there any more."""
        commit = Commit(self.result.rows_written, self.result.table_version)
        return format_named(self.planned.target.format).committed_rows(self.planned.target, commit)


def find_committed_output(transaction: Transaction, root: Path, run_id: str, wanted: str | None) -> CommittedOutput:
    """The output by any name it has, or the last one; RUN_019 when the run has committed no such output."""
    record, prepared, outputs = _read_outputs(transaction, root, run_id)
    chosen = choose_output(outputs, prepared, wanted)
    return CommittedOutput(record, chosen, prepared.output(chosen.operation_seq))


def _read_outputs(
    transaction: Transaction, root: Path, run_id: str
) -> tuple[RunRecord, PreparedRun, tuple[OutputResult, ...]]:
    record = transaction.runs.shown(run_id)
    prepared = restore_run(snapshot_from_json(transaction.runs.snapshot(run_id)), root)
    commits = transaction.outcomes.commits(run_id)
    return (
        record,
        prepared,
        tuple(recorded_output_result(prepared.output(each.operation_seq), each) for each in commits),
    )
