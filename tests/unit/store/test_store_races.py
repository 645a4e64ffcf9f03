"""Many processes at one store: bounded here, at full length with the marker `slow`."""

from pathlib import Path

import pytest

from daybook.store import open_store
from tests.forked import forked
from tests.unit.store.racing import race

ROUNDS = [pytest.param((4, 10), id="4x10"), pytest.param((16, 100), id="16x100", marks=pytest.mark.slow)]


class Racers:
    """Processes that wait for a word each and answer with one."""

    def __init__(self, url: str, root: Path, work: str, count: int, rounds: int) -> None:
        self._processes = [forked(race, url, root, work, f"p{number}", rounds) for number in range(count)]
        self._await("ready")

    def go(self) -> None:
        for process in self._processes:
            process.tell("go")

    def round(self) -> None:
        self.go()
        self._await("done")

    def results(self) -> list[list[str]]:
        found = [process.answer() for process in self._processes]
        self.go()
        assert [process.wait() for process in self._processes] == [0] * len(self._processes)
        return found

    def _await(self, word: str) -> None:
        assert [process.answer() for process in self._processes] == [word] * len(self._processes)


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
                found = transaction.stored_definitions().dataset("orders", version)
                assert found is not None
                names.add(found.dataset.main_table.columns[1].name)
            assert len(names) == 40


def test_nobody_finds_the_store_locked(store_url: str, tmp_path: Path, size: tuple[int, int]) -> None:
    count, rounds = size
    open_store(store_url, root=tmp_path, migrate=True).close()
    racers = Racers(store_url, tmp_path, "hammer", count, rounds)
    racers.go()
    assert racers.results() == [["hammered"] * rounds] * count
