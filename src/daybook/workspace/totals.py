"""Where every amount of a run came from and where it went, and the facts that an auditor asks for with it."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

from daybook.errors import DaybookError
from daybook.model.json_fields import Hidden, Merged
from daybook.runs.totals import MadeBy, MeasureTotals, RunTotals, SourceTotals, recorded_totals
from daybook.store.records import OperationResult, RunRecord
from daybook.store.store import Transaction
from daybook.workspace.open_workspace import OpenedWorkspace


@dataclass(frozen=True, slots=True)
class CheckedRows:
    """A check of the project, and how many rows it looked at."""

    seq: int
    name: str
    rows: int


@dataclass(frozen=True, slots=True)
class ProducedInformation:
    """What an auditor asks of information that a company's own system produced: from what, by which rule, by whom."""

    project: str
    version: int
    digest: str
    period: str
    as_of: str
    parameters: Mapping[str, str]
    status: str
    run_by: str
    host: str
    run_at: str
    commit: str | None
    is_clean: bool | None
    daybook: str
    checks: tuple[CheckedRows, ...]


@dataclass(frozen=True, slots=True)
class TotalsOfRun:
    """The totals that a run recorded."""

    totals: Merged[RunTotals]
    information: Hidden[ProducedInformation]

    @property
    def run(self) -> str:
        return self.totals.run

    @property
    def sources(self) -> tuple[SourceTotals, ...]:
        return self.totals.sources

    @property
    def measures(self) -> tuple[MeasureTotals, ...]:
        return self.totals.measures


def run_totals(workspace: OpenedWorkspace, run: str, *, measure: str | None = None) -> TotalsOfRun:
    """The totals of a run, by its id or as PROJECT@PERIOD: of all measures, or of one."""
    with workspace.open_store_or_empty() as store, store.read() as transaction:
        run_id = transaction.runs.id_of(run)
        found = find_totals(transaction, run_id)
    if found is None:
        raise DaybookError("TOTALS_030", run_id=run_id)
    if measure is None:
        return found
    chosen = tuple(one for one in found.totals.measures if one.column == measure)
    if not chosen:
        names = ", ".join(one.column for one in found.totals.measures) or "none"
        raise DaybookError("TOTALS_031", column=measure, run_id=run_id, measures=names)
    return replace(found, totals=replace(found.totals, measures=chosen))


def find_totals(transaction: Transaction, run_id: str) -> TotalsOfRun | None:
    """None for a run that followed neither measures nor controls."""
    totals = recorded_totals(transaction, run_id)
    if totals is None:
        return None
    snapshot = json.loads(transaction.runs.snapshot(run_id))
    operations = transaction.outcomes.operations(run_id)
    return TotalsOfRun(totals, _information(transaction.runs.shown(run_id), snapshot, operations))


def _information(
    record: RunRecord, snapshot: Mapping[str, Any], operations: Sequence[OperationResult]
) -> ProducedInformation:
    provenance, git = snapshot["provenance"], snapshot["provenance"].get("git")
    names = {operation["seq"]: operation["name"] for operation in snapshot["project"]["operations"]}
    return ProducedInformation(
        project=record.project_id,
        version=record.project_version,
        digest=hashlib.sha256(snapshot["project_text"].encode()).hexdigest(),
        period=record.period,
        as_of=str(snapshot["as_of"]),
        parameters=snapshot.get("parameters") or {},
        status=record.status,
        run_by=provenance["user"],
        host=provenance["host"],
        run_at=str(snapshot["timestamp"]),
        commit=git["commit"] if git else None,
        is_clean=git["is_clean"] if git else None,
        daybook=provenance["daybook_version"],
        checks=tuple(
            CheckedRows(operation.seq, names.get(operation.seq, operation.type), operation.rows_picked or 0)
            for operation in operations
            if operation.type == "check"
        ),
    )


@dataclass(frozen=True, slots=True)
class Balance:
    """The whole way of a measure, by the operation that made the rows: what came in is what went where."""

    made_by: int
    loaded: Decimal
    added: Decimal
    changed: Decimal
    deleted: Decimal
    after: Decimal


def total_of(totals: Sequence[MadeBy], made_by: int | None = None) -> Decimal:
    """The sum of a figure, or the part of one operation's rows."""
    amounts = (Decimal(one.total) for one in totals if made_by is None or one.made_by == made_by)
    return sum(amounts, Decimal(0))


def makers_of(measure: MeasureTotals) -> tuple[int, ...]:
    """The operations that made the rows which have the measure, 0 being the load of the input."""
    makers = {one.made_by for operation in measure.operations for one in operation.after}
    makers |= {one.made_by for output in measure.outputs for one in (*output.written, *output.left_out)}
    return tuple(sorted(makers))


def balance_of(measure: MeasureTotals, loaded: Decimal, maker: int) -> Balance:
    """What came in, what was done to it, and what was there in the end."""
    parts: dict[str, Decimal] = {}
    for kind in ("added", "changed", "deleted"):
        parts[kind] = sum((total_of(getattr(one, kind), maker) for one in measure.operations), Decimal(0))
    start = loaded if maker == 0 else Decimal(0)
    after = start + parts["added"] + parts["changed"] - parts["deleted"]
    return Balance(maker, start, after=after, **parts)
