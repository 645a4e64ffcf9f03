"""The close in DuckDB: the limit of what one machine can do."""

from pathlib import Path

import duckdb

LINES = """
with converted as (
  select j.*, round(cast(j.amount as decimal(24, 2)) * r.rate, 2) as converted,
         case when account < '5000' then 'revenue' when account < '6000' then 'cost' else 'other' end as account_type
  from read_parquet('{ledger}/journal/*/*.parquet') j
  left join read_parquet('{ledger}/rates/*.parquet') r using (currency)
  where _period like '2026-%' and status <> 'reversed'
)
select line_id, account, coalesce(cost_centre, 'CC-none') as cost_centre, currency, posted, euro, account_type,
       case when quantity > 0 then sign(euro) * ((abs(cast(euro * 100 as bigint)) * 200 + quantity) // (2 * quantity))
            * cast(0.0001 as decimal(5, 4)) end as unit_price, abs(euro) > 10000 as is_large
from (select *, case when account_type = 'cost' then -converted else converted end as euro from converted)
"""

SUMMARY = """
select account, cost_centre, null as account_type, null as currency,
       sum(euro) as actual, count(*) as line_count, 0 as budget, 8 as _operation_seq
from lines group by all
union all by name
select account, cost_centre, sum(amount) as budget, 9 as _operation_seq
from read_parquet('{ledger}/budgets/*.parquet') where budget_type = 'approved' group by all
union all by name
select account_type, currency, sum(euro) as actual, count(*) as line_count, 10 as _operation_seq
from lines group by all
"""


def close(ledger: Path, out: Path, threads: int) -> None:
    with duckdb.connect() as connection:
        connection.execute(f"set threads = {threads}")
        connection.execute("create temp table lines as " + LINES.format(ledger=ledger))
        connection.execute(f"copy lines to '{out}/lines' (format parquet, per_thread_output true)")
        connection.execute(f"copy ({SUMMARY.format(ledger=ledger)}) to '{out}/summary.parquet' (format parquet)")
