"""Writes to databases: rows are staged, then one transaction moves them and adds a row to the ledger of commits."""

from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from daybook.errors import DaybookError
from daybook.io.formats.databases.dialect import Database, Dialect
from daybook.io.target import (
    DROP_MODE,
    OutputColumn,
    SliceCommit,
    SliceOwner,
    TableTarget,
    WrittenSlice,
    affected_slices,
    slices_after,
)
from daybook.io.writer import CheckedTarget, Commit, Fence, StagedOutput, check_schema_change, fit_columns, no_fence
from daybook.model.secrets import mask_secrets
from daybook.model.types import RUN_PERIOD_COLUMN
from daybook.resolve.location import Location

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

# Columns that ledgers of earlier Daybooks lack.
_WORKSPACE, _WORKSPACE_ID = "workspace", "workspace_id"


class DatabaseWriter:
    def __init__(self, dialect: Dialect[Any]) -> None:
        self._dialect = dialect

    def check(self, target: TableTarget) -> CheckedTarget:
        self._dialect.check(target)
        with self._reading(target) as database:
            if database is None:
                return CheckedTarget(seen="0")
            fitted: tuple[OutputColumn, ...] = ()
            if _find_commit(database, target) is None:
                fitted = fit_columns(target, self._kept_types(database, target))
                self._check_table(database, replace(target, columns=fitted or target.columns))
            slices = affected_slices(_slices(database, target), target)
            return CheckedTarget(slices, _slice_version(database, target), fitted)

    def stage(self, df: "DataFrame", target: TableTarget, checked: CheckedTarget | None = None) -> StagedOutput:
        seen = self._seen(target) if checked is None else checked.seen
        return replace(self._dialect.stage(df, target), seen=seen)

    def _seen(self, target: TableTarget) -> str:
        with self._reading(target) as database:
            return "0" if database is None else _slice_version(database, target)

    def commit(self, staged: StagedOutput, target: TableTarget, fence: Fence = no_fence) -> Commit:
        dialect = self._dialect
        try:
            self._create_ledger(target)
            with dialect.connect(target) as database:
                database.begin(target.table)
                if (done := _find_commit(database, target)) is not None:
                    return done
                slices = affected_slices(_slices(database, target), target)
                self._move_rows(database, staged, target)
                fence(slices)
                database.commit()
        except dialect.conflict_errors:
            if (done := self.committed(target)) is not None:
                return done
            raise DaybookError("IO_024", location=target.label, slice=target.slice_note) from None
        except dialect.storage_errors as failure:
            raise DaybookError("IO_026", location=target.label, reason=mask_secrets(str(failure).strip())) from failure
        # What cannot be removed now is found by `daybook doctor`; the rows are committed.
        with suppress(DaybookError, *dialect.storage_errors):
            dialect.drop_staging(target, staged.staging)
        return Commit(staged.rows)

    def committed(self, target: TableTarget) -> Commit | None:
        with self._reading(target) as database:
            return None if database is None else _find_commit(database, target)

    def require_current(self, target: TableTarget) -> None:
        """RUN_084 unless the rows of the table, or of the slice, are exactly those of the run's commit."""
        with self._reading(target) as database:
            reason = _replacement(database, target) if database is not None else "the database no longer exists"
        if reason is not None:
            raise DaybookError("RUN_084", run_id=target.run_id, location=target.label, reason=reason)

    def slices(self, target: TableTarget) -> tuple[WrittenSlice, ...]:
        with self._reading(target) as database:
            return () if database is None else affected_slices(_slices(database, target), target)

    def has_appended_slice(self, location: Location, slices: frozenset[str] | None, workspace: Path) -> bool:
        """Whether a commit appended to one of the slices after it was last replaced; None asks for all."""
        target = TableTarget(
            location=location,
            mode="append",
            columns=(),
            run_id="",
            operation_seq=0,
            owner=SliceOwner("", ""),
            workspace=workspace,
        )
        appended: set[str | None] = set()
        with self._reading(target) as database:
            if database is None or not database.has_table(database.ledger.table):
                return False
            ledger, (condition, names) = database.ledger, database.ledger_condition(target.table)
            entries = database.query(
                f"select {database.quote(ledger.mode)}, {database.quote('run_period')} "
                f"from {database.table(ledger.table)} where {condition} order by {database.quote(ledger.entry)}",
                names,
            )
        for mode, period in entries:
            if mode == "append":
                appended.add(period)
            elif mode in ("replace", "error"):
                appended.clear()
            else:
                appended.discard(period)
        return bool(appended if slices is None else appended & slices)

    def drop_slice(self, target: TableTarget, fence: Fence = no_fence) -> Commit:
        dialect = self._dialect
        if not dialect.exists(target):
            raise DaybookError("IO_001", location=target.label)
        try:
            self._create_ledger(target)
            with dialect.connect(target) as database:
                database.begin(target.table)
                if (done := _find_commit(database, target)) is not None:
                    return done
                if not database.has_table(target.table):
                    raise DaybookError("IO_001", location=target.label)
                database.lock(target.table)
                slices = affected_slices(_slices(database, target), target)
                rows = _count_slice_rows(database, target)
                _record_commit(database, StagedOutput("", rows), target, mode=DROP_MODE)
                self._remove_replaced(database, target)
                fence(slices)
                database.commit()
        except dialect.conflict_errors:
            raise DaybookError("IO_024", location=target.label, slice=target.slice_note) from None
        except dialect.storage_errors as failure:
            raise DaybookError("IO_026", location=target.label, reason=mask_secrets(str(failure).strip())) from failure
        return Commit(rows)

    def discard(self, target: TableTarget) -> None:
        self._dialect.discard(target)

    def _reading(self, target: TableTarget) -> AbstractContextManager[Database | None]:
        """A connection, or None where there is no database yet."""
        return self._dialect.connect(target) if self._dialect.exists(target) else nullcontext()

    def _create_ledger(self, target: TableTarget) -> None:
        """In a transaction of its own; safe when two processes create it at the same time."""
        with self._dialect.connect(target) as database:
            if database.has_table(database.ledger.table):
                columns = database.columns(database.ledger.table) or ()
                if lacking := [name for name in (_WORKSPACE, _WORKSPACE_ID) if name not in columns]:
                    for name in lacking:
                        database.add_ledger_column(name)
                    database.commit()
                return
            expected: tuple[type[Exception], ...] = (DaybookError, *self._dialect.storage_errors)
            try:
                database.create_ledger()
                database.commit()
                return
            except expected as failure:
                refused = failure
        with self._dialect.connect(target) as database:
            if not database.has_table(database.ledger.table):
                raise refused

    def _kept_types(self, database: Database, target: TableTarget) -> dict[str, str | None]:
        """The columns of a table with the types that a commit keeps; none for one that replaces them."""
        if target.mode == "replace" and self._dialect.has_changeable_columns:
            return {}
        return database.columns(target.table) or {}

    def _check_table(self, database: Database, target: TableTarget) -> tuple[OutputColumn, ...]:
        """The columns to add to an existing table; what may not be written is refused."""
        existing = database.columns(target.table)
        if existing is None:
            return ()
        if target.mode == "error":
            raise DaybookError("IO_020", location=target.label)
        is_changeable = self._dialect.has_changeable_columns
        if target.mode == "replace" and is_changeable:
            return ()
        if target.run_period is not None and RUN_PERIOD_COLUMN not in existing:
            raise DaybookError("IO_021", location=target.label, difference=f"without {RUN_PERIOD_COLUMN}")
        own = {name: type_ for name, type_ in existing.items() if not (target.run_period and name == RUN_PERIOD_COLUMN)}
        added = check_schema_change(target, own, is_changeable=is_changeable).added
        if added and not is_changeable:
            reason = f"columns cannot be added by {target.format}"
            raise DaybookError("IO_032", location=target.label, mode=target.mode, reason=reason)
        return added

    def _move_rows(self, database: Database, staged: StagedOutput, target: TableTarget) -> None:
        """Everything of a commit but its COMMIT."""
        dialect = self._dialect
        is_new = not database.has_table(target.table)
        if not is_new:
            database.lock(target.table)
        added = self._check_table(database, target)
        if target.mode != "append" and _slice_version(database, target) != staged.seen:
            raise DaybookError("IO_024", location=target.label, slice=target.slice_note)
        if is_new:
            dialect.create_table(database, staged, target)
        if dialect.records_first:
            _record_commit(database, staged, target)
        removed = self._remove_replaced(database, target)
        if removed and not staged.rows and not target.allow_empty:
            raise DaybookError("IO_023", location=target.label, rows=removed, slice=target.slice_note)
        for column in added:
            database.add_column(target.table, column)
        moved = dialect.insert_staged(database, staged, target)
        if moved != staged.rows:
            raise DaybookError("IO_026", location=target.label, reason=f"{moved} rows were staged, not {staged.rows}")
        if not dialect.records_first:
            _record_commit(database, staged, target)

    def _remove_replaced(self, database: Database, target: TableTarget) -> int:
        match target.mode:
            case "replace":
                return self._dialect.replace_rows(database, target)
            case "replace_period":
                table, column = database.table(target.table), database.quote(RUN_PERIOD_COLUMN)
                statement = f"delete from {table} where {column} = {database.parameter}"
                return database.execute(statement, (target.run_period,))
            case "append" | "error":
                return 0


def _find_commit(database: Database, target: TableTarget) -> Commit | None:
    ledger, quote, mark = database.ledger, database.quote, database.parameter
    if not database.has_table(ledger.table):
        return None
    commits = database.query(
        f"select {quote(ledger.rows)} from {database.table(ledger.table)} "
        f"where {quote('run_id')} = {mark} and {quote('operation_seq')} = {mark}",
        (target.run_id, target.operation_seq),
    )
    return Commit(int(commits[0][0]), is_repeat=True) if commits else None


def _replacement(database: Database, target: TableTarget) -> str | None:
    """Why rows of other commits lie where the run's were written; None where there are none."""
    ledger, quote = database.ledger, database.quote
    if not database.has_table(ledger.table):
        return "nothing was committed"
    condition, names = database.ledger_condition(target.table)
    commits = database.query(
        f"select {', '.join(map(quote, (ledger.entry, 'run_id', 'operation_seq', ledger.mode, 'run_period')))} "
        f"from {database.table(ledger.table)} where {condition} order by {quote(ledger.entry)}",
        names,
    )
    own = next((row for row in commits if (row[1], int(row[2])) == (target.run_id, target.operation_seq)), None)
    if own is None:
        return "nothing was committed"
    shared = [row for row in commits if row[3] == "replace" or row[4] == own[4] or None in (row[4], own[4])]
    if any(int(row[0]) > int(own[0]) for row in shared):
        return "another run has written to it since then"
    if own[3] == "append" and len(shared) > 1:
        return "several runs append to it, and the database does not record which run wrote a row"
    return None


def _slice_version(database: Database, target: TableTarget) -> str:
    """The last commit to what a commit replaces, the slice or the whole table; appends do not count."""
    ledger, quote, mark = database.ledger, database.quote, database.parameter
    if not database.has_table(ledger.table):
        return "0"
    condition, names = database.ledger_condition(target.table)
    query = (
        f"select max({quote(ledger.entry)}) from {database.table(ledger.table)} "
        f"where {condition} and {quote(ledger.mode)} <> 'append'"
    )
    parameters = [*names]
    if target.mode == "replace_period" and target.run_period is not None:
        query += f" and ({quote('run_period')} = {mark} or {quote(ledger.mode)} = 'replace')"
        parameters.append(target.run_period)
    ((last,),) = database.query(query, parameters)
    return str(int(last or 0))


def _slices(database: Database, target: TableTarget) -> dict[str, WrittenSlice]:
    """The slices of a table by the ledger's entries."""
    ledger, quote = database.ledger, database.quote
    columns = database.columns(ledger.table)
    if columns is None:
        return {}
    named = ["run_id", ledger.mode, "run_period", ledger.rows, "project_id", "operation_id"]
    named += [name for name in (_WORKSPACE, _WORKSPACE_ID) if name in columns]
    condition, parameters = database.ledger_condition(target.table)
    entries = database.query(
        f"select {', '.join(map(quote, named))} from {database.table(ledger.table)} "
        f"where {condition} order by {quote(ledger.entry)}",
        parameters,
    )
    return slices_after(
        SliceCommit(run_id, mode, period, SliceOwner(project, operation, *(name or "" for name in names)), int(rows))
        for run_id, mode, period, rows, project, operation, *names in entries
    )


def _count_slice_rows(database: Database, target: TableTarget) -> int:
    column = database.quote(RUN_PERIOD_COLUMN)
    query = f"select count(*) from {database.table(target.table)} where {column} = {database.parameter}"
    ((rows,),) = database.query(query, (target.run_period,))
    return int(rows)


def _record_commit(database: Database, staged: StagedOutput, target: TableTarget, mode: str | None = None) -> None:
    """A run and an operation have one row at most."""
    ledger = database.ledger
    values: dict[str, object] = {
        "run_id": target.run_id,
        "operation_seq": target.operation_seq,
        ledger.target: target.table,
        ledger.mode: mode or target.mode,
        "run_period": target.run_period,
        ledger.rows: staged.rows,
        "project_id": target.owner.project_id,
        "operation_id": target.owner.operation_id,
        _WORKSPACE: target.owner.workspace,
        _WORKSPACE_ID: target.owner.workspace_id,
        **database.entry_number(),
    }
    names = ", ".join(map(database.quote, values))
    # A typed NULL cannot be bound by every driver, so a missing period is written as one.
    marks = ", ".join("NULL" if value is None else database.parameter for value in values.values())
    bound_values = [value for value in values.values() if value is not None]
    database.execute(f"insert into {database.table(ledger.table)} ({names}) values ({marks})", bound_values)
