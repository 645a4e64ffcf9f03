"""Executing a prepared run: read, stage, verify, commit, record; one output group after the other."""

import contextlib
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pyspark.sql import SparkSession

from daybook.engine.counters import Counts
from daybook.engine.pipeline import Output, OutputGroup, Pipeline
from daybook.engine.splits import even_splits
from daybook.errors import Notice, notice
from daybook.io.landing.area import LandingArea
from daybook.io.reading import ReadSource
from daybook.io.registry import writer_for
from daybook.io.writing import Staged
from daybook.runs.lease_keeper import LeaseKeeper
from daybook.runs.listener import RunListener
from daybook.runs.preparing import Prepared
from daybook.runs.recording import Recorder
from daybook.runs.result import OutputResult
from daybook.runs.sources import read_sources
from daybook.runs.targets import PlannedOutput
from daybook.runs.writing import writing


@dataclass(frozen=True, slots=True)
class World:
    """What an execution works with."""

    spark: SparkSession
    root: Path
    landing: LandingArea
    # A folder for intermediate results, removed after the attempt.
    staging: str
    listener: RunListener


@dataclass(frozen=True, slots=True)
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
        self.outputs += self.recorder.committed_outputs()
        sources = self._read()
        largest = max((source.sizes for source in sources.values()), key=sum, default=())
        with (
            even_splits(self.world.spark, largest),
            Pipeline(
                self.world.spark,
                self.prepared.plan,
                {key: source.frame for key, source in sources.items()},
                staging=self.world.staging,
                as_of=self.prepared.snapshot.as_of,
                skip=frozenset(output.operation_seq for output in self.outputs),
            ) as pipeline,
        ):
            try:
                for group in pipeline.groups():
                    self._write(group, pipeline, sources)
            except Exception as failure:
                raise pipeline.failure(failure) from failure

    def _read(self) -> Mapping[str, ReadSource]:
        """A retry reads the very data of the first attempt."""
        self.world.listener.stage("reading")
        pinned = self.recorder.pins()
        sources = read_sources(
            self.world.spark,
            self.prepared,
            self.world.landing,
            self.world.root,
            pinned=pinned or None,
            before_each=self.keeper.check,
        )
        for source in sources.values():
            self._tell(source.notices)
        if not pinned:
            self.recorder.record_pins({key: source.pins for key, source in sources.items()})
        return sources

    def _write(self, group: OutputGroup, pipeline: Pipeline, sources: Mapping[str, ReadSource]) -> None:
        """Stage the whole group, check what was counted on the way, then commit back to back."""
        staged = [self._stage(output, pipeline) for output in group.outputs]
        group.verify()
        for source in {id(source): source for source in sources.values()}.values():
            source.verify_pins()
        counts = group.counts()
        if counts.input_rows == 0:
            period = self.prepared.snapshot.period.identifier
            self._tell((notice("RUN_005", dataset=self.prepared.plan.input.dataset_id, period=period),))
        for item in sorted(staged, key=lambda item: item.planned.step.seq):
            self._commit(item, pipeline, counts)

    def _stage(self, output: Output, pipeline: Pipeline) -> _Staging:
        self.keeper.check()
        planned = self.prepared.output(output.step.seq)
        writer = writer_for(planned.target.format)
        self.world.listener.stage(f"writing {planned.label}")
        with writing(planned, pipeline.failure):
            writer.check(planned.target)
            self.recorder.require_slice(planned)
            began = time.monotonic()
            staged = writer.stage(output.df, planned.target)
        return _Staging(planned, staged, round((time.monotonic() - began) * 1000))

    def _commit(self, item: _Staging, pipeline: Pipeline, counts: Counts) -> None:
        planned = item.planned
        writer = writer_for(planned.target.format)
        with writing(planned, pipeline.failure):
            commit = writer.commit(item.staged, planned.target, lambda: self.recorder.permit(planned))
        self._tell(commit.notices)
        result = self.recorder.record(planned, commit, item.staged, counts, item.duration_ms)
        self._tell(result.notices)
        self.outputs.append(result.output)
        self.world.listener.written(result.output)
        if commit.is_repeat:
            # The first attempt's rows count; those of this one are not needed.
            self._discard(planned)

    def discard(self, *, with_committed: bool = False) -> None:
        """Remove what was staged and is not committed; `with_committed` also looks where outputs were committed."""
        committed = {output.operation_seq for output in self.outputs}
        for planned in self.prepared.outputs:
            if with_committed or planned.step.seq not in committed:
                self._discard(planned)

    def _discard(self, planned: PlannedOutput) -> None:
        # What cannot be removed now is found by `daybook doctor`; the run's own end matters more.
        with contextlib.suppress(Exception):
            writer_for(planned.target.format).discard(planned.target)

    def _tell(self, notices: tuple[Notice, ...]) -> None:
        for each in notices:
            if each not in self.notices:
                self.notices.append(each)
                self.world.listener.notice(each)
