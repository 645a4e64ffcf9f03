"""A year of balances with a late journal in the second month, against a calculation in plain Python."""

from decimal import Decimal

import pytest

from tests.spark.graph.test_build import built, closing, movements, ran, roll_forward
from tests.workspaces import Folder, to_path

MONTHS = [f"2026-{month:02}" for month in range(1, 13)]
YEAR = f"{MONTHS[0]}..{MONTHS[-1]}"


def journals() -> dict[str, dict[str, str]]:
    """Cash grows by a little more every month, the bank loses the same, and a loan comes and goes."""
    found = {month: {"cash": f"{number}.{number:02}", "bank": f"-{number}.10"} for number, month in enumerate(MONTHS)}
    found["2026-03"]["loan"] = "1000.00"
    found["2026-09"]["loan"] = "-999.99"
    return found


def balances(moved: dict[str, dict[str, str]]) -> dict[tuple[str, str], Decimal]:
    sums: dict[str, Decimal] = {}
    found: dict[tuple[str, str], Decimal] = {}
    for month in MONTHS:
        for account, amount in moved[month].items():
            sums[account] = sums.get(account, Decimal(0)) + Decimal(amount)
        found |= {(month, account): amount for account, amount in sums.items()}
    return found


@pytest.mark.slow
def test_a_late_journal_changes_the_months_after_it_and_nothing_else(folder: Folder) -> None:
    moved = journals()
    for month in MONTHS:
        movements(folder, month, **moved[month])
    roll_forward(folder)
    # Reads the month alone, so that other months do not concern it.
    folder.project(to_path("out/{{identifier}}.csv", columns=["account"]), id_="list", input_="movements")
    folder.apply()
    for project in ("roll", "list"):
        folder.activate(project)
    assert built(folder, YEAR).is_ok
    assert closing(folder) == balances(moved)
    moved["2026-02"] |= {"bank": "12.34", "suspense": "-0.01"}
    movements(folder, "2026-02", **moved["2026-02"])
    after = built(folder, YEAR)
    assert ran(after) == {"list@2026-02", *(f"roll@{month}" for month in MONTHS[1:])}
    assert closing(folder) == balances(moved)
