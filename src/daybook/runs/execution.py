"""Executing a prepared run: read, stage, verify, commit, record; one output group after the other."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pyspark.sql import SparkSession

from daybook.engine.counters import Counts
from daybook.engine.pipeline import Output, OutputGroup, Pipeline
from daybook.errors import DaybookError, Notice, notice
from daybook.io.landing.area import LandingArea
from daybook.io.reading import ReadSource, read
from daybook.io.registry import writer_for
from daybook.io.writing import Staged
from daybook.runs.lease_keeper import LeaseKeeper
from daybook.runs.listener import RunListener
from daybook.runs.preparing import Prepared
from daybook.runs.recording import Recorder
from daybook.runs.result import OutputResult
from daybook.runs.targets import PlannedOutput


@dataclass(frozen=True, slots=True)
class World:
    """What an execution works with."""

    spark: SparkSession
    root: Path
    landing: LandingArea
    # A folder for intermediate results, removed after the attempt.
    staging: str
    listener: RunListener


@dataclass
class _Staging:
    """An output that is written but not yet committed."""

    planned: PlannedOutput
    staged: Staged
    duration_ms: int


@dataclass
class Execution:
    """One attempt at a run; what an earlier attempt committed is not written again."""

    prepared: Prepared
    world: World
    keeper: LeaseKeeper
    recorder: Recorder
    outputs: list[OutputResult] = field(default_factory=list)
    notices: list[Notice] = field(default_factory=list)

    def execute(self) -> None:
        sources = self._read()
        frames = {key: source.frame for key, source in sources.items()}
        pipeline = Pipeline(
            self.world.spark,
            self.prepared.plan,
            frames,
            staging=self.world.staging,
            as_of=self.prepared.snapshot.as_of,
            skip=self.recorder.committed_sequences(),
        )
        with pipeline:
            try:
                for group in pipeline.groups():
                    self._write(group, sources)
            except Exception as failure:
                raise pipeline.failure(failure) from failure

    def _read(self) -> Mapping[str, ReadSource]:
        """Every source once, however many steps use it; a retry reads the very data of the first attempt."""
        self.world.listener.stage("reading")
        pinned = self.recorder.pins()
        known: dict[tuple[str, int], ReadSource] = {}
        sources: dict[str, ReadSource] = {}
        for load in self.prepared.plan.loads:
            key = (load.dataset_id, load.version.version)
            if key not in known:
                resolution = self.prepared.snapshot.source(load.key).resolution
                try:
                    known[key] = read(
                        self.world.spark,
                        resolution,
                        load.version,
                        self.world.landing,
                        workspace=self.world.root,
                        pinned=pinned.get(load.key),
                    )
                except DaybookError as error:
                    if load.role != "append":
                        raise
                    raise DaybookError(
                        "APPEND_008", operation_seq=load.operation_seq, causes=[error], dataset_id=load.dataset_id
                    ) from error
                self._tell(known[key].notices)
            sources[load.key] = known[key]
        if not pinned:
            self.recorder.record_pins({key: source.pins for key, source in sources.items()})
        return sources

    def _write(self, group: OutputGroup, sources: Mapping[str, ReadSource]) -> None:
        """Stage the whole group, check what was counted on the way, then commit back to back."""
        staged = [self._stage(output) for output in group.outputs]
        group.verify()
        for source in dict.fromkeys(sources.values()):
            source.verify_pins()
        counts = group.counts()
        if counts.input_rows == 0:
            period = self.prepared.snapshot.period.identifier
            self._tell((notice("RUN_005", dataset=self.prepared.plan.input.dataset_id, period=period),))
        for item in sorted(staged, key=lambda item: item.planned.step.seq):
            self._commit(item, counts)

    def _stage(self, output: Output) -> _Staging:
        planned = self.prepared.output(output.step.seq)
        writer = writer_for(planned.target.format)
        self.world.listener.stage(f"writing {planned.label}")
        writer.check(planned.target)
        self.recorder.check_slice(planned)
        began = time.monotonic()
        staged = writer.stage(output.df, planned.target)
        return _Staging(planned, staged, round((time.monotonic() - began) * 1000))

    def _commit(self, item: _Staging, counts: Counts) -> None:
        target = item.planned.target
        commit = writer_for(target.format).commit(item.staged, target, self.keeper.fence)
        self._tell(commit.notices)
        result = self.recorder.record(item.planned, commit, item.staged, counts, item.duration_ms)
        self._tell(result.notices)
        self.outputs.append(result.output)
        self.world.listener.written(result.output)

    def discard(self) -> None:
        """Remove what was staged and not committed."""
        committed = {output.operation_seq for output in self.outputs}
        for planned in self.prepared.outputs:
            if planned.step.seq not in committed:
                writer_for(planned.target.format).discard(planned.target)

    def _tell(self, notices: tuple[Notice, ...]) -> None:
        for each in notices:
            if each not in self.notices:
                self.notices.append(each)
                self.world.listener.notice(each)
