"""What differs between databases: connections, names, types, and how rows reach a staging table."""

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from daybook.io.column_types import TypeTable
from daybook.io.target import OutputColumn, TableTarget
from daybook.io.writer import StagedOutput
from daybook.model.secrets import read_credential
from daybook.model.types import RUN_PERIOD_COLUMN, STRING, ColumnType, DecimalType

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def read_secret(reference: str | None, workspace: Path) -> str | None:
    """What a `credential_ref` points at; None when there is none."""
    return None if reference is None else read_credential(reference, workspace)


def stored_columns(target: TableTarget) -> tuple[OutputColumn, ...]:
    """The output's columns, and the slice's in tables that collect periods."""
    return target.columns if target.run_period is None else (*target.columns, OutputColumn(RUN_PERIOD_COLUMN, STRING))


@dataclass(frozen=True, slots=True)
class Ledger:
    """The table beside the targets with one row per commit; some names are key words in some databases."""

    table: str = "_daybook_ledger"
    # Counts up from commit to commit.
    entry: str = "id"
    target: str = "target"
    mode: str = "mode"
    rows: str = "rows"


class Database(ABC):
    """One transaction on a database, rolled back unless it is committed."""

    # The placeholder of a parameter in a statement.
    parameter = "?"
    ledger = Ledger()

    @abstractmethod
    def quote(self, *names: str | None) -> str:
        """A name, or several joined by dots, as statements take it."""
        ...

    @abstractmethod
    def execute(self, statement: str, parameters: Sequence[object] = ()) -> int:
        """The number of rows that a statement changed."""
        ...

    @abstractmethod
    def query(self, statement: str, parameters: Sequence[object] = ()) -> list[tuple[Any, ...]]: ...

    @abstractmethod
    def columns(self, table: str) -> dict[str, str | None] | None:
        """Columns with their declared types where they are known; None when there is no such table."""
        ...

    @abstractmethod
    def column_definition(self, column: OutputColumn) -> str:
        """A column definition in `create table`."""
        ...

    @abstractmethod
    def create_ledger(self) -> None: ...

    def add_ledger_column(self, name: str) -> None:
        """Ledgers made before workspaces and their ids were kept lack these columns."""
        self.execute(f"alter table {self.table(self.ledger.table)} add column {self.quote(name)} text")

    def ledger_condition(self, table: str) -> tuple[str, tuple[str, ...]]:
        """What picks the entries of a table, in every spelling that means it, and its parameters."""
        return f"{self.quote(self.ledger.target)} = {self.parameter}", (table,)

    def entry_number(self) -> dict[str, object]:
        """The number of the next entry of the ledger, where the database does not count by itself."""
        return {}

    @abstractmethod
    def commit(self) -> None: ...

    def begin(self, table: str) -> None:
        """Keep other Daybooks from committing to a table, which may not be there yet, where a database needs that."""
        return

    def lock(self, table: str) -> None:
        """Keep other writers of a table out and let readers go on."""
        return

    def has_table(self, table: str) -> bool:
        return self.columns(table) is not None

    def table(self, name: str) -> str:
        """A table of the target's schema as statements take it."""
        return self.quote(name)

    def add_column(self, table: str, column: OutputColumn) -> None:
        self.execute(f"alter table {self.table(table)} add column {self.column_definition(column)}")


DatabaseT = TypeVar("DatabaseT", bound=Database)


class Dialect(ABC, Generic[DatabaseT]):
    """How one kind of database is written."""

    # Whether a table can take other columns.
    has_changeable_columns = True
    # Whether the ledger's row comes first, because it is what makes a second writer wait or fail.
    records_first = False

    @property
    def storage_errors(self) -> tuple[type[Exception], ...]:
        """What the driver raises."""
        return ()

    @property
    def conflict_errors(self) -> tuple[type[Exception], ...]:
        """What the driver raises when another writer was faster."""
        return ()

    @abstractmethod
    def connect(self, target: TableTarget) -> AbstractContextManager[DatabaseT]: ...

    def exists(self, target: TableTarget) -> bool:
        """Whether there is a database to connect to."""
        return True

    def check(self, target: TableTarget) -> None:
        """Refuse targets that this kind of database cannot have."""
        return

    @abstractmethod
    def stage(self, df: "DataFrame", target: TableTarget) -> StagedOutput:
        """Write the rows to a staging table or folder of their own."""
        ...

    def create_table(self, database: DatabaseT, staged: StagedOutput, target: TableTarget) -> None:
        columns = ", ".join(database.column_definition(column) for column in stored_columns(target))
        database.execute(f"create table {database.table(target.table)} ({columns})")

    @abstractmethod
    def replace_rows(self, database: DatabaseT, target: TableTarget) -> int:
        """Empty a table and give it the output's columns; how many rows it had."""
        ...

    @abstractmethod
    def insert_staged(self, database: DatabaseT, staged: StagedOutput, target: TableTarget) -> int:
        """Copy the staged rows into the table; how many there were."""
        ...

    @abstractmethod
    def drop_staging(self, target: TableTarget, staging: str) -> None:
        """Remove what one attempt staged."""
        ...

    @abstractmethod
    def discard(self, target: TableTarget) -> None:
        """Remove what all attempts of a run and operation staged."""
        ...


_DIGITS = re.compile(r"(.*?)(\(\d+,\d+\))?")


@dataclass(frozen=True, slots=True)
class SqlType:
    """`name` is without the digits of decimals."""

    name: str

    def stored(self, type_: ColumnType) -> str:
        """The type of a column in `create table`."""
        return self.name + str(type_).removeprefix("decimal") if isinstance(type_, DecimalType) else self.name


SqlTypeT = TypeVar("SqlTypeT", bound=SqlType)


class SqlTypes(TypeTable[SqlTypeT]):
    def __init__(self, entries: Mapping[type, SqlTypeT]) -> None:
        super().__init__(entries)
        self._declared = {entry.name: str(type_()).partition("(")[0] for type_, entry in entries.items()}

    def declared(self, stored: str) -> str:
        """The declared type that is stored as this one; the stored one itself when there is none."""
        match = _DIGITS.fullmatch(stored)
        name, digits = (match[1], match[2]) if match else (stored, None)
        declared = self._declared.get(name)
        # A decimal without digits is none of ours.
        return stored if declared is None or (declared == "decimal") != bool(digits) else f"{declared}{digits or ''}"
