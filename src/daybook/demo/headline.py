"""The headline numbers of a closed month, read from the table the close wrote."""

from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

RESULT = "Operating result"

_ORDER = (
    "Revenue",
    "Cost of sales",
    "Personnel",
    "Marketing",
    "Technology",
    "Facilities",
    "Travel",
    "Shared services",
    RESULT,
)


@dataclass(frozen=True, slots=True)
class Line:
    """One account type in euro; a positive variance is good for the result."""

    account_type: str
    actual: Decimal
    budget: Decimal
    variance: Decimal
    percent: Decimal | None
    remark: str | None

    @property
    def is_result(self) -> bool:
        return self.account_type == RESULT


def headline(workspace: Path, period: str) -> tuple[Line, ...]:
    """The lines of one month as an income statement orders them."""
    from deltalake import DeltaTable

    table = DeltaTable(workspace / "warehouse" / "management_summary").to_pyarrow_table(
        filters=[("_run_period", "=", period)]
    )
    lines = (
        Line(
            row["account_type"],
            row["actual"],
            row["budget"],
            row["variance"],
            row["variance_percent"],
            row["remark"],
        )
        for row in table.to_pylist()
    )
    return tuple(sorted(lines, key=_place))


def _place(line: Line) -> tuple[int, str]:
    known = line.account_type in _ORDER
    return (_ORDER.index(line.account_type) if known else len(_ORDER), line.account_type)
