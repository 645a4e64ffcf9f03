"""Many processes at one store: bounded here, at full length with the marker `slow`."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from daybook.store import open_store

ROUNDS = [pytest.param((4, 10), id="4x10"), pytest.param((16, 100), id="16x100", marks=pytest.mark.slow)]
REPOSITORY = Path(__file__).parents[3]


class Racers:
    """Processes that wait for a line each and answer with one."""

    def __init__(self, url: str, root: Path, work: str, count: int, rounds: int) -> None:
        arguments = [sys.executable, "-m", "tests.unit.store.racing", url, str(root), work]
        self._processes = [
            subprocess.Popen(
                [*arguments, f"p{number}", str(rounds)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                cwd=REPOSITORY,
            )
            for number in range(count)
        ]
        self._await("ready")

    def go(self) -> None:
        for process in self._processes:
            assert process.stdin is not None
            process.stdin.write("go\n")
            process.stdin.flush()

    def round(self) -> None:
        self.go()
        self._await("done")

    def results(self) -> list[list[str]]:
        found = []
        for process in self._processes:
            assert process.stdout is not None
            found.append(json.loads(process.stdout.readline()))
            assert process.wait() == 0
            process.stdout.close()
            assert process.stdin is not None
            process.stdin.close()
        return found

    def _await(self, word: str) -> None:
        for process in self._processes:
            assert process.stdout is not None
            assert process.stdout.readline().strip() == word


@pytest.fixture(params=ROUNDS)
def size(request: pytest.FixtureRequest) -> tuple[int, int]:
    count, rounds = request.param
    return count, rounds


def test_one_process_wins_every_round(store_url: str, tmp_path: Path, size: tuple[int, int]) -> None:
    count, rounds = size
    open_store(store_url, root=tmp_path, migrate=True).close()
    racers = Racers(store_url, tmp_path, "start_runs", count, rounds)
    racers.go()
    for _ in range(rounds):
        racers.round()
    for answers in zip(*racers.results(), strict=True):
        assert sorted(answers) == ["STORE_012"] * (count - 1) + ["won"]


def test_versions_stay_contiguous_when_many_apply(store_url: str, tmp_path: Path) -> None:
    with open_store(store_url, root=tmp_path, migrate=True) as store:
        racers = Racers(store_url, tmp_path, "apply_versions", 4, 10)
        racers.go()
        assert racers.results() == [["applied"] * 10] * 4
        with store.read() as transaction:
            assert transaction.definitions.versions("dataset", "orders") == tuple(range(1, 41))
            names = set()
            for version in range(1, 41):
                found = transaction.catalog().dataset("orders", version)
                assert found is not None
                names.add(found.dataset.main_table.columns[1].name)
            assert len(names) == 40


def test_nobody_finds_the_store_locked(store_url: str, tmp_path: Path, size: tuple[int, int]) -> None:
    count, rounds = size
    open_store(store_url, root=tmp_path, migrate=True).close()
    racers = Racers(store_url, tmp_path, "hammer", count, rounds)
    racers.go()
    assert racers.results() == [["hammered"] * rounds] * count
