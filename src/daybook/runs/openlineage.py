"""OpenLineage events about what a run read, wrote and computed, sent in order and in the background.

A slow receiver delays a run only for a short time.
"""

import contextlib
import datetime
import functools
import json
import math
import os
import queue
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias
from urllib.parse import unquote, urlsplit

from daybook.definitions.loading.loaded_workspace import WorkspaceLocation
from daybook.errors import DaybookError, Notice, flatten, notice
from daybook.io.pins import Pin
from daybook.model.secrets import mask_secrets, read_credential
from daybook.plan.lineage import plan_lineage
from daybook.plan.steps import CheckStep
from daybook.resolve.catalog_http import HttpLimits, HttpRequest, fetch, parse_endpoint
from daybook.runs.attempt.prepare import PreparedRun
from daybook.runs.attempt.recorder import recorded_pins
from daybook.runs.openlineage_datasets import (
    PRODUCER,
    Json,
    column_lineage,
    dataset,
    dataset_name,
    declared_columns,
    facet,
    pinned_versions,
)
from daybook.runs.run_result import OutputResult
from daybook.runs.snapshot import RunSnapshot
from daybook.runs.totals import RunTotals, recorded_totals
from daybook.store.records import FinalStatus

if TYPE_CHECKING:
    from daybook.runs.environment import RunEnvironment


Event = Mapping[str, Any]

# The most time that all events of a process together may take.
PATIENCE_SECONDS = 2.0
# A working receiver answers within this time.
_USUAL_SECONDS = 0.25
_LIMITS = HttpLimits(connect_seconds=PATIENCE_SECONDS, read_seconds=PATIENCE_SECONDS, total_seconds=PATIENCE_SECONDS)
_ACCEPTED = frozenset({200, 201, 202, 204})


class EventSender:
    """Delivers events one after the other in a thread of its own; after the first failure it sends nothing more."""

    def __init__(self, to: str, credential_ref: str | None, root: Path) -> None:
        self._to = to
        self._credential_ref = credential_ref
        self._root = root
        self._events: queue.SimpleQueue[Event] = queue.SimpleQueue()
        self._state = threading.Condition()
        self._pending = 0
        self._thread: threading.Thread | None = None
        self._failure: str | None = None
        self._is_reported = False
        self._patience = PATIENCE_SECONDS

    def send(self, event: Event) -> None:
        """Returns at once."""
        with self._state:
            if self._failure is not None:
                return
            self._pending += 1
            self._events.put(event)
            if self._thread is None:
                self._thread = threading.Thread(target=self._deliver_all, name="daybook-events", daemon=True)
                self._thread.start()

    def flush(self) -> Notice | None:
        """Wait until everything is delivered or the time limit is reached; then the warning, once."""
        began = time.monotonic()
        with self._state:
            self._state.wait_for(lambda: not self._pending or self._failure is not None, self._patience)
            waited = time.monotonic() - began
            if waited > _USUAL_SECONDS:
                self._patience = max(0.0, self._patience - waited)
            if self._failure is None and (self._pending or not self._patience):
                self._failure = f"it takes longer than {PATIENCE_SECONDS:.0f} seconds"
            if self._failure is None or self._is_reported:
                return None
            self._is_reported = True
            return notice("RUN_046", to=_shown(self._to), reason=self._failure)

    def _deliver_all(self) -> None:
        while True:
            event = self._events.get()
            try:
                if self._failure is None:
                    self._deliver(event)
            except DaybookError as error:
                self._fail(error.message)
            except OSError as error:
                self._fail(error.strerror or type(error).__name__)
            except ValueError:
                # The message would show the header.
                self._fail("the credential is not plain text of one line")
            with self._state:
                self._pending -= 1
                self._state.notify_all()

    def _fail(self, reason: str) -> None:
        with self._state:
            self._failure = self._failure or reason

    def _deliver(self, event: Event) -> None:
        body = json.dumps(event, ensure_ascii=False, separators=(",", ":")).encode()
        if self._to.startswith("file:"):
            _append_line(Path(unquote(urlsplit(self._to).path)), body)
            return
        endpoint = parse_endpoint(self._to)
        headers = {"Content-Type": "application/json"}
        if self._credential_ref is not None:
            if not endpoint.is_private:
                raise DaybookError("RESOLVE_071", endpoint=endpoint)
            headers["Authorization"] = f"Bearer {read_credential(self._credential_ref, self._root)}"
        fetch(HttpRequest(endpoint, "POST", headers, body, _ACCEPTED), (endpoint.authority,), _LIMITS)


@functools.cache
def event_sender(to: str, credential_ref: str | None, root: Path) -> EventSender:
    """One for each receiver in a process, so that a receiver that is not there is waited for once."""
    return EventSender(to, credential_ref, root)


def _append_line(path: Path, body: bytes) -> None:
    """In one write, so that lines of several processes do not mix."""
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        os.write(descriptor, body + b"\n")
    finally:
        os.close(descriptor)


def _shown(to: str) -> str:
    """The address without its query, which may contain a secret."""
    return to.partition("?")[0]


EventType: TypeAlias = Literal["START", "COMPLETE", "FAIL", "ABORT"]
_SCHEMA_URL = "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent"
# Daybook's own, so that names of other programs do not give the same ids.
_ID_NAMESPACE = uuid.UUID("6f1c5f3e-52d5-5a0e-9d5c-6c1a3b0c7e11")
_ENDS: Mapping[FinalStatus, EventType] = {"completed": "COMPLETE", "failed": "FAIL", "cancelled": "ABORT"}
_FAILED_CHECK_CODE = "CHECK_020"
_TAG_SOURCE = "DAYBOOK"


@dataclass(frozen=True, slots=True)
class LineageEvents:
    """Sends events of runs and builds to a receiver; undelivered events never change a run."""

    sender: EventSender
    namespace: str
    clock: Callable[[], datetime.datetime]
    root_uri: str

    def run_started(self, prepared: PreparedRun, attempt: int) -> None:
        self._send_run("START", prepared, attempt, {}, ())

    def run_ended(
        self,
        prepared: PreparedRun,
        attempt: int,
        status: FinalStatus,
        *,
        error: DaybookError | None = None,
        outputs: Iterable[OutputResult] = (),
        pins: Mapping[str, tuple[Pin, ...]] | None = None,
        totals: RunTotals | None = None,
    ) -> Notice | None:
        """The warning when the receiver does not take events, once."""
        self._send_run(_ENDS[status], prepared, attempt, pins or {}, tuple(outputs), error, totals)
        return self.sender.flush()

    def replay_started(self, prepared: PreparedRun, number: str) -> None:
        self._send_replay("START", prepared, number)

    def replay_ended(self, prepared: PreparedRun, number: str, error: BaseException | None = None) -> Notice | None:
        kind: EventType = "COMPLETE" if error is None else "FAIL" if isinstance(error, Exception) else "ABORT"
        self._send_replay(kind, prepared, number, error if isinstance(error, DaybookError) else None)
        return self.sender.flush()

    def build_started(self, build_id: str) -> None:
        self._send("START", self.build_uuid(build_id), "build", {"tags": _tags({"build": build_id})})

    def build_ended(self, build_id: str, *, is_ok: bool, is_cancelled: bool) -> Notice | None:
        kind: EventType = "COMPLETE" if is_ok else "ABORT" if is_cancelled else "FAIL"
        self._send(kind, self.build_uuid(build_id), "build", {"tags": _tags({"build": build_id})})
        return self.sender.flush()

    def run_uuid(self, run_id: str, attempt: int = 1) -> str:
        """Derived from our own id; a retry is a run of its own, since a run ends once."""
        return self._uuid(f"run/{run_id}" if attempt == 1 else f"run/{run_id}/{attempt}")

    def build_uuid(self, build_id: str) -> str:
        return self._uuid(f"build/{build_id}")

    def _uuid(self, name: str) -> str:
        return str(uuid.uuid5(_ID_NAMESPACE, f"{self.namespace}/{name}"))

    def _send_run(
        self,
        kind: EventType,
        prepared: PreparedRun,
        attempt: int,
        pins: Mapping[str, tuple[Pin, ...]],
        written: tuple[OutputResult, ...],
        error: DaybookError | None = None,
        totals: RunTotals | None = None,
    ) -> None:
        snapshot = prepared.snapshot
        facets = self._run_facets(snapshot, attempt, error)
        inputs = _inputs(prepared, pins)
        _add_source_metrics(prepared, inputs, totals)
        if inputs and kind != "START" and (checks := _assertions(prepared, error)):
            assertions = facet("DataQualityAssertionsDatasetFacet", "1-1-0", assertions=checks)
            inputs[0].setdefault("inputFacets", {})["dataQualityAssertions"] = assertions
        committed = {output.operation_seq: output for output in written}
        outputs = _outputs(prepared, committed, totals, are_planned=kind == "START")
        run_uuid = self.run_uuid(snapshot.run_id, attempt)
        self._send(kind, run_uuid, snapshot.project.id, facets, self._job_facets(snapshot), inputs, outputs)

    def _send_replay(
        self, kind: EventType, prepared: PreparedRun, number: str, error: DaybookError | None = None
    ) -> None:
        """A replay reads what the run read and writes nothing that other runs read."""
        snapshot = prepared.snapshot
        run_uuid = self._uuid(f"replay/{snapshot.run_id}/{number}")
        facets = self._run_facets(snapshot, 1, error)
        facets.pop("parent", None)
        name = f"{snapshot.project.id}.replay"
        self._send(kind, run_uuid, name, facets, self._job_facets(snapshot), _inputs(prepared, {}))

    def _send(
        self,
        kind: EventType,
        run_uuid: str,
        job: str,
        run_facets: Json,
        job_facets: Json | None = None,
        inputs: Iterable[Json] = (),
        outputs: Iterable[Json] = (),
    ) -> None:
        from pyspark import __version__ as spark_version

        engine = facet("ProcessingEngineRunFacet", "1-1-1", name="spark", version=spark_version)
        type_ = facet("JobTypeJobFacet", "2-0-4", processingType="BATCH", integration="DAYBOOK", jobType="JOB")
        event = {
            "eventType": kind,
            "eventTime": _time_text(self.clock()),
            "producer": PRODUCER,
            "schemaURL": _SCHEMA_URL,
            "run": {"runId": run_uuid, "facets": {"processing_engine": engine, **run_facets}},
            "job": {
                "namespace": self.namespace,
                "name": job,
                "facets": {"jobType": type_, **(job_facets or {})},
            },
            "inputs": list(inputs),
            "outputs": list(outputs),
        }
        self.sender.send(event)

    def _run_facets(self, snapshot: RunSnapshot, attempt: int, error: DaybookError | None) -> Json:
        period = snapshot.period
        midnight = datetime.time(tzinfo=datetime.UTC)
        start = datetime.datetime.combine(period.start_date, midnight)
        end = datetime.datetime.combine(period.end_date, midnight) + datetime.timedelta(days=1)
        tags = {
            "run": snapshot.run_id,
            "attempt": str(attempt),
            "period": period.identifier,
            "project_version": str(snapshot.project_version),
            "is_draft": str(snapshot.settings.is_draft).lower(),
        }
        facets: Json = {
            "nominalTime": facet(
                "NominalTimeRunFacet", "1-0-1", nominalStartTime=_time_text(start), nominalEndTime=_time_text(end)
            ),
            "tags": _tags(tags),
        }
        if (build_id := snapshot.settings.build_id) is not None:
            parent = {
                "run": {"runId": self.build_uuid(build_id)},
                "job": {"namespace": self.namespace, "name": "build"},
            }
            facets["parent"] = facet("ParentRunFacet", "1-2-0", **parent, root=parent)
        if error is not None:
            lines = "; ".join(f"[{finding.code}] {finding.message}" for finding in flatten(error))
            facets["errorMessage"] = facet(
                "ErrorMessageRunFacet", "1-0-1", message=mask_secrets(lines), programmingLanguage="DAYBOOK"
            )
        return facets

    def _job_facets(self, snapshot: RunSnapshot) -> Json:
        facets: Json = {}
        if (text := snapshot.project.description or snapshot.project.name) != snapshot.project.id:
            facets["documentation"] = facet("DocumentationJobFacet", "1-1-0", description=mask_secrets(text))
        if snapshot.project_file is not None:
            git = snapshot.provenance.git
            place = {"url": f"{self.root_uri}/{snapshot.project_file}", "path": snapshot.project_file}
            version = {"type": "git", "version": git.commit} if git else {"type": "file"}
            facets["sourceCodeLocation"] = facet("SourceCodeLocationJobFacet", "1-1-0", **version, **place)
        return facets


def lineage_events(workspace: WorkspaceLocation, clock: Callable[[], datetime.datetime]) -> LineageEvents | None:
    """For a workspace whose settings name a receiver."""
    settings = workspace.settings.lineage.openlineage
    if settings is None:
        return None
    root = workspace.root.resolve()
    sender = event_sender(settings.to, settings.credential_ref, root)
    return LineageEvents(sender, settings.namespace or workspace.settings.name, clock, root.as_uri())


class RunEvents:
    """Sends the events of one attempt at a run; whatever goes wrong with that is a warning."""

    def __init__(self, environment: "RunEnvironment", prepared: PreparedRun) -> None:
        self._environment = environment
        self._prepared = prepared
        self._attempt = 1

    def started(self) -> None:
        if (events := self._environment.events) is None:
            return
        with contextlib.suppress(Exception):
            with self._environment.store.read() as transaction:
                self._attempt = transaction.runs.get(self._prepared.snapshot.run_id).attempt
            events.run_started(self._prepared, self._attempt)

    def ended(
        self, status: FinalStatus, outputs: Iterable[OutputResult], error: DaybookError | None = None
    ) -> Notice | None:
        """The warning when events were not delivered, once in a process; the listener has heard it."""
        if (events := self._environment.events) is None:
            return None
        try:
            with self._environment.store.read() as transaction:
                run_id = self._prepared.snapshot.run_id
                pins, totals = recorded_pins(transaction, run_id), recorded_totals(transaction, run_id)
            undelivered = events.run_ended(
                self._prepared, self._attempt, status, error=error, outputs=outputs, pins=pins, totals=totals
            )
        except Exception as failure:
            # The run has ended; nothing about its events may change that.
            undelivered = notice("RUN_046", to="the receiver", reason=f"the event could not be made ({failure!r})")
        if undelivered is not None:
            self._environment.listener.notice(undelivered)
        return undelivered


def _inputs(prepared: PreparedRun, pins: Mapping[str, tuple[Pin, ...]]) -> list[Json]:
    """Every place that is read, once, the input first."""
    inputs: dict[tuple[str, str], Json] = {}
    for load in prepared.plan.loads:
        versions = pinned_versions(pins.get(load.key, ()))
        for location in prepared.snapshot.source(load.key).resolution.locations:
            token = versions.get(location.uri or "") or (location.version.token if location.version else None)
            columns = declared_columns(load.version.dataset.main_table.columns)
            described = dataset(location, columns, token)
            inputs.setdefault((described["namespace"], described["name"]), described)
    return list(inputs.values())


def _add_source_metrics(prepared: PreparedRun, inputs: list[Json], totals: RunTotals | None) -> None:
    """Rows and totals of each source that lies in one place; those of several places are known together only."""
    described = {(dataset["namespace"], dataset["name"]): dataset for dataset in inputs}
    for source in totals.sources if totals is not None else ():
        load = next(
            load for load in prepared.plan.loads if load.operation_seq == source.seq and load.role == source.role
        )
        locations = prepared.snapshot.source(load.key).resolution.locations
        if len(locations) == 1 and source.rows.loaded is not None:
            metrics = _metrics("DataQualityMetricsInputDatasetFacet", "1-0-3", source.rows.loaded, source.totals)
            described[dataset_name(locations[0])].setdefault("inputFacets", {})["dataQualityMetrics"] = metrics


def _metrics(kind: str, version: str, rows: int, totals: Mapping[str, str]) -> Json:
    sums = {column: float(total) for column, total in totals.items()}
    columns = {column: {"sum": total} for column, total in sums.items() if math.isfinite(total)}
    return facet(kind, version, rowCount=rows, columnMetrics=columns)


def _written_totals(totals: RunTotals | None, prepared: PreparedRun, seq: int) -> dict[str, str]:
    """The sum of each measure in what an output wrote, whoever made the rows."""
    columns = prepared.output(seq).step.columns
    sums: dict[str, Decimal] = {}
    for measure in totals.measures if totals is not None else ():
        for output in measure.outputs:
            if output.seq == seq and measure.column in columns:
                amounts = (Decimal(figure.total) for figure in (*output.written, *output.deleted))
                sums[measure.column] = sum(amounts, Decimal(0))
    return {column: str(total) for column, total in sums.items()}


def _outputs(
    prepared: PreparedRun,
    written: Mapping[int, OutputResult],
    totals: RunTotals | None = None,
    *,
    are_planned: bool,
) -> list[Json]:
    """At the start, what is going to be written; at the end, what was committed."""
    outputs: dict[tuple[str, str], Json] = {}
    lineage, names = plan_lineage(prepared.plan), _dataset_names(prepared)
    for planned in prepared.outputs:
        result = written.get(planned.step.seq)
        if result is None and not are_planned:
            continue
        version = result.table_version.token if result and result.table_version else None
        described = dataset(planned.target.location, planned.step.columns.items(), version)
        if result is not None:
            described["facets"]["columnLineage"] = column_lineage(lineage, planned.step.seq, names)
            if (change := _state_change(planned.target.mode, result)) is not None:
                described["facets"]["lifecycleStateChange"] = facet(
                    "LifecycleStateChangeDatasetFacet", "1-0-1", lifecycleStateChange=change
                )
            statistics = facet("OutputStatisticsOutputDatasetFacet", "1-0-2", rowCount=result.rows_written)
            described["outputFacets"] = {"outputStatistics": statistics}
            if sums := _written_totals(totals, prepared, planned.step.seq):
                metrics = _metrics("DataQualityMetricsDatasetFacet", "1-0-1", result.rows_written, sums)
                described["facets"]["dataQualityMetrics"] = metrics
        outputs[described["namespace"], described["name"]] = described
    return list(outputs.values())


def _dataset_names(prepared: PreparedRun) -> dict[str, list[tuple[str, str]]]:
    """What OpenLineage calls the datasets that a run reads; one that lies at several places has several names."""
    names_by_dataset: dict[str, dict[tuple[str, str], None]] = {}
    for load in prepared.plan.loads:
        for location in prepared.snapshot.source(load.key).resolution.locations:
            names_by_dataset.setdefault(load.dataset_id, {})[dataset_name(location)] = None
    return {dataset_id: list(names) for dataset_id, names in names_by_dataset.items()}


def _state_change(mode: str, result: OutputResult) -> str | None:
    """An append changes no state that the specification knows."""
    if mode == "error" or result.delta_version == 0:
        return "CREATE"
    return "OVERWRITE" if mode in ("replace", "replace_period") else None


def _assertions(prepared: PreparedRun, error: DaybookError | None) -> list[Json]:
    """The checks that were decided: all of them in a run that completed, otherwise those that failed."""
    failed = (
        {finding.operation_seq for finding in flatten(error) if finding.code == _FAILED_CHECK_CODE} if error else set()
    )
    return [
        {
            "assertion": mask_secrets(step.condition.text),
            "name": step.name,
            "success": step.seq not in failed,
            "severity": "error",
        }
        for step in prepared.plan.steps
        if isinstance(step, CheckStep) and (error is None or step.seq in failed)
    ]


def _tags(values: Mapping[str, str]) -> Json:
    tags = [{"key": f"daybook.{key}", "value": value, "source": _TAG_SOURCE} for key, value in values.items()]
    return facet("TagsRunFacet", "1-0-0", tags=tags)


def _time_text(time: datetime.datetime) -> str:
    return time.astimezone(datetime.UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
