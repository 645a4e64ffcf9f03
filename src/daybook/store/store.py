"""The store: opened, made, migrated or refused; transactions over its repositories.

Alembic takes a while to import, so a store that is up to date never touches it.
"""

import datetime
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from sqlite3 import OperationalError as SqliteOperationalError

from sqlalchemy import Connection, Engine, inspect, text

from daybook.errors import DaybookError
from daybook.store.address import EmbeddedStore, SharedStore, StoreAddress, parse_address
from daybook.store.catalog import StoreCatalog
from daybook.store.database.actions import Actions
from daybook.store.database.connection import connect_store, read_transaction, write_transaction
from daybook.store.database.definitions import Definitions
from daybook.store.database.nodes import CloseQueries
from daybook.store.database.outcomes import Outcomes
from daybook.store.database.periods import PeriodStatuses, Slices
from daybook.store.database.projects import Projects
from daybook.store.database.retention import RetentionQueries
from daybook.store.database.runs import Runs

LATEST_SCHEMA = "0005"
KNOWN_SCHEMAS = ("0001", "0002", "0003", "0004", "0005")
MIGRATIONS = Path(__file__).parent / "migrations"


def read_schema_version(connection: Connection) -> str | None:
    """The schema a store has; None for an empty one."""
    if not inspect(connection).has_table("alembic_version"):
        return None
    version: str | None = connection.execute(text("SELECT version_num FROM alembic_version")).scalar_one_or_none()
    return version


def refuse_unknown_schema(found: str | None, place: str) -> None:
    if found is not None and found not in KNOWN_SCHEMAS:
        raise DaybookError("STORE_005", place=place, found=found)


def upgrade_schema(connection: Connection) -> None:
    """Migrate inside the caller's transaction."""
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    config.attributes["connection"] = connection
    command.upgrade(config, LATEST_SCHEMA)


class Transaction:
    """Everything read or written through one transaction belongs together."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self.definitions = Definitions(connection)
        self.projects = Projects(connection)
        self.runs = Runs(connection)
        self.outcomes = Outcomes(connection)
        self.slices = Slices(connection)
        self.periods = PeriodStatuses(connection)
        self.retention = RetentionQueries(connection)
        self.close = CloseQueries(connection)
        self.actions = Actions(connection)

    def catalog(self, *, with_sandbox: bool = False) -> StoreCatalog:
        return StoreCatalog(self.definitions, with_sandbox=with_sandbox)

    @contextmanager
    def savepoint(self) -> Iterator[None]:
        """What fails inside takes nothing else of the transaction with it."""
        with self._connection.begin_nested():
            yield

    def now(self) -> datetime.datetime:
        """The database's clock: leases of one shared store are best measured by one clock."""
        if self._connection.dialect.name == "postgresql":
            time: datetime.datetime = self._connection.execute(text("SELECT clock_timestamp()")).scalar_one()
            return time.astimezone(datetime.UTC)
        reading = self._connection.execute(text("SELECT strftime('%Y-%m-%dT%H:%M:%f+00:00', 'now')")).scalar_one()
        return datetime.datetime.fromisoformat(reading)


class MetadataStore:
    """Open it with `daybook.store.open_store`; close it when done."""

    def __init__(self, engine: Engine, address: StoreAddress) -> None:
        self._engine = engine
        self.address = address

    @property
    def is_shared(self) -> bool:
        """On a shared store nothing is applied implicitly."""
        return not isinstance(self.address, EmbeddedStore)

    @contextmanager
    def read(self) -> Iterator[Transaction]:
        with read_transaction(self._engine, self.address) as connection:
            yield Transaction(connection)

    @contextmanager
    def write(self) -> Iterator[Transaction]:
        with write_transaction(self._engine, self.address) as connection:
            yield Transaction(connection)

    def close(self) -> None:
        self._engine.dispose()

    def __enter__(self) -> "MetadataStore":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


# Any constant will do; it keeps two processes from migrating one database at the same time.
_MIGRATION_LOCK = 4_021_994_217


def open_store(url: str, *, root: Path, migrate: bool = False) -> MetadataStore:
    """See `daybook.store.open_store`."""
    address = parse_address(url, root)
    if isinstance(address, EmbeddedStore):
        try:
            address.path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise DaybookError("STORE_003", place=str(address), reason=error.strerror or str(error)) from error
    engine = connect_store(address, root)
    try:
        _migrate_if_needed(engine, address, migrate)
        if isinstance(address, EmbeddedStore):
            _enable_write_ahead_log(engine)
    except BaseException:
        engine.dispose()
        raise
    return MetadataStore(engine, address)


def _migrate_if_needed(engine: Engine, address: StoreAddress, migrate: bool) -> None:
    with read_transaction(engine, address) as connection:
        found = read_schema_version(connection)
    refuse_unknown_schema(found, str(address))
    if found == LATEST_SCHEMA:
        return
    match address:
        case EmbeddedStore():
            with write_transaction(engine, address) as connection:
                _upgrade_under_lock(connection, address)
        case SharedStore():
            if not migrate:
                raise DaybookError("STORE_004", place=str(address), found=found or "none", needed=LATEST_SCHEMA)
            with write_transaction(engine, address) as connection:
                connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _MIGRATION_LOCK})
                _upgrade_under_lock(connection, address)


def _upgrade_under_lock(connection: Connection, address: StoreAddress) -> None:
    """Looks again under the lock: another process may have been faster."""
    found = read_schema_version(connection)
    refuse_unknown_schema(found, str(address))
    if found != LATEST_SCHEMA:
        upgrade_schema(connection)


def _enable_write_ahead_log(engine: Engine) -> None:
    """The file remembers its journal mode; a process that finds it busy leaves the switch to the next opener."""
    connection = engine.raw_connection()
    try:
        connection.cursor().execute("PRAGMA journal_mode = WAL")
    except SqliteOperationalError:
        pass
    finally:
        connection.close()
