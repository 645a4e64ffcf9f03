"""Closes a month of the demo: runs its projects, reads the main numbers they wrote, and builds the quarter."""

from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

from daybook.compare.bridge import BridgeRequest
from daybook.compare.bridge_result import BridgeResult
from daybook.graph.build import BuildResult
from daybook.graph.build_listener import BuildListener
from daybook.graph.build_plan import BuildRequest
from daybook.io.formats.delta.table import read_rows
from daybook.model.types import value_text
from daybook.proof.verification import Verification
from daybook.resolve.calendars.calendar import GREGORIAN
from daybook.runs.attempt.run_request import RunRequest
from daybook.runs.run_listener import RunListener
from daybook.runs.run_result import RunResult
from daybook.workspace.build_events import finished_event
from daybook.workspace.certificates import (
    PeriodSeal,
    VerifyRequest,
    list_seals,
    make_key,
    seal_period,
    verify_certificates,
)
from daybook.workspace.close import CloseStatus, build_close, close_status
from daybook.workspace.execution import run_project
from daybook.workspace.lifecycle import activate_project
from daybook.workspace.numbers import bridge_runs
from daybook.workspace.open_workspace import OpenedWorkspace
from daybook.workspace.periods import lock_period, reopen_period
from daybook.workspace.runs import show_run
from daybook.workspace.totals import TotalsOfRun, totals_of

CLOSE_PROJECTS = ("close", "management-summary", "balances")


def close_month(workspace: OpenedWorkspace, period: str, *, listener: RunListener | None = None) -> "DemoResult":
    """Activate and run one project after the other; the headline is that of the last month of a range."""
    runs: list[RunResult] = []
    for project in CLOSE_PROJECTS:
        activate_project(workspace, project)
        result = run_project(workspace, RunRequest(project, period), listener=listener)
        if result.failure is not None:
            raise result.failure
        runs += result.completed
    last = runs[-1].period
    headline = read_headline(workspace.root, last)
    correction = explain_correction(workspace, last, listener=listener)
    close_run = next(run for run in reversed(runs) if run.project_id == CLOSE_PROJECTS[0])
    totals = totals_of(show_run(workspace, close_run.run_id))
    return DemoResult(workspace.root, tuple(runs), last, headline, correction, totals)


# The output of the close that is compared: its operation writes to the warehouse.
_WAREHOUSE_OUTPUT = "120"


def explain_correction(
    workspace: OpenedWorkspace, period: str, *, listener: RunListener | None = None
) -> BridgeResult | None:
    """Close the month again as a draft, with the rates as they are corrected until its end, and say what that moves."""
    own_period = GREGORIAN.find(period)
    if own_period is None or workspace.settings.sandbox is None:
        return None
    request = RunRequest(CLOSE_PROJECTS[0], period, as_of=own_period.end_date, is_draft=True)
    corrected = run_project(workspace, request)
    if corrected.failure is not None:
        raise corrected.failure
    (draft,) = corrected.completed
    question = BridgeRequest(f"{CLOSE_PROJECTS[0]}@{period}", draft.run_id, "actual", _WAREHOUSE_OUTPUT)
    return bridge_runs(workspace, question, listener=listener)


@dataclass(frozen=True, slots=True)
class DemoQuarter:
    """The months of a quarter, built together, and the state of their nodes afterwards."""

    span: str
    build: BuildResult
    status: CloseStatus


def build_quarter(workspace: OpenedWorkspace, period: str, *, listener: BuildListener | None = None) -> DemoQuarter:
    """Build the quarter around a month with everything in it that is not fresh."""
    first, last = quarter_around(period)
    span = f"{first}..{last}"
    build = build_close(workspace, BuildRequest(span, CLOSE_PROJECTS), listener=listener)
    return DemoQuarter(span, build, close_status(workspace, period=span))


KEY_NAME = "controlling"


@dataclass(frozen=True, slots=True)
class SealedMonth:
    """The certificate of a month, and what its verification without store and Spark found."""

    certificate: str
    public_key: str
    seal: PeriodSeal
    verification: Verification


def seal_month(workspace: OpenedWorkspace, period: str) -> SealedMonth:
    """Lock a month, seal it and verify the certificate; then open it again, since the demo goes on."""
    root = workspace.root
    private, public = root / "keys" / f"{KEY_NAME}.key", root / "keys" / f"{KEY_NAME}.pub"
    if not private.exists():
        make_key(KEY_NAME, root / "keys")
    number = len(list_seals(workspace, period=period)) + 1
    certificate = root / "certificates" / (f"close-{period}.json" if number == 1 else f"close-{period}-{number}.json")
    certificate.parent.mkdir(exist_ok=True)
    lock_period(workspace, period, reason="the demo seals it")
    try:
        seal = seal_period(workspace, period, key=f"file://{private.resolve()}", out=certificate)
        request = VerifyRequest(files=(certificate,), key=public, data=True, recompute=True)
        (verification,) = verify_certificates(request, named=workspace)
    finally:
        reopen_period(workspace, period, reason="the demo goes on")
    return SealedMonth(str(certificate), str(public), seal, verification)


def quarter_around(month: str) -> tuple[str, str]:
    """The first and the last month of the quarter that a month is in."""
    year, number = month.split("-")
    first = (int(number) - 1) // 3 * 3 + 1
    return f"{year}-{first:02}", f"{year}-{first + 2:02}"


OPERATING_RESULT = "Operating result"

_STATEMENT_ORDER = (
    "Revenue",
    "Cost of sales",
    "Personnel",
    "Marketing",
    "Technology",
    "Facilities",
    "Travel",
    "Shared services",
    OPERATING_RESULT,
)


@dataclass(frozen=True, slots=True)
class HeadlineLine:
    """One account type in euro; a positive variance is good for the result."""

    account_type: str
    actual: Decimal
    budget: Decimal
    variance: Decimal
    percent: Decimal | None
    remark: str | None

    @property
    def is_result(self) -> bool:
        return self.account_type == OPERATING_RESULT


@dataclass(frozen=True, slots=True)
class DemoResult:
    """The runs of the projects, the headline numbers of `period`, and what corrected rates would move."""

    folder: Path
    runs: tuple[RunResult, ...]
    period: str
    headline: tuple[HeadlineLine, ...]
    correction: BridgeResult | None = None
    totals: TotalsOfRun | None = None


def demo_as_json(done: DemoResult, quarter: DemoQuarter) -> dict[str, Any]:
    return {
        "workspace": str(done.folder.resolve()),
        "runs": done.runs,
        "headline": [
            {
                "account_type": line.account_type,
                "actual": value_text(line.actual),
                "budget": value_text(line.budget),
                "variance": value_text(line.variance),
            }
            for line in done.headline
        ],
        "correction": done.correction,
        "build": [finished_event(node) for node in quarter.build.nodes],
        "status": quarter.status,
    }


def read_headline(workspace: Path, period: str) -> tuple[HeadlineLine, ...]:
    """The lines of one month as an income statement orders them."""
    table = read_rows(str(workspace / "warehouse" / "management_summary"), run_period=period)
    lines = (
        HeadlineLine(
            row["account_type"],
            row["actual"],
            row["budget"],
            row["variance"],
            row["variance_percent"],
            row["remark"],
        )
        for row in table.to_pylist()
    )
    return tuple(sorted(lines, key=_statement_rank))


def _statement_rank(line: HeadlineLine) -> tuple[int, str]:
    is_in_statement = line.account_type in _STATEMENT_ORDER
    return (_STATEMENT_ORDER.index(line.account_type) if is_in_statement else len(_STATEMENT_ORDER), line.account_type)
