"""What runs of a workspace use: root, state folder, store, session and clock, opened and closed together."""

import datetime
import sqlite3
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from daybook.definitions.loading import LoadedWorkspace
from daybook.definitions.loading.loaded_workspace import WorkspaceLocation, read_workspace
from daybook.engine.java.classic import activate_session
from daybook.engine.java.session import session_failure
from daybook.engine.working_dataset import DividedStaging, StagingFolder
from daybook.errors import DaybookError
from daybook.io.filesystem import absolute_uri, is_uri, spark_uri
from daybook.io.landing.area import LandingArea
from daybook.io.landing.table_area import TableLandingArea
from daybook.io.state_tables import StagingTables, StateTables
from daybook.io.storage import PROVIDER_STORAGE, STATE_ADDRESS, Storage, datasources_in_use
from daybook.model.datasource import DataSource, SparkCatalogSource
from daybook.model.settings import SchemaLocation
from daybook.plan.plan_cache import PlanCache
from daybook.runs.attempt.lease import LeaseKeeper
from daybook.runs.permissions import WorkspacePlaces
from daybook.runs.run_listener import RunListener
from daybook.runs.snapshot import RunSnapshot
from daybook.store import open_store
from daybook.store.address import EmbeddedStore, parse_address
from daybook.store.database.connection import mark_as_copy, storage_error
from daybook.store.records import Credential
from daybook.store.store import MetadataStore, Transaction

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from daybook.runs.openlineage import LineageEvents

SessionProvider = Callable[[], "SparkSession"]


def _begin_later(snapshot: RunSnapshot) -> None:
    """A session that is there already needs no beginning."""


def _allow_start(transaction: Transaction) -> None:
    """Allows every run to start."""


def _ignore_attempt(keeper: LeaseKeeper) -> None:
    """Most runs are stopped by signals and `daybook cancel` alone."""


@dataclass(frozen=True, slots=True)
class RunEnvironment:
    """What runs of one workspace share; the session is asked for when it is needed."""

    root: Path
    state: str
    store: MetadataStore
    session: SessionProvider
    listener: RunListener
    clock: Callable[[], datetime.datetime]
    version: str
    plans: PlanCache = field(default_factory=PlanCache)
    own_places: WorkspacePlaces = field(default_factory=WorkspacePlaces)
    # May refuse a run in the transaction that creates it.
    before_start: Callable[[Transaction], None] = _allow_start
    # Is called when an attempt at a run begins, so that another thread can stop it.
    on_attempt: Callable[[LeaseKeeper], None] = _ignore_attempt
    # Lets the session start for a run that is about to need it.
    begin_session: Callable[[RunSnapshot], None] = _begin_later
    # The receiver of events about what runs read and write.
    events: "LineageEvents | None" = None
    # How the object stores of the workspace are reached.
    storage: Storage = PROVIDER_STORAGE
    # Who is recorded with new runs; the user of this process where it is None.
    user: str | None = None

    def landing(self, run_id: str) -> LandingArea:
        uri = f"{self.state}/landing"
        if (tables := self.storage.tables) is not None:
            return TableLandingArea(uri, run_id, self.storage, tables=tables)
        return LandingArea(uri, run_id, self.storage)

    @contextmanager
    def landings_without_spark(self, run_id: str) -> Iterator[tuple[LandingArea, ...]]:
        """The same for the second engine; where it is tables, files whose table is gone are landed here again."""
        if self.storage.tables is None:
            yield (self.landing(run_id),)
            return
        with tempfile.TemporaryDirectory(prefix="daybook-landing-") as folder:
            yield self.landing(run_id), LandingArea(folder, run_id, self.storage)

    def staging(self, spark: "SparkSession", folder: str) -> DividedStaging:
        """A folder below the state for what Spark would otherwise compute again."""
        if (tables := self.storage.tables) is not None:
            return StagingTables(tables, folder)
        return StagingFolder(spark, spark_uri(folder, self.storage), self.storage.spark_options(folder))

    @contextmanager
    def spark(self, snapshot: RunSnapshot) -> "Iterator[SparkSession]":
        """The session for a run; RUN_030 for whatever fails because its Java process ended meanwhile."""
        session = None
        try:
            self.begin_session(snapshot)
            session = self.session()
            yield session
        except Exception as failure:
            if (lost := session_failure(session, failure)) is None:
                raise
            raise lost from failure


@contextmanager
def open_run_environment(
    workspace: WorkspaceLocation,
    session: SessionProvider,
    listener: RunListener | None = None,
    *,
    clock: Callable[[], datetime.datetime] | None = None,
    credential: Credential | None = None,
) -> Iterator[RunEnvironment]:
    """The store of a workspace with its state folder and a clock; definitions are not needed."""
    with open_store(workspace.settings.store, root=workspace.root, credential=credential) as store:
        yield RunEnvironment(
            root=workspace.root.resolve(),
            state=state_folder(workspace),
            store=store,
            session=lambda: activate_session(session()),
            listener=listener or RunListener(),
            clock=clock or _utc_now,
            version=version("daybook"),
            begin_session=getattr(session, "begin_for", _begin_later),
            events=_find_events(workspace, clock or _utc_now),
            storage=stored_storage(workspace, store),
            user=credential.user if credential is not None else None,
        )


def stored_storage(workspace: WorkspaceLocation, store: MetadataStore) -> Storage:
    """How the object stores of a workspace are reached, by its settings and the data sources of the store."""

    def datasources() -> Iterable[DataSource]:
        with store.read() as transaction:
            return datasources_in_use(transaction.stored_definitions())

    root, state = workspace.root.resolve(), workspace.settings.state
    tables = _state_tables(workspace, state, store) if isinstance(state, SchemaLocation) else None
    return Storage(root, workspace.settings.storage, datasources, tables)


def _state_tables(workspace: WorkspaceLocation, state: SchemaLocation, store: MetadataStore) -> StateTables:
    """The state of a workspace in a schema; a data source that nothing else uses is in the files alone."""

    def find_source() -> SparkCatalogSource:
        with store.read() as transaction:
            source = transaction.stored_definitions().datasource(state.datasource_id)
        if source is None:
            definition = read_workspace(workspace.root)[0].definitions["datasource"].get(state.datasource_id)
            source = definition.model if definition is not None else None
        if not isinstance(source, SparkCatalogSource):
            raise DaybookError("IO_081", datasource=state.datasource_id)
        return source

    with store.read() as transaction:
        workspace_id = transaction.identity.ids().own
    return StateTables(cache(find_source), state.schema_name, workspace_id, StoredManifests(store))


@dataclass(frozen=True, slots=True)
class StoredManifests:
    """What is landed in tables, as the store keeps it."""

    store: MetadataStore

    def find(self, folder: str) -> str | None:
        with self.store.read() as transaction:
            return transaction.landings.find(folder)

    def publish(self, folder: str, manifest: str, *, instead_of: str | None = None) -> bool:
        with self.store.write() as transaction:
            return transaction.landings.publish(folder, manifest, instead_of=instead_of)

    def folders(self) -> tuple[str, ...]:
        with self.store.read() as transaction:
            return transaction.landings.folders()


def _find_events(workspace: WorkspaceLocation, clock: Callable[[], datetime.datetime]) -> "LineageEvents | None":
    if workspace.settings.lineage.openlineage is None:
        return None
    from daybook.runs.openlineage import lineage_events

    return lineage_events(workspace, clock)


@contextmanager
def workspace_with_store_copy(workspace: LoadedWorkspace) -> Iterator[LoadedWorkspace]:
    """The workspace with a copy of its embedded store, so that what is only tried leaves no trace there."""
    address = parse_address(workspace.settings.store, workspace.root)
    if not isinstance(address, EmbeddedStore):
        # On a shared store nothing is applied implicitly.
        yield workspace
        return
    with tempfile.TemporaryDirectory(prefix="daybook-") as folder:
        copy = Path(folder) / "store.db"
        if address.path.exists():
            try:
                with closing(sqlite3.connect(address.path)) as store, closing(sqlite3.connect(copy)) as other:
                    store.backup(other)
                    mark_as_copy(other)
            except sqlite3.Error as failure:
                raise storage_error(failure, address) from failure
        settings = workspace.settings.model_copy(update={"store": f"sqlite:///{quote(str(copy))}"})
        yield replace(workspace, settings=settings)


def state_folder(workspace: WorkspaceLocation) -> str:
    """Where landed inputs, staging and scratch live: below the workspace, or a URI shared with a cluster."""
    state = workspace.settings.state
    if isinstance(state, SchemaLocation):
        return STATE_ADDRESS
    return absolute_uri(state) if is_uri(state) else str((workspace.root / Path(state)).resolve())


def has_tables_by_name(workspace: LoadedWorkspace) -> bool:
    """Whether a data source has tables that a Spark session alone knows."""
    return any(definition.model.type == "spark_catalog" for definition in workspace.definitions["datasource"].values())


def begin_for_tables_by_name(workspace: LoadedWorkspace, session: SessionProvider) -> None:
    """What tables by name hold now is known to a session alone."""
    if has_tables_by_name(workspace):
        session()


def _utc_now() -> datetime.datetime:
    return datetime.datetime.now(datetime.UTC)
