"""Every test of the store runs on both back ends."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from daybook.store import open_store
from daybook.store.store import Store

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


@pytest.fixture
def store(store_url: str, tmp_path: Path) -> Iterator[Store]:
    with open_store(store_url, root=tmp_path, migrate=True) as opened:
        yield opened
