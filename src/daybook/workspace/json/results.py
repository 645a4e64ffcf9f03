"""Results of use cases as JSON, for `--json` and for other programs."""

import datetime
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from decimal import Decimal
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from daybook.model.types import value_text

if TYPE_CHECKING:
    from daybook.definitions.activated import ProjectInput
    from daybook.errors import Code, DaybookError, Notice
    from daybook.model.definition import TableVersion
    from daybook.runs.explain.levels import ExplanationGap, NumberExplanation, OperationExplanation, ShownRows
    from daybook.runs.explain.row_origins import RowOrigin
    from daybook.runs.lifecycle.activation import Activation
    from daybook.runs.lifecycle.apply import ApplyPlan
    from daybook.runs.lifecycle.touched_columns import TouchedColumns
    from daybook.runs.maintenance import CollectedGarbage
    from daybook.runs.recovery import Recovery
    from daybook.runs.replay import ReplayResult
    from daybook.runs.result import OutputResult, RunFailedError, RunResult
    from daybook.runs.slices import SliceDrop, SliceEntry
    from daybook.scenarios.new_scenario import NewScenario
    from daybook.store.records import Action, RunRecord
    from daybook.workspace.definitions import CompiledProject, ValidationResult
    from daybook.workspace.execution import DryRun, RangeResult
    from daybook.workspace.history import (
        CancelResult,
        DefinitionDetails,
        DefinitionSummary,
        PeriodChange,
        PeriodListing,
        RunDetails,
        RunListing,
        VersionDifference,
    )
    from daybook.workspace.lifecycle import Deactivation
    from daybook.workspace.maintenance import EngineStatus, Examination, StoreRestoration
    from daybook.workspace.numbers import NumbersPage
    from daybook.workspace.reference import CheckedExpression, FunctionEntry
    from daybook.workspace.report import WrittenReport
    from daybook.workspace.scenarios import ScenarioReport

JsonObject = dict[str, Any]


def json_text(value: Any) -> str:
    """A result as indented JSON text that steers no terminal."""
    from daybook.errors.render import escape_json

    return escape_json(json.dumps(plain(value), indent=2, ensure_ascii=False))


def json_line(value: Any) -> str:
    """A result as JSON on one line."""
    from daybook.errors.render import escape_json

    return escape_json(json.dumps(plain(value), ensure_ascii=False))


def plain(value: Any) -> Any:
    """Only what JSON has: times as ISO 8601, exact numbers as text."""
    match value:
        case datetime.date():
            return value.isoformat()
        case Decimal():
            return value_text(value)
        case PurePath():
            return value.as_posix()
        case Mapping():
            return {key: plain(item) for key, item in value.items()}
        case list() | tuple():
            return [plain(item) for item in value]
        case _:
            return value


def engine_as_json(engine: "EngineStatus") -> JsonObject:
    return {**_fields(engine), "is_fit": engine.is_fit}


def _fields(record: Any) -> JsonObject:
    found: JsonObject = plain(asdict(record))
    return {**found, **_version_fields(record.table_version)} if "table_version" in found else found


def _version_fields(version: "TableVersion | None") -> JsonObject:
    """`delta_version` is what programs read before tables of other formats had versions."""
    if version is None:
        return {"table_version": None, "delta_version": None}
    return {"table_version": asdict(version), "delta_version": version.number}


def notice_as_json(notice: "Notice") -> JsonObject:
    span = notice.span
    return {
        "code": notice.code,
        "message": notice.message,
        "file": span.file if span else None,
        "line": span.line if span else None,
        "column": span.column if span else None,
        "hint": notice.hint,
    }


def errors_as_json(errors: "Iterable[DaybookError]") -> list[JsonObject]:
    """One object per finding."""
    from daybook.errors import error_to_json, flatten

    return [error_to_json(single) for error in errors for single in flatten(error)]


def code_as_json(code: "Code") -> JsonObject:
    return {"code": code.code, "message": code.wording, "explanation": code.explanation, "hint": code.advice}


def function_as_json(function: "FunctionEntry") -> JsonObject:
    return {
        "name": function.name,
        "family": function.family,
        "signature": function.signature,
        "result": function.result,
        "is_aggregate": function.is_aggregate,
        "description": function.description,
        "example": function.example,
        "value": function.value,
    }


def expression_as_json(checked: "CheckedExpression") -> JsonObject:
    return _fields(checked)


def validation_as_json(found: "ValidationResult") -> JsonObject:
    return {
        "ok": found.is_ok,
        "definitions": found.definition_count,
        "errors": errors_as_json(found.errors),
        "notices": [notice_as_json(notice) for notice in found.notices],
        "accepted": found.accepted,
    }


def compiled_as_json(compiled: "CompiledProject") -> JsonObject:
    from daybook.workspace.definitions import describe_plan

    found: JsonObject = plain(describe_plan(compiled.plan, compiled.constants))
    return found


def changes_as_json(planned: "ApplyPlan") -> JsonObject:
    return {
        "changes": [
            {
                "kind": change.kind,
                "id": change.id,
                "action": change.action,
                "version": change.version,
                "previous_version": change.previous_version,
                "difference": change.difference or None,
            }
            for change in planned.changes
        ],
        "projects": [
            {
                "id": effect.project_id,
                "before": effect.before,
                "after": effect.after,
                "breaks": [item.as_data() for item in effect.breaks],
                "errors": errors_as_json(effect.validation.errors),
                "expected": errors_as_json(effect.expected),
                "makers": list(effect.makers),
                "notices": [item.message for item in effect.notices],
            }
            for effect in planned.effects
        ],
        "stale": [_fields(project) for project in planned.stale],
        "touched": [touched_as_json(each) for each in planned.touched],
        "notices": [item.message for item in planned.notices],
    }


def activation_as_json(done: "Activation") -> JsonObject:
    return {
        "project_id": done.project_id,
        "version": done.version,
        "changed": done.is_new,
        "datasets": [project_input_as_json(item) for item in done.inputs],
        "touched": [touched_as_json(each) for each in done.touched],
        "notices": [notice.message for notice in done.notices],
    }


def touched_as_json(touched: "TouchedColumns") -> JsonObject:
    return {
        "project": touched.project_id,
        "output": touched.output_seq,
        "columns": list(touched.columns),
        "causes": list(touched.causes),
    }


def deactivation_as_json(done: "Deactivation") -> JsonObject:
    return {"project_id": done.project_id, "changed": done.is_changed}


def project_input_as_json(item: "ProjectInput") -> JsonObject:
    return {"id": item.dataset_id, "version": item.version, "pinned": item.is_pinned}


def run_result_as_json(result: "RunResult") -> JsonObject:
    return {
        "run_id": result.run_id,
        "project_id": result.project_id,
        "project_version": result.project_version,
        "period": result.period,
        "as_of": result.as_of.isoformat(),
        "status": result.status,
        "is_draft": result.is_draft,
        "sandbox": result.sandbox,
        "parameters": dict(result.parameters),
        "duration_ms": result.duration_ms,
        "operations": [
            {**_fields(operation), "name": result.names.get(operation.seq, operation.type)}
            for operation in result.operations
        ],
        "outputs": [_fields(output) for output in result.outputs],
        "notices": [notice_as_json(notice) for notice in result.notices],
        "accepted": result.accepted,
    }


def run_record_as_json(record: "RunRecord") -> JsonObject:
    """A run as the store has it."""
    from daybook.store.records import milliseconds

    return {**_fields(record), "duration_ms": milliseconds(record.duration) if record.duration else None}


def run_listing_as_json(listed: "RunListing") -> JsonObject:
    return {"runs": [run_record_as_json(run) for run in listed.runs], "next": listed.next_page}


def run_details_as_json(run: "RunDetails") -> JsonObject:
    """`error` is as the store has it; `errors` and `operations` have the form that a run's result has."""
    names = run.operation_names
    return {
        **run_record_as_json(run.record),
        "errors": list(run.errors),
        "operations": [{**_fields(result), "name": names.get(result.seq, result.type)} for result in run.operations],
        "commits": [_fields(commit) for commit in run.commits],
        "snapshot": run.snapshot,
    }


def definition_as_json(found: "DefinitionDetails") -> JsonObject:
    stored = found.definition
    data: JsonObject = {
        "kind": stored.kind,
        "id": stored.id,
        "version": stored.version,
        "versions": list(found.versions),
        "status": found.status,
        "created_at": stored.created_at.isoformat(),
        "workspace": stored.workspace,
        "definition": json.loads(stored.body),
    }
    if (project := found.project) is not None:
        data["active_version"] = project.state.active_version
        data["conflict"] = project.state.conflict
        data["warnings"] = list(project.state.warnings)
        data["datasets"] = [project_input_as_json(item) for item in project.inputs]
        data["column_usage"] = [
            {"operation_seq": use.operation_seq, "dataset_id": use.dataset_id, "column": use.column}
            for use in project.usage
        ]
    if stored.kind == "dataset":
        data["history"] = [_fields(entry) for entry in found.history]
    if found.pin is not None:
        data["data"] = {"uri": found.pin.uri, **_version_fields(found.pin.version)}
    return data


def definition_summary_as_json(found: "DefinitionSummary") -> JsonObject:
    return _fields(found)


def version_difference_as_json(found: "VersionDifference") -> JsonObject:
    return _fields(found)


def action_as_json(action: "Action") -> JsonObject:
    return _fields(action)


def cancellation_as_json(done: "CancelResult") -> JsonObject:
    return {"run_id": done.run_id, "status": done.status, "is_active": done.is_active}


def output_as_json(output: "OutputResult") -> JsonObject:
    return _fields(output)


def run_failure_as_json(failed: "RunFailedError") -> JsonObject:
    """A run that did not complete: why, and what it had committed by then."""
    return {
        "run_id": failed.run_id,
        "status": failed.status,
        "errors": errors_as_json([failed.error]),
        "outputs": [_fields(output) for output in failed.outputs],
    }


def range_as_json(result: "RangeResult") -> list[JsonObject]:
    """One object per completed run; where a later period failed, one more with its errors."""
    from daybook.runs.result import RunFailedError

    completed = [run_result_as_json(run) for run in result.completed]
    if isinstance(result.failure, RunFailedError):
        return [*completed, run_failure_as_json(result.failure)]
    return [*completed, {"errors": errors_as_json([result.failure])}] if result.failure else completed


def dry_run_as_json(found: "DryRun") -> JsonObject:
    return {
        "project_id": found.project_id,
        "project_version": found.project_version,
        "period": found.period,
        "as_of": found.as_of.isoformat(),
        "is_draft": found.is_draft,
        "sandbox": found.sandbox,
        "parameters": dict(found.parameters),
        "sources": [_fields(source) for source in found.sources],
        "outputs": [
            {
                "operation_seq": output.operation_seq,
                "destination": output.destination,
                "place": output.target,
                "format": output.format,
                "mode": output.mode,
                "columns": list(output.columns),
            }
            for output in found.outputs
        ],
        "notices": [notice_as_json(notice) for notice in found.notices],
    }


def replay_as_json(result: "ReplayResult") -> JsonObject:
    return {**_fields(result), "is_same": result.is_same}


def explanation_as_json(found: "OperationExplanation") -> JsonObject:
    """One level; the origin of a row says what to ask for the rows behind it, null for a line of a source."""
    data: JsonObject = {
        "run_id": found.run_id,
        "project_id": found.project_id,
        "period": found.period,
        "parameters": dict(found.parameters),
        "operation": {"seq": found.seq, "id": found.operation_id, "name": found.name, "type": found.type},
        "keys": _row_as_json(found.keys),
        "groups": [_row_as_json(each) for each in found.groups],
        "summary_rows": _rows_as_json(found.summary_rows) if found.summary_rows else None,
        "rows": {**_rows_as_json(found.rows), "origins": [_origin_as_json(origin) for origin in found.origins]},
        "sums": [
            {
                "column": each.column,
                "above": _number_as_text(each.above),
                "value": _number_as_text(each.value),
                "rows": _number_as_text(each.rows),
                "is_equal": each.is_equal,
            }
            for each in found.sums
        ],
        "gaps": _gaps_as_json(found.gaps),
    }
    return data


def _gaps_as_json(gaps: "Sequence[ExplanationGap]") -> list[JsonObject]:
    return [{"run_id": gap.run_id, "seq": gap.seq, "errors": errors_as_json([gap.error])} for gap in gaps]


def number_explanation_as_json(found: "NumberExplanation") -> JsonObject:
    """The first level, and the others in `levels`."""
    levels = [
        {
            "depth": level.depth,
            "explanations": [explanation_as_json(each) for each in level.explanations],
            "gaps": _gaps_as_json(level.gaps),
        }
        for level in found.levels
    ]
    return {**explanation_as_json(found.first), "levels": levels, "is_complete": found.is_complete}


def _origin_as_json(origin: "RowOrigin") -> JsonObject:
    asked = origin.next
    following = None if asked is None else _fields(asked)
    return {"key": _row_as_json(origin.key), "dataset_id": origin.dataset_id, "next": following}


def _row_as_json(row: Mapping[str, Any]) -> JsonObject:
    return {name: _row_value(value) for name, value in row.items()}


def _number_as_text(value: Decimal | int | None) -> str | None:
    return None if value is None else value_text(value)


def _rows_as_json(shown: "ShownRows") -> JsonObject:
    return {"count": shown.count, "columns": list(shown.columns), "shown": [_row_as_json(row) for row in shown.rows]}


def _row_value(value: Any) -> Any:
    """Exact numbers and times as texts, so that no reader of JSON rounds them."""
    return value_text(value) if isinstance(value, Decimal | datetime.date) else value


def numbers_as_json(page: "NumbersPage") -> JsonObject:
    """Exact numbers as texts; each row is an object by column."""
    names = [column.name for column in page.columns]
    return {
        "run_id": page.run_id,
        "project_id": page.project_id,
        "period": page.period,
        "output": _fields(page.output),
        "columns": [{"name": column.name, "type": str(column.type)} for column in page.columns],
        "where": [_fields(condition) for condition in page.where],
        "sort": [_fields(order) for order in page.sort],
        "offset": page.offset,
        "limit": page.limit,
        "count": page.count,
        "totals": None if page.totals is None else plain(page.totals),
        "rows": [dict(zip(names, map(_row_value, row), strict=True)) for row in page.rows],
    }


def report_as_json(written: "WrittenReport") -> JsonObject:
    return _fields(written)


def scenarios_as_json(report: "ScenarioReport") -> list[JsonObject]:
    from daybook.scenarios.report import failure_lines

    return [
        {
            "file": result.file.as_posix(),
            "name": result.name,
            "is_passed": result.is_passed,
            "seconds": round(result.duration, 3),
            "explanation": list(failure_lines(result)),
        }
        for result in report.results
    ]


def new_scenario_as_json(made: "NewScenario") -> JsonObject:
    return _fields(made)


def examination_as_json(found: "Examination") -> list[JsonObject]:
    return [_fields(finding) for finding in found.findings]


def restoration_as_json(done: "StoreRestoration") -> JsonObject:
    return {
        "backup": done.backup,
        "damaged": done.damaged,
        **recovery_as_json(done.recovery),
    }


def recovery_as_json(found: "Recovery") -> JsonObject:
    return {
        "slices": [_fields(each) for each in found.slices],
        "dropped": [{"table": table, "period": period} for table, period in found.dropped],
        "datasets": [{"id": dataset_id, "version": version} for dataset_id, version in found.datasets],
        "unread": [{"table": table, "reason": reason} for table, reason in found.unread],
        "inactive": list(found.inactive),
    }


def garbage_as_json(found: "CollectedGarbage") -> JsonObject:
    return _fields(found)


def period_as_json(listed: "PeriodListing") -> JsonObject:
    period, status = listed.period, listed.status
    return {
        "identifier": period.identifier,
        "level": period.level,
        "start_date": period.start_date.isoformat(),
        "end_date": period.end_date.isoformat(),
        "calendar_id": period.calendar_id,
        "status": status.status,
        "because_of": status.because_of,
        "changed_at": status.changed_at and status.changed_at.isoformat(),
        "changed_by": status.changed_by,
        "history": [_fields(change) for change in listed.history],
    }


def slice_as_json(entry: "SliceEntry") -> JsonObject:
    return {
        "table": entry.table,
        "location": entry.location,
        "period": entry.period,
        "project": entry.project_id,
        "operation": entry.operation_id,
        "run": entry.run_id,
        "rows": entry.rows,
        "written_at": entry.written_at and entry.written_at.isoformat(),
        "datasets": list(entry.datasets),
    }


def slice_drop_as_json(dropped: "SliceDrop") -> JsonObject:
    return {
        "table": dropped.slice.table,
        "location": dropped.slice.location,
        "period": dropped.slice.period,
        "run": dropped.slice.run_id,
        "rows": dropped.rows,
        "datasets": [{"id": dataset_id, "version": version} for dataset_id, version in dropped.datasets],
    }


def period_change_as_json(change: "PeriodChange") -> JsonObject:
    return {"identifier": change.period.identifier, "status": change.status, "changed": change.is_changed}
