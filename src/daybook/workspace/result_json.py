"""Runs as data, for `--json`."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from daybook.errors import Notice
    from daybook.runs.replay import ReplayResult
    from daybook.runs.result import RunFailedError, RunResult
    from daybook.runs.run import PlannedRun
    from daybook.store.records import RunRecord


def run_result_as_json(result: "RunResult") -> dict[str, Any]:
    return {
        "run_id": result.run_id,
        "project_id": result.project_id,
        "project_version": result.project_version,
        "period": result.period,
        "as_of": result.as_of.isoformat(),
        "status": result.status,
        "is_draft": result.is_draft,
        "sandbox": result.sandbox,
        "duration_ms": result.duration_ms,
        "operations": [
            {**asdict(operation), "name": result.names.get(operation.seq, operation.type)}
            for operation in result.operations
        ],
        "outputs": [asdict(output) for output in result.outputs],
        "notices": [notice_as_json(notice) for notice in result.notices],
    }


def run_record_as_json(record: "RunRecord") -> dict[str, Any]:
    """A run as the store has it."""
    from daybook.store.records import milliseconds

    return {**asdict(record), "duration_ms": milliseconds(record.duration) if record.duration else None}


def run_failure_as_json(failed: "RunFailedError") -> dict[str, Any]:
    """A run that did not complete: why, and what it had committed by then."""
    from daybook.errors import error_to_json, flatten

    return {
        "run_id": failed.run_id,
        "status": failed.status,
        "errors": [error_to_json(single) for single in flatten(failed.error)],
        "outputs": [asdict(output) for output in failed.outputs],
    }


def dry_run_as_json(planned: "PlannedRun") -> dict[str, Any]:
    snapshot = planned.prepared.snapshot
    return {
        "project_id": snapshot.project.id,
        "project_version": snapshot.project_version,
        "period": snapshot.period.identifier,
        "as_of": snapshot.as_of.isoformat(),
        "is_draft": snapshot.settings.is_draft,
        "sandbox": snapshot.settings.sandbox,
        "sources": [
            {
                "load": source.key,
                "dataset_id": source.dataset_id,
                "dataset_version": source.dataset_version,
                "resolver_id": source.resolution.resolver_id,
                "rule": source.resolution.rule,
                "locations": [location.uri or location.table for location in source.resolution.locations],
            }
            for source in snapshot.sources
        ],
        "outputs": [
            {
                "operation_seq": output.step.seq,
                "destination": output.label,
                "place": output.target.place,
                "format": output.target.format,
                "mode": output.target.mode,
                "columns": list(output.step.columns),
            }
            for output in planned.prepared.outputs
        ],
        "notices": [notice_as_json(notice) for notice in planned.notices],
    }


def replay_as_json(result: "ReplayResult") -> dict[str, Any]:
    return {**asdict(result), "is_same": result.is_same}


def notice_as_json(notice: "Notice") -> dict[str, Any]:
    """One warning for machines."""
    span = notice.span
    return {
        "code": notice.code,
        "message": notice.message,
        "file": span.file if span else None,
        "line": span.line if span else None,
        "column": span.column if span else None,
        "hint": notice.hint,
    }
