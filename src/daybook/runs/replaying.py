"""Replaying: a run computed again from its snapshot, in a scratch place, and compared with what it committed."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from daybook.engine.pipeline import Output, Pipeline
from daybook.errors import DaybookError
from daybook.io.pins import Pin
from daybook.io.reading import ReadSource, read
from daybook.io.registry import writer_for
from daybook.runs.attempt import Surroundings
from daybook.runs.preparing import Prepared, restore
from daybook.runs.recording import recorded_pins
from daybook.runs.scratch import remove_folder
from daybook.runs.snapshot import snapshot_from_json
from daybook.runs.targets import in_scratch
from daybook.store.records import RecordedCommit


@dataclass(frozen=True, slots=True)
class ReplayedOutput:
    """One output computed again; `place` holds its rows as a Delta table unless they were only verified."""

    operation_seq: int
    name: str
    destination: str
    rows_before: int | None
    rows_now: int
    is_same: bool
    place: str | None


@dataclass(frozen=True, slots=True)
class ReplayResult:
    run_id: str
    period: str
    outputs: tuple[ReplayedOutput, ...]

    @property
    def is_same(self) -> bool:
        return all(output.is_same for output in self.outputs)


def replay(around: Surroundings, run_id: str, *, keep: bool) -> ReplayResult:
    """Compute what the run committed once more; `keep` leaves the rows below the workspace's state to be looked at."""
    with around.store.read() as transaction:
        run = transaction.runs.get(run_id)
        snapshot = snapshot_from_json(transaction.runs.snapshot(run_id))
        pins = recorded_pins(transaction, run_id)
        commits = {item.commit.operation_seq: item for item in transaction.outcomes.commits(run_id)}
    if not commits:
        raise DaybookError("RUN_017", run_id=run_id, status=run.status)
    prepared = restore(snapshot, around.root)
    sources = _read(prepared, around, pins)
    frames = {key: source.frame for key, source in sources.items()}
    scratch = f"{around.state}/replays/{run_id}"
    outputs: list[ReplayedOutput] = []
    skip = frozenset(output.step.seq for output in prepared.outputs if output.step.seq not in commits)
    staging = f"{scratch}/staging"
    with Pipeline(
        around.session(), prepared.plan, frames, staging=staging, as_of=snapshot.as_of, skip=skip
    ) as pipeline:
        try:
            for group in pipeline.groups():
                outputs += [
                    _compare(output, prepared, commits[output.step.seq], scratch, keep=keep) for output in group.outputs
                ]
                group.verify()
        except Exception as failure:
            raise pipeline.failure(failure) from failure
        finally:
            remove_folder(staging if keep else scratch)
    outputs.sort(key=lambda output: output.operation_seq)
    return ReplayResult(run_id, snapshot.period.identifier, tuple(outputs))


def _read(prepared: Prepared, around: Surroundings, pins: Mapping[str, tuple[Pin, ...]]) -> dict[str, ReadSource]:
    """The very data of the run, or the news that it is gone."""
    sources: dict[str, ReadSource] = {}
    for load in prepared.plan.loads:
        resolution = prepared.snapshot.source(load.key).resolution
        landing = around.landing(prepared.snapshot.run_id)
        pinned = pins.get(load.key, ())
        try:
            sources[load.key] = read(
                around.session(),
                resolution,
                load.version,
                landing,
                workspace=around.root,
                pinned=pinned,
            )
        except DaybookError as error:
            raise DaybookError("RUN_012", run_id=prepared.snapshot.run_id, causes=[error]) from error
    return sources


def _compare(
    output: Output, prepared: Prepared, recorded: RecordedCommit, scratch: str, *, keep: bool
) -> ReplayedOutput:
    planned = in_scratch(prepared.output(output.step.seq), scratch)
    target = replace(planned.target, run_id=f"replay-{planned.target.run_id}")
    writer = writer_for(target.format)
    staged = writer.stage(output.df, target)
    if keep:
        writer.commit(staged, target)
    else:
        writer.discard(target)
    return ReplayedOutput(
        operation_seq=output.step.seq,
        name=output.step.name,
        destination=planned.label,
        rows_before=recorded.commit.rows,
        rows_now=staged.rows,
        is_same=recorded.commit.fingerprint in (None, staged.fingerprint) and recorded.commit.rows == staged.rows,
        place=target.uri if keep else None,
    )
