"""Opening a store: made, migrated or refused."""

from pathlib import Path
from sqlite3 import OperationalError as SqliteOperationalError

from sqlalchemy import Connection, Engine, text

from daybook.errors import DaybookError
from daybook.store.address import EmbeddedStore, SharedStore, StoreAddress, parse_address
from daybook.store.connecting import connect, reading, writing
from daybook.store.schema_version import HEAD, found_version, refuse_unknown, upgrade
from daybook.store.store import Store

# Any constant will do; it keeps two processes from migrating one database at the same time.
_MIGRATION_LOCK = 4_021_994_217


def open_store(url: str, *, root: Path, migrate: bool = False) -> Store:
    """See `daybook.store.open_store`."""
    address = parse_address(url, root)
    if isinstance(address, EmbeddedStore):
        try:
            address.path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise DaybookError("STORE_003", place=str(address), reason=error.strerror or str(error)) from error
    engine = connect(address, root)
    try:
        _bring_up_to_date(engine, address, migrate)
        if isinstance(address, EmbeddedStore):
            _write_ahead(engine)
    except BaseException:
        engine.dispose()
        raise
    return Store(engine, address)


def _bring_up_to_date(engine: Engine, address: StoreAddress, migrate: bool) -> None:
    with reading(engine, address) as connection:
        found = found_version(connection)
    refuse_unknown(found, str(address))
    if found == HEAD:
        return
    match address:
        case EmbeddedStore():
            with writing(engine, address) as connection:
                _upgrade(connection, address)
        case SharedStore():
            if not migrate:
                raise DaybookError("STORE_004", place=str(address), found=found or "none", needed=HEAD)
            with writing(engine, address) as connection:
                connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _MIGRATION_LOCK})
                _upgrade(connection, address)


def _upgrade(connection: Connection, address: StoreAddress) -> None:
    """Looks again under the lock: another process may have been faster."""
    found = found_version(connection)
    refuse_unknown(found, str(address))
    if found != HEAD:
        upgrade(connection)


def _write_ahead(engine: Engine) -> None:
    """The file remembers its journal mode; a process that finds it busy leaves the switch to the next opener."""
    connection = engine.raw_connection()
    try:
        connection.cursor().execute("PRAGMA journal_mode = WAL")
    except SqliteOperationalError:
        pass
    finally:
        connection.close()
