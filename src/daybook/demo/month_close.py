"""Closing a month of the demonstration: both projects, the second on what the first registered.

The headline numbers of a closed month, read from the table the close wrote.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

from daybook.model.loading import LoadedWorkspace
from daybook.runs.environment import RunEnvironment
from daybook.runs.result import RunResult
from daybook.runs.run import run
from daybook.runs.start import RunRequest, apply_project_files
from daybook.store.lifecycle import activate
from daybook.store.references import find_project

CLOSE_PROJECTS = ("close", "management-summary")


def close_month(workspace: LoadedWorkspace, around: RunEnvironment, period: str) -> Iterator[RunResult]:
    """Activate and run one project after the other."""
    for project in CLOSE_PROJECTS:
        definition = find_project(workspace, project)
        now = around.clock()
        apply_project_files(workspace, definition, around.store, around.validate, now)
        activate(around.store, project, validate=around.validate, now=now, source=definition.source)
        yield from run(workspace, around, RunRequest(project, period))


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


def read_headline(workspace: Path, period: str) -> tuple[HeadlineLine, ...]:
    """The lines of one month as an income statement orders them."""
    from deltalake import DeltaTable

    table = DeltaTable(workspace / "warehouse" / "management_summary").to_pyarrow_table(
        filters=[("_run_period", "=", period)]
    )
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
    known = line.account_type in _STATEMENT_ORDER
    return (_STATEMENT_ORDER.index(line.account_type) if known else len(_STATEMENT_ORDER), line.account_type)
