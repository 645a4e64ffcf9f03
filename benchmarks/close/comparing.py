"""Whether two contenders gave the same rows."""

from pathlib import Path

import duckdb
from deltalake import DeltaTable

_LINES = """line_id, account, cost_centre, currency, posted, cast(euro as decimal(38,2)) as euro, account_type,
  cast(unit_price as decimal(38,4)) as unit_price, is_large"""
_SUMMARY = """account, cost_centre, account_type, currency, cast(actual as decimal(38,2)) as actual,
  cast(line_count as bigint) as line_count, cast(budget as decimal(38,2)) as budget,
  cast(_operation_seq as integer) as seq"""


def files_of(out: Path, name: str) -> list[str]:
    """The Parquet files of a result: a Delta table's, a folder's, or one file."""
    if (out / name / "_delta_log").exists():
        return DeltaTable(str(out / name)).file_uris()
    if (out / name).is_dir():
        return [str(file) for file in sorted((out / name).rglob("*.parquet"))]
    return [str(out / f"{name}.parquet")]


def differences(one: Path, other: Path) -> list[str]:
    """Rows that only one of the two has, per result; empty when they agree."""
    found = []
    for name, columns in (("lines", _LINES), ("summary", _SUMMARY)):
        left, right = (f"select {columns} from read_parquet({files_of(out, name)})" for out in (one, other))
        with duckdb.connect() as connection:
            for first, second, side in ((left, right, one), (right, left, other)):
                query = f"select count(*), any_value(extra) from (({first}) except all ({second})) extra"
                count, sample = connection.execute(query).fetchone() or (0, None)
                if count:
                    found.append(f"{name}: {count} rows only in {side.name}, such as {sample}")
    return found
