"""The store: opens, creates, migrates or refuses a database; transactions over its repositories.

Alembic takes a while to import, so a store that is up to date does not import it.

The store keeps the random id of its workspace, which is written with its tables. A workspace that is moved, renamed or
restored keeps the id. A copy beside its original gets a new one; the old id is valid only in the copied folder.
"""

import datetime
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from sqlite3 import OperationalError as SqliteOperationalError
from typing import Any

import rfc8785
from sqlalchemy import Connection, Engine, func, insert, inspect, select, text, update

from daybook.definitions.value import Definitions
from daybook.errors import DaybookError
from daybook.model.definition import DeclaredVersion
from daybook.store.address import EmbeddedStore, SharedStore, StoreAddress, parse_address
from daybook.store.database.connection import (
    back_up,
    connect_store,
    is_disk_full,
    list_backups,
    read_clock,
    read_transaction,
    write_transaction,
)
from daybook.store.database.definition_rows import DefinitionRows
from daybook.store.database.landings import Landings
from daybook.store.database.log import NO_LINE, Log
from daybook.store.database.outcomes import Actions, CloseQueries, Outcomes, RetentionQueries
from daybook.store.database.people import People, TokenChecks
from daybook.store.database.periods import PeriodStatuses, Slices
from daybook.store.database.projects import Projects
from daybook.store.database.requests import Policies, Requests
from daybook.store.database.runs import Runs
from daybook.store.database.seals import Seals
from daybook.store.database.tables import LOG_HEAD, METADATA, SCHEMA, WORKSPACE_IDENTITY, WORKSPACE_ROOT
from daybook.store.database.workspace_root import WorkspaceRoot, keep_relative
from daybook.store.process import current_user
from daybook.store.records import ActName, Actor, Credential
from daybook.store.stored_definitions import read_dataset, read_definitions


@dataclass(frozen=True, slots=True)
class WorkspaceIds:
    """`own` is written with every commit; `taken` are other workspaces whose slices this one took over.

    `copied` are the ids of the workspaces that this one is a copy of, and what they had taken over.
    """

    own: str
    taken: frozenset[str] = frozenset()
    copied: frozenset[str] = frozenset()


class WorkspaceIdentity:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def ids(self) -> WorkspaceIds:
        table = WORKSPACE_IDENTITY.c
        rows = self._connection.execute(select(table.id, table.kind)).all()
        of_kind = {kind: frozenset(row.id for row in rows if row.kind == kind) for kind in ("own", "taken", "copied")}
        (own,) = of_kind["own"]
        return WorkspaceIds(own, of_kind["taken"], of_kind["copied"])

    def take_over(self, workspace: str) -> None:
        """From here on what a workspace wrote belongs to this one, too; `workspace` is its id, or name without one."""
        if workspace not in self.ids().taken:
            self._add(workspace, "taken", None)

    def is_copy_at(self, root: str) -> bool:
        """Whether the workspace got its id because it was copied to `root`."""
        table = WORKSPACE_IDENTITY.c
        made_at = self._connection.execute(select(table.root).where(table.kind == "own")).scalar_one()
        return bool(made_at == root)

    def become_copy(self, root: str) -> None:
        """The workspace at `root` is no longer the one that its ids are known for elsewhere."""
        self._connection.execute(update(WORKSPACE_IDENTITY).values(kind="copied"))
        self._add(secrets.token_hex(16), "own", root)

    def _add(self, id_: str, kind: str, root: str | None) -> None:
        number = self._connection.execute(select(func.max(WORKSPACE_IDENTITY.c.number))).scalar_one() + 1
        self._connection.execute(insert(WORKSPACE_IDENTITY).values(number=number, id=id_, kind=kind, root=root))


# Codes by which a rule of the store refuses an act; other errors are mistakes in what was asked.
REFUSALS = frozenset(
    (
        *("RUN_002", "STORE_016", "STORE_017", "STORE_018", "STORE_019", "STORE_020", "STORE_021", "STORE_031"),
        *("PROOF_004", "PROOF_005"),
        *(f"APPROVAL_{number:03}" for number in (2, 3, 4, 5, 6, 9, 11, 18, 19, 20, 21, 22)),
    )
)

LATEST_SCHEMA = SCHEMA
KNOWN_SCHEMAS = ("0001", "0002", "0003", "0004", "0005", "0006", "0007", "0008", "0009", "0010", "0011")
MIGRATIONS = Path(__file__).parent / "migrations"


def read_schema_version(connection: Connection) -> str | None:
    """The schema a store has; None for an empty one."""
    if not inspect(connection).has_table("alembic_version"):
        return None
    version: str | None = connection.execute(text("SELECT version_num FROM alembic_version")).scalar_one_or_none()
    return version


def refuse_unknown_schema(schema: str | None, place: str) -> None:
    if schema is not None and schema not in KNOWN_SCHEMAS:
        raise DaybookError("STORE_005", place=place, found=schema)


def upgrade_schema(connection: Connection, root: WorkspaceRoot | None = None) -> None:
    """Migrate inside the caller's transaction; `root` is given where locations are kept relative to it."""
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    config.attributes["connection"] = connection
    config.attributes["root"] = root
    command.upgrade(config, LATEST_SCHEMA)


class StoreSession:
    """Who uses an opened store; what was found out about his token is found out once."""

    def __init__(self, credential: Credential | None = None) -> None:
        self.credential = credential or Credential(current_user())
        self.checks = TokenChecks()


class Transaction:
    """Everything read or written through one transaction belongs together."""

    def __init__(
        self, connection: Connection, *, is_read_only: bool = False, session: "StoreSession | None" = None
    ) -> None:
        self._connection = connection
        self._session = session or StoreSession()
        self._actor: Actor | None = None
        self.log = Log(connection, lambda: self.actor)
        self.people = People(connection, self._session.checks)
        self.policies = Policies(connection)
        self.requests = Requests(connection)
        self.definitions = DefinitionRows(connection, is_read_only=is_read_only)
        self.projects = Projects(connection)
        self.runs = Runs(connection)
        self.outcomes = Outcomes(connection)
        self.slices = Slices(connection)
        self.periods = PeriodStatuses(connection)
        self.retention = RetentionQueries(connection)
        self.close = CloseQueries(connection)
        self.actions = Actions(connection)
        self.identity = WorkspaceIdentity(connection)
        self.landings = Landings(connection)
        self.seals = Seals(connection)

    @property
    def actor(self) -> Actor:
        """Who acts in this transaction, as far as he can prove it."""
        if self._actor is None:
            self._actor = self.people.identify(self._session.credential)
        return self._actor

    @property
    def credential(self) -> Credential:
        return self._session.credential

    def stored_definitions(self, *, with_sandbox: bool = False) -> Definitions:
        """The definitions as they are now; what drafts registered in the sandbox only `with_sandbox`."""
        return read_definitions(self.definitions, with_sandbox=with_sandbox)

    def stored_dataset(self, dataset_id: str) -> DeclaredVersion | None:
        """The latest version of a dataset, without reading all definitions."""
        return read_dataset(self.definitions, dataset_id)

    @contextmanager
    def savepoint(self) -> Iterator[None]:
        """A failure inside undoes only what was done inside."""
        mark = self.log.mark()
        try:
            with self._connection.begin_nested():
                yield
        except BaseException:
            self.log.forget_since(mark)
            raise

    def now(self) -> datetime.datetime:
        """The database's clock: leases of one shared store are best measured by one clock."""
        return read_clock(self._connection)


class MetadataStore:
    """Open it with `daybook.store.open_store`; close it when done."""

    def __init__(
        self, engine: Engine, address: StoreAddress, moved_from: str | None = None, credential: Credential | None = None
    ) -> None:
        self._engine = engine
        self.address = address
        self.session = StoreSession(credential)
        # The recorded folder of the workspace, if it is not the current one.
        self.moved_from = moved_from

    @property
    def identity(self) -> str:
        """One text for the store, from wherever it is opened."""
        return str(self.address.path.resolve()) if isinstance(self.address, EmbeddedStore) else str(self.address)

    @property
    def is_shared(self) -> bool:
        """On a shared store nothing is applied implicitly."""
        return not isinstance(self.address, EmbeddedStore)

    @contextmanager
    def read(self) -> Iterator[Transaction]:
        with read_transaction(self._engine, self.address) as connection:
            yield Transaction(connection, is_read_only=True, session=self.session)

    @contextmanager
    def write(self) -> Iterator[Transaction]:
        with write_transaction(self._engine, self.address) as connection:
            _refuse_other_schema(connection, self.address)
            transaction = Transaction(connection, session=self.session)
            try:
                yield transaction
                transaction.log.write(transaction.now)
            except (UnicodeEncodeError, rfc8785.CanonicalizationError) as failure:
                reason = failure if isinstance(failure, UnicodeEncodeError) else failure.__cause__
                if not isinstance(reason, UnicodeEncodeError):
                    raise
                raise DaybookError("STORE_048", text=ascii(reason.object)) from None

    @contextmanager
    def logged_refusal(self, act: ActName, subject: str, details: Mapping[str, Any] | None = None) -> Iterator[None]:
        """Log that an act was refused, in a transaction of its own, and let the error pass."""
        try:
            yield
        except DaybookError as error:
            if error.code in REFUSALS:
                # A store that cannot be written must not hide why the act was refused.
                with suppress(DaybookError), self.write() as transaction:
                    transaction.log.append(act, subject, details, refused=error.code)
            raise

    def user(self) -> str:
        """The name of who uses the store, as the log has it."""
        with self.read() as transaction:
            return transaction.actor.name

    def settle(self, root: Path) -> None:
        """Note where the workspace lies now."""
        with write_transaction(self._engine, self.address) as connection:
            connection.execute(update(WORKSPACE_ROOT).values(root=WorkspaceRoot.of(root).real))
        self.moved_from = None

    def close(self) -> None:
        self._engine.dispose()

    def __enter__(self) -> "MetadataStore":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


# Any constant works; it keeps two processes from migrating one database at the same time.
_MIGRATION_LOCK = 4_021_994_217


def open_store(url: str, *, root: Path, migrate: bool = False, credential: Credential | None = None) -> MetadataStore:
    """See `daybook.store.open_store`."""
    address = parse_address(url, root)
    if isinstance(address, EmbeddedStore):
        try:
            address.path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            code = "STORE_047" if is_disk_full(error, address) else "STORE_003"
            raise DaybookError(code, place=str(address), reason=error.strerror or str(error)) from error
        _refuse_emptied(address)
    engine = connect_store(address, root)
    moved_from: str | None = None
    try:
        state = _read_state(engine, address)
        is_new = state.is_new
        if state.schema != LATEST_SCHEMA:
            _migrate(engine, address, state, migrate, WorkspaceRoot.of(root))
            state = _read_state(engine, address)
        if isinstance(address, EmbeddedStore):
            _enable_write_ahead_log(engine)
            moved_from = _find_workspace(engine, address, WorkspaceRoot.of(root), state.root)
            # A failed backup does not stop the command: the disk may be full.
            with _suppress_code("STORE_042"):
                if not is_new:
                    back_up(address.path, is_daily=True)
    except BaseException:
        engine.dispose()
        raise
    if credential is not None and not isinstance(address, EmbeddedStore):
        # An account of this machine says nothing about users of other machines.
        credential = replace(credential, account=None)
    return MetadataStore(engine, address, moved_from, credential)


def create_empty_store(folder: Path) -> MetadataStore:
    """See `daybook.store.create_empty_store`; the tables as they are now need no migrations, which take a while."""
    address = EmbeddedStore(folder / "store.db")
    engine = connect_store(address, folder)
    with write_transaction(engine, address) as connection:
        METADATA.create_all(connection)
        connection.execute(text("CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL)"))
        connection.execute(text("INSERT INTO alembic_version VALUES (:schema)"), {"schema": LATEST_SCHEMA})
        connection.execute(insert(WORKSPACE_IDENTITY).values(number=1, id="empty", kind="own"))
        connection.execute(insert(LOG_HEAD).values(number=0, digest=NO_LINE))
    return MetadataStore(engine, address)


def _refuse_emptied(address: EmbeddedStore) -> None:
    """An empty file would count as a new store; one that has backups was truncated."""
    if address.path.exists() and address.path.stat().st_size == 0 and list_backups(address.path):
        raise DaybookError("STORE_041", place=str(address), reason="it is empty")


@contextmanager
def _suppress_code(code: str) -> Iterator[None]:
    try:
        yield
    except DaybookError as error:
        if error.code != code:
            raise


@dataclass(frozen=True, slots=True)
class _StoreState:
    """The schema of a database, and the folder of the workspace that it was last used in."""

    schema: str | None
    is_new: bool
    root: str | None = None


def _read_state(engine: Engine, address: StoreAddress) -> _StoreState:
    with read_transaction(engine, address) as connection:
        schema = read_schema_version(connection)
        if schema != LATEST_SCHEMA:
            return _StoreState(schema, is_new=schema is None and not inspect(connection).get_table_names())
        root: str | None = connection.execute(select(WORKSPACE_ROOT.c.root)).scalar_one_or_none()
        return _StoreState(schema, is_new=False, root=root)


def _find_workspace(
    engine: Engine, address: StoreAddress, root: WorkspaceRoot, previous_root: str | None
) -> str | None:
    """Where the workspace was before, if it was elsewhere; from here on its locations are those of `root`."""
    if previous_root is None:
        return None
    keep_relative(engine, root)
    if previous_root == root.real:
        return None
    if _is_store_at(address, root, previous_root):
        with write_transaction(engine, address) as connection:
            identity = WorkspaceIdentity(connection)
            if not identity.is_copy_at(root.real):
                identity.become_copy(root.real)
    return previous_root


def _is_store_at(address: StoreAddress, root: WorkspaceRoot, folder: str) -> bool:
    """Whether the workspace that this one was is still there, so that this one is a copy."""
    if not isinstance(address, EmbeddedStore):
        return False
    path = address.path.resolve()
    return path.is_relative_to(root.real) and (Path(folder) / path.relative_to(root.real)).is_file()


def _migrate(engine: Engine, address: StoreAddress, state: _StoreState, migrate: bool, root: WorkspaceRoot) -> None:
    if state.schema is None and not state.is_new and isinstance(address, EmbeddedStore):
        raise DaybookError("STORE_041", place=str(address), reason="it lacks the table alembic_version")
    refuse_unknown_schema(state.schema, str(address))
    match address:
        case EmbeddedStore():
            # A store elsewhere may be that of several workspaces, so its locations stay absolute.
            is_inside = address.path.resolve().is_relative_to(root.real)
            if not state.is_new:
                back_up(address.path)
            with write_transaction(engine, address) as connection:
                _upgrade_under_lock(connection, address, root if is_inside else None)
            # The backup of today lacks what the migration has just made, such as the id of the workspace.
            with _suppress_code("STORE_042"):
                if not state.is_new:
                    back_up(address.path)
        case SharedStore():
            if not migrate:
                schema = state.schema or "none"
                raise DaybookError("STORE_004", place=str(address), found=schema, needed=LATEST_SCHEMA)
            with write_transaction(engine, address) as connection:
                connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _MIGRATION_LOCK})
                _upgrade_under_lock(connection, address)


def _refuse_other_schema(connection: Connection, address: StoreAddress) -> None:
    """A newer Daybook may have migrated the store since this process opened it."""
    schema: str = connection.execute(text("SELECT version_num FROM alembic_version")).scalar_one()
    if schema != LATEST_SCHEMA:
        raise DaybookError("STORE_005", place=str(address), found=schema)


def _upgrade_under_lock(connection: Connection, address: StoreAddress, root: WorkspaceRoot | None = None) -> None:
    """Looks again under the lock: another process may have been faster."""
    schema = read_schema_version(connection)
    refuse_unknown_schema(schema, str(address))
    if schema != LATEST_SCHEMA:
        upgrade_schema(connection, root)


def _enable_write_ahead_log(engine: Engine) -> None:
    """The file remembers its journal mode; a process that finds it busy leaves the switch to the next opener."""
    connection = engine.raw_connection()
    try:
        connection.cursor().execute("PRAGMA journal_mode = WAL")
    except SqliteOperationalError:
        pass
    finally:
        connection.close()
