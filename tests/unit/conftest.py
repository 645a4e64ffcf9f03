"""Every test of the store runs on both back ends."""

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from daybook.store import open_store
from daybook.store.store import MetadataStore
from tests.postgres import PostgresServer

BACK_ENDS = [
    pytest.param("sqlite", id="sqlite"),
    pytest.param("postgresql", id="postgresql", marks=pytest.mark.postgres),
]


@pytest.fixture(params=BACK_ENDS)
def store_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of a store that does not exist yet."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/state/store.db"
    server = request.getfixturevalue("postgres_server")
    return str(server.create_database())


@pytest.fixture(scope="session")
def migrated_database(postgres_server: PostgresServer, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The name of a database with the tables of a store, to be copied."""
    url = postgres_server.create_database()
    open_store(url, root=tmp_path_factory.mktemp("root"), migrate=True).close()
    return urlsplit(url).path[1:]


@pytest.fixture(params=BACK_ENDS)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[MetadataStore]:
    """An empty store."""
    url = f"sqlite:///{tmp_path}/state/store.db"
    if request.param == "postgresql":
        server: PostgresServer = request.getfixturevalue("postgres_server")
        url = server.create_database(request.getfixturevalue("migrated_database"))
    with open_store(url, root=tmp_path) as opened:
        yield opened
