"""Finds the nodes of a period that may be sealed, or says what prevents it."""

import datetime
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from daybook.errors import DaybookError
from daybook.graph.close import Close, NodeStatus, read_close
from daybook.graph.nodes import PeriodSpan, find_period
from daybook.model.calendar import Period
from daybook.proof.certificate import (
    AcceptedStale,
)
from daybook.resolve.calendars.calendar import DAY, GREGORIAN, PeriodCalendar
from daybook.resolve.project_files import CheckedFiles
from daybook.runs.environment import RunEnvironment, begin_for_tables_by_name

_RANGE = ".."


@dataclass(frozen=True, slots=True, kw_only=True)
class SealRequest:
    """`accept_stale` are locked nodes, or projects, that are sealed though they are out of date, for a `reason`.

    `timestamp` is the address of a time stamping authority.
    """

    period: str
    accept_stale: tuple[str, ...] = ()
    reason: str | None = None
    timestamp: str | None = None


@dataclass(frozen=True, slots=True)
class SealablePeriod:
    """A period all of whose nodes are finished; `calendar` is the one that the period belongs to."""

    period: Period
    before: Period | None
    nodes: tuple[NodeStatus, ...]
    not_covered: tuple[str, ...]
    accepted_stale: tuple[AcceptedStale, ...]

    @property
    def runs(self) -> dict[str, str]:
        """The completed run of every node."""
        return {status.node.name: str(status.run) for status in self.nodes}


def find_sealable(environment: RunEnvironment, files: CheckedFiles, request: SealRequest) -> SealablePeriod:
    """The nodes of a period, as `build --period` takes them; a code says what prevents the seal."""
    if _RANGE in request.period:
        raise DaybookError("PROOF_007", period=request.period, reason="a certificate is about one period")
    begin_for_tables_by_name(files.workspace, environment.session)
    with read_close(files, environment.store, period=request.period, asks_databases=True, looks=True) as close:
        projects = sorted(close.active_projects)
        calendars = {GREGORIAN.id: GREGORIAN} | {item.id: item for item in map(close.nodes.calendar_of, projects)}
        period = find_period(request.period, calendars.values())
        calendar = calendars[period.calendar_id]
        span = PeriodSpan(period.start_date, period.end_date, period.level)
        statuses = _statuses(close, projects, span)
        left_out = close.nodes.left_out(span, projects)
    if not statuses:
        reason = f"every project runs for longer periods: {', '.join(left_out)}" if left_out else "no project is active"
        raise DaybookError("PROOF_007", period=request.period, reason=reason)
    accepted = tuple(_accepted(statuses, request))
    _require_finished(statuses, {item.node for item in accepted}, period)
    return SealablePeriod(period, _period_before(period, calendar), statuses, left_out, accepted)


def _statuses(close: Close, projects: Sequence[str], span: PeriodSpan) -> tuple[NodeStatus, ...]:
    nodes = close.nodes.nodes_in(span, projects)
    statuses = close.statuses(close.closure(nodes, span, frozenset(projects)))
    return tuple(statuses[node] for node in nodes)


def _period_before(period: Period, calendar: PeriodCalendar) -> Period | None:
    if period.start_date == datetime.date.min:
        return None
    return calendar.at(period.level, period.start_date - DAY)


def _accepted(statuses: Sequence[NodeStatus], request: SealRequest) -> Iterator[AcceptedStale]:
    for name in request.accept_stale:
        named = [status for status in statuses if name in (status.node.name, status.node.project)]
        problem = None
        if not request.reason:
            problem = "it needs a --reason"
        elif not named:
            problem = f"there is no such node in {request.period}"
        elif not any(status.state == "stale" and status.is_locked for status in named):
            problem = f"it is {named[0].state}, not a locked node that is out of date"
        if problem is not None:
            raise DaybookError("PROOF_006", node=name, reason=problem)
        for status in named:
            if status.state == "stale" and status.is_locked:
                yield AcceptedStale(status.node.name, status.reasons, request.reason or "")


def _require_finished(statuses: Sequence[NodeStatus], accepted: set[str], period: Period) -> None:
    unlocked = [status.node.name for status in statuses if not status.is_locked]
    problems = [
        f"{status.node.name} is {status.state}" + (f" ({'; '.join(status.reasons)})" if status.reasons else "")
        for status in statuses
        if status.state != "fresh" and status.node.name not in accepted
    ]
    if problems:
        raise DaybookError("PROOF_005", period=period.identifier, problems=", ".join(problems))
    if unlocked:
        verb = "is" if len(unlocked) == 1 else "are"
        raise DaybookError("PROOF_004", period=period.identifier, nodes=", ".join(unlocked), verb=verb)
