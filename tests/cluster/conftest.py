"""One cluster for all tests of this folder, and what a run on this process's machine alone gives."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from benchmarks.cluster import Cluster, running_cluster
from tests.cluster.small_close import SmallClose, counts, expected_totals
from tests.postgres import PostgresServer

LINES = 24_000


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    with running_cluster(workers=2, cores=1, memory_megabytes=1024) as running:
        yield running


@dataclass(frozen=True, slots=True)
class Expected:
    """Rows of all outputs and what was counted, by a run on local threads whose totals are right."""

    rows: Mapping[str, list[dict[str, Any]]]
    counts: list[dict[str, Any]]

    def check(self, close: SmallClose, result: Mapping[str, Any]) -> None:
        assert counts(result) == self.counts
        found = close.everything()
        for name, rows in self.rows.items():
            assert found[name] == rows, name
        assert close.folder.staged() == []


@pytest.fixture(scope="session")
def expected(tmp_path_factory: pytest.TempPathFactory, postgres_server: PostgresServer) -> Expected:
    close = SmallClose(tmp_path_factory.mktemp("local"), "local[2]", LINES, postgres=postgres_server.create_database())
    counted = counts(close.run())
    assert {row["account"]: row["total"] for row in close.report()} == {
        account: str(total) for account, total in expected_totals(LINES).items()
    }
    return Expected(close.everything(), counted)
