"""The ledger: journal lines in twelve Parquet folders, rates, budgets; the same on every machine."""

from pathlib import Path

import duckdb

MONTHS = tuple(f"2026-{month:02d}" for month in range(1, 13))
PARTS = 2

# A few accounts and cost centres carry most of the lines, as in a real ledger.
_LINES = """
copy (
  select
    concat('L-', n) as line_id,
    concat('J-', n // 4) as journal_id,
    cast(4000 + cast(floor(3000 * pow(hash(n) % 1000003 / 1000003.0, 3)) as integer) as varchar) as account,
    case when hash(n + 1) % 97 = 0 then null
         else concat('CC-', cast(floor(400 * pow(hash(n + 2) % 1000003 / 1000003.0, 2)) as integer)) end as cost_centre,
    ['EUR', 'USD', 'GBP', 'CHF', 'JPY'][cast(hash(n + 3) % 5 as integer) + 1] as currency,
    cast((cast(hash(n + 4) % 2000003 as bigint) - 700000) / 100.0 as decimal(18, 2)) as amount,
    cast(hash(n + 5) % 40 as bigint) as quantity,
    case when hash(n + 6) % 50 = 0 then 'reversed' when hash(n + 7) % 10 = 0 then 'parked' else 'posted' end as status,
    date '{first_day}' + cast(hash(n + 8) % 28 as integer) as posted,
    '{month}' as _period
  from range({start}, {end}) lines(n)
) to '{file}' (format parquet, row_group_size 250000)
"""

_RATES = "currency,rate\nEUR,1.000000\nUSD,0.921500\nGBP,1.171300\nCHF,1.043900\nJPY,0.006150\n"

_BUDGETS = """
copy (
  select cast(4000 + n // 5 as varchar) as account,
         concat('CC-', n % 40) as cost_centre,
         cast((n * 7919 % 100000) / 10.0 as decimal(18, 2)) as amount,
         case when n % 3 = 0 then 'draft' else 'approved' end as budget_type
  from range(15000) budgets(n)
) to '{file}' (format parquet)
"""


def make_ledger(folder: Path, lines: int) -> None:
    """Written once per size; a folder that is complete is taken as it is."""
    done = folder / "complete"
    if done.exists():
        return
    duckdb.sql("set enable_progress_bar = false")
    per_part = lines // (len(MONTHS) * PARTS)
    for index, month in enumerate(MONTHS):
        (folder / "journal" / month).mkdir(parents=True, exist_ok=True)
        for part in range(PARTS):
            start = (index * PARTS + part) * per_part
            file = folder / "journal" / month / f"part-{part}.parquet"
            statement = _LINES.format(
                first_day=f"{month}-01", month=month, start=start, end=start + per_part, file=file
            )
            duckdb.sql(statement)
    (folder / "rates").mkdir(exist_ok=True)
    (folder / "budgets").mkdir(exist_ok=True)
    (folder / "rates.csv").write_text(_RATES)
    rates = f"copy (select currency, cast(rate as decimal(12,6)) as rate from '{folder}/rates.csv')"
    duckdb.sql(f"{rates} to '{folder}/rates/rates.parquet' (format parquet)")
    duckdb.sql(_BUDGETS.format(file=folder / "budgets" / "budgets.parquet"))
    done.touch()
