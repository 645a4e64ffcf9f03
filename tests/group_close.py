"""The workspace of `examples/group-close`, copied for a test, and its tables by hand."""

import shutil
from collections import Counter
from decimal import Decimal
from pathlib import Path

import openpyxl

from tests.group_close_by_hand import Cells, close_by_hand, tables_by_hand

EXAMPLE = Path(__file__).parents[1] / "examples" / "group-close"
PROJECTS = ("clean-de01", "clean-uk01", "clean-us01", "group-ledger", "balances", "consolidation", "board-pack")
COLUMNS = {
    **dict.fromkeys(
        ("ledger_de01", "ledger_uk01", "ledger_us01"),
        ("entity", "currency", "journal_id", "line_number", "posting_date", "account", "account_type", "statement",
         "cost_centre", "partner", "invoice_eur", "amount", "description", "is_late"),
    ),
    "group_ledger": ("entity", "currency", "journal_id", "line_number", "account", "account_type", "statement",
                     "cost_centre", "partner", "invoice_eur", "amount", "amount_eur"),
    "balances": ("entity", "currency", "account", "account_name", "statement", "opening", "movement", "closing",
                 "opening_eur", "movement_eur", "closing_eur"),
    "group_result": ("account_type", "account", "cost_centre", "result_eur"),
    "board_pack": ("account_type", "month_actual", "month_budget", "month_variance", "year_actual", "year_budget",
                   "year_variance", "year_percent", "remark"),
}  # fmt: skip


def copy_example(folder: Path) -> Path:
    """Its files, without what somebody ran in it."""
    left_out = shutil.ignore_patterns(".daybook", "warehouse", "out", "sandbox", "keys")
    return Path(shutil.copytree(EXAMPLE, folder, ignore=left_out))


def expected_tables(root: Path) -> dict[str, Counter[Cells]]:
    """Every row of every table, its month first."""
    data = root / "data"
    return tables_by_hand(data, close_by_hand(data, budgets(data)))


def budgets(data: Path) -> dict[tuple[str, str], Decimal]:
    """What the table in each workbook says; what is beside it is no budget."""
    planned: dict[tuple[str, str], Decimal] = {}
    for path in sorted(data.glob("budget-*.xlsx")):
        sheet = openpyxl.load_workbook(path)["Budget"]
        _, *rows = sheet[sheet.tables["Budget"].ref]
        planned |= {(str(month.value), str(kind.value)): Decimal(str(amount.value)) for month, kind, amount in rows}
    return planned
