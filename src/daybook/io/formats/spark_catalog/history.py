"""The commits of runs in the history of a table: Delta keeps them as its user metadata, Iceberg in its snapshots."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from daybook.io.formats.spark_catalog.table import CatalogTable
from daybook.io.target import SliceCommit, SliceOwner, TableTarget

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# The key of the facts of a run in Delta's user metadata, and in the summary of an Iceberg snapshot.
INFO_KEY = "daybook"


@dataclass(frozen=True, slots=True)
class TableCommit:
    """One commit of a run; `token` is the version it made, `number` counts up from commit to commit."""

    token: str
    number: int
    key: str
    commit: SliceCommit


@dataclass(frozen=True, slots=True)
class TableHistory:
    """The commits of runs, oldest first, as far back as the table keeps them; `newest` is the version it has now."""

    commits: tuple[TableCommit, ...]
    newest: str
    # The oldest version that the history still has, by its number.
    oldest: int

    @property
    def has_writes(self) -> bool:
        """Whether anything was committed after the table had been made."""
        return self.newest not in ("", "0")

    def find(self, key: str) -> TableCommit | None:
        return next((commit for commit in reversed(self.commits) if commit.key == key), None)

    def last_replacement(self, target: TableTarget) -> int | None:
        """The number of the last commit that replaced the slice of a target, or the whole table."""
        numbers = [entry.number for entry in self.commits if _is_replaced_by(entry.commit, target)]
        return max(numbers, default=None)


def _is_replaced_by(commit: SliceCommit, target: TableTarget) -> bool:
    """Whether a commit replaced rows that a target replaces; appends do not count."""
    if commit.mode == "append":
        return False
    return target.mode != "replace_period" or commit.mode in ("replace", "error") or commit.period == target.run_period


def read_history(spark: "SparkSession", table: CatalogTable) -> TableHistory:
    rows = list(_delta_rows(spark, table) if table.provider == "delta" else _iceberg_rows(spark, table))
    commits = [
        TableCommit(token, number, info["key"], _slice_commit(info)) for token, number, info in rows if info is not None
    ]
    newest = rows[-1][0] if rows else ""
    return TableHistory(tuple(commits), newest, rows[0][1] if rows else 0)


def commits_of(spark: "SparkSession", table: CatalogTable) -> tuple[SliceCommit, ...]:
    return tuple(commit.commit for commit in read_history(spark, table).commits)


def has_appended_slice(commits: Sequence[SliceCommit], slices: frozenset[str] | None) -> bool:
    """Whether a commit appended to one of the slices after it was last replaced; None asks for all."""
    appended: set[str | None] = set()
    for commit in commits:
        if commit.mode == "append":
            appended.add(commit.period)
        elif commit.mode in ("replace", "error"):
            appended.clear()
        else:
            appended.discard(commit.period)
    return bool(appended if slices is None else appended & slices)


def _delta_rows(spark: "SparkSession", table: CatalogTable) -> Iterator[tuple[str, int, Mapping[str, Any] | None]]:
    """Versions, oldest first, with the facts of the run that made them."""
    history = spark.sql(f"DESCRIBE HISTORY {table.name.sql}").select("version", "userMetadata").collect()
    for row in sorted(history, key=lambda row: int(row["version"])):
        yield str(row["version"]), int(row["version"]), _info(row["userMetadata"])


def _iceberg_rows(spark: "SparkSession", table: CatalogTable) -> Iterator[tuple[str, int, Mapping[str, Any] | None]]:
    """Snapshots of the main branch, oldest first."""
    rows = spark.sql(
        "SELECT CAST(h.snapshot_id AS STRING) AS token, s.summary AS summary "
        f"FROM {table.name.metadata('history')} AS h JOIN {table.name.metadata('snapshots')} AS s "
        "ON h.snapshot_id = s.snapshot_id WHERE h.is_current_ancestor ORDER BY h.made_current_at"
    ).collect()
    for number, row in enumerate(rows):
        yield str(row["token"]), number, _info((row["summary"] or {}).get(INFO_KEY))


def _info(text: str | None) -> Mapping[str, Any] | None:
    """The facts of a run; other programs may write anything into the same field."""
    if text is None:
        return None
    try:
        content = json.loads(text)
    except ValueError:
        return None
    info = content.get(INFO_KEY) if isinstance(content, dict) else None
    return info if isinstance(info, dict) and isinstance(info.get("key"), str) else None


def _slice_commit(info: Mapping[str, Any]) -> SliceCommit:
    owner = SliceOwner(
        str(info.get("project_id", "")),
        str(info.get("operation_id", "")),
        str(info.get("workspace", "")),
        str(info.get("workspace_id", "")),
    )
    rows = info.get("rows")
    return SliceCommit(
        str(info.get("run_id", "")), str(info.get("mode", "")), info.get("run_period"), owner, rows and int(rows)
    )


def commit_info(target: TableTarget, rows: int, mode: str) -> str:
    """The facts of the run that a commit records."""
    info = {
        "key": target.staging_key,
        "run_id": target.run_id,
        "operation_seq": target.operation_seq,
        "mode": mode,
        "run_period": target.run_period,
        "rows": rows,
        "project_id": target.owner.project_id,
        "operation_id": target.owner.operation_id,
        "workspace": target.owner.workspace,
        "workspace_id": target.owner.workspace_id,
    }
    return json.dumps({INFO_KEY: info})
