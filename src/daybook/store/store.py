"""The store: transactions over its repositories."""

import datetime
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import Connection, Engine, text

from daybook.store.address import EmbeddedStore, StoreAddress
from daybook.store.catalog import StoreCatalog
from daybook.store.connecting import reading, writing
from daybook.store.definitions import Definitions
from daybook.store.outcomes import Outcomes
from daybook.store.period_statuses import PeriodStatuses
from daybook.store.projects import Projects
from daybook.store.retention import Retention
from daybook.store.runs import Runs
from daybook.store.slices import Slices


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
        self.retention = Retention(connection)

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


class Store:
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
        with reading(self._engine, self.address) as connection:
            yield Transaction(connection)

    @contextmanager
    def write(self) -> Iterator[Transaction]:
        with writing(self._engine, self.address) as connection:
            yield Transaction(connection)

    def close(self) -> None:
        self._engine.dispose()

    def __enter__(self) -> "Store":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
