"""Executing a prepared run: read, stage, verify, commit, record; one output group after the other."""

import datetime
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pyspark.sql import SparkSession

from daybook.engine.pipeline import OperationCounts, OutputFrame, Pipeline
from daybook.errors import DaybookError, Notice, notice
from daybook.io.landing.area import LandingArea
from daybook.io.pins import Pin, pin_from_json, pin_to_json
from daybook.io.reading import ReadSource, read
from daybook.io.registry import writer_for
from daybook.io.writing import Commit, Staged
from daybook.plan.steps import OutputStep, Step
from daybook.runs.lease_keeper import LeaseKeeper
from daybook.runs.listener import RunListener
from daybook.runs.preparing import Prepared
from daybook.runs.recording import Recorder
from daybook.runs.result import OutputResult
from daybook.runs.targets import PlannedOutput

Clock = Callable[[], datetime.datetime]


@dataclass(frozen=True, slots=True)
class World:
    """What an execution works with."""

    spark: SparkSession
    root: Path
    landing: LandingArea
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
        committed = self.recorder.committed_sequences()
        with Pipeline(self.world.spark, self.prepared.plan, frames, as_of=self.prepared.snapshot.as_of) as pipeline:
            for group in pipeline.groups():
                pending = [output for output in group if output.step.seq not in committed]
                self._write(pending, pipeline, sources)

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

    def _write(self, group: list[OutputFrame], pipeline: Pipeline, sources: Mapping[str, ReadSource]) -> None:
        """Stage the whole group, check what was counted on the way, then commit back to back."""
        staged: list[_Staging] = []
        try:
            for output in group:
                staged.append(self._stage(output))
            pipeline.verify()
            for source in sources.values():
                source.verify_pins()
            counts = pipeline.counts()
            for item in staged:
                self._commit(item, counts)
        except BaseException:
            for output in group:
                planned = self.prepared.output(output.step.seq)
                writer_for(planned.target.format).discard(planned.target)
            raise

    def _stage(self, output: OutputFrame) -> _Staging:
        planned = self.prepared.output(output.step.seq)
        writer = writer_for(planned.target.format)
        self.world.listener.stage(f"writing {planned.label}")
        writer.check(planned.target)
        self.recorder.check_slice(planned)
        began = time.monotonic()
        staged = writer.stage(output.df, planned.target)
        return _Staging(planned, staged, round((time.monotonic() - began) * 1000))

    def _commit(self, item: _Staging, counts: Mapping[int, OperationCounts]) -> None:
        target = item.planned.target
        commit = writer_for(target.format).commit(item.staged, target, self.keeper.fence)
        self._tell(commit.notices)
        result = self.recorder.record(item.planned, commit, item.staged, counts, item.duration_ms)
        self._tell(result.notices)
        self.outputs.append(result.output)
        self.world.listener.written(result.output)

    def _tell(self, notices: tuple[Notice, ...]) -> None:
        for each in notices:
            if each not in self.notices:
                self.notices.append(each)
                self.world.listener.notice(each)
