"""The secret of a data source, where it has one.

What the writers of databases share: the entry of a commit in a ledger beside the tables, and what they refuse.
"""

from collections.abc import Mapping
from pathlib import Path

from daybook.errors import DaybookError
from daybook.io.target import OutputColumn, TableTarget
from daybook.io.writer import StagedOutput, check_schema_change
from daybook.model.secrets import read_credential
from daybook.model.types import RUN_PERIOD_COLUMN, STRING


def read_secret(reference: str | None, workspace: Path) -> str | None:
    """What a `credential_ref` points at; None when there is none."""
    return None if reference is None else read_credential(reference, workspace)


LEDGER_TABLE = "_daybook_ledger"
# In the order of `entry_of`.
LEDGER_COLUMNS = ("run_id", "operation_seq", "target", "mode", "run_period", "rows", "project_id", "operation_id")


def ledger_entry(target: TableTarget, rows: int) -> tuple[str | int | None, ...]:
    """One commit; a run and an operation have one at most."""
    return (
        target.run_id,
        target.operation_seq,
        target.table,
        target.mode,
        target.run_period,
        rows,
        target.owner.project_id,
        target.owner.operation_id,
    )


def replaced_period(target: TableTarget) -> str | None:
    """The slice a commit replaces; None for the whole table. Other commits to it than appends are noticed."""
    return target.run_period if target.mode == "replace_period" else None


def stored_columns(target: TableTarget) -> tuple[OutputColumn, ...]:
    """The output's columns, and the slice's in tables that collect periods."""
    return target.columns if target.run_period is None else (*target.columns, OutputColumn(RUN_PERIOD_COLUMN, STRING))


def check_existing_table(
    target: TableTarget, existing: Mapping[str, str | None] | None, *, is_changeable: bool = True
) -> tuple[OutputColumn, ...]:
    """The columns to add to a table with these declared types, None without a table; the rest is refused."""
    if existing is None:
        return ()
    if target.mode == "error":
        raise DaybookError("IO_020", location=target.label)
    if target.mode == "replace" and is_changeable:
        return ()
    if target.run_period is not None and RUN_PERIOD_COLUMN not in existing:
        raise DaybookError("IO_021", location=target.label, difference=f"without {RUN_PERIOD_COLUMN}")
    own = {name: type_ for name, type_ in existing.items() if not (target.run_period and name == RUN_PERIOD_COLUMN)}
    return check_schema_change(target, own, is_changeable=is_changeable).added


def refuse_other_writer(target: TableTarget, staged: StagedOutput, version: str) -> None:
    """`version` is the last commit to what will be replaced, as it is now."""
    if target.mode != "append" and version != staged.seen:
        raise DaybookError("IO_024", location=target.label, slice=target.slice_note)


def refuse_emptying(target: TableTarget, staged: StagedOutput, removed: int) -> None:
    if removed and not staged.rows and not target.allow_empty:
        raise DaybookError("IO_023", location=target.label, rows=removed, slice=target.slice_note)


def refuse_lost_rows(target: TableTarget, staged: StagedOutput, moved: int) -> None:
    if moved != staged.rows:
        raise DaybookError("IO_026", location=target.label, reason=f"{moved} rows were staged, not {staged.rows}")
