"""SIGKILL in the middle of `apply`: all of the change or none of it."""

import random
import time
from pathlib import Path

import pytest
from sqlalchemy import text

from daybook.store import open_store
from tests.forked import Forked, forked
from tests.unit.runs.lifecycle.killed import DATASETS, apply_generation

MOMENTS = [pytest.param(4, id="4"), pytest.param(50, id="50", marks=pytest.mark.slow)]


def begin(url: str, root: Path, number: int) -> Forked:
    process = forked(apply_generation, url, root, number)
    assert process.answer() == "ready"
    process.tell("go")
    return process


def end(process: Forked) -> bool:
    """Whether the process had said that it was done."""
    was_done = bool(process.answer() == "done")
    process.wait()
    return was_done


def version_of_all(url: str, root: Path) -> int:
    """The one version that every dataset has."""
    with open_store(url, root=root) as store, store.read() as transaction:
        if not store.is_shared:
            assert transaction._connection.execute(text("PRAGMA integrity_check")).scalar_one() == "ok"
        heads = transaction.definitions.heads()
        rows = transaction._connection.execute(text("SELECT count(*) FROM definition_version")).scalar_one()
    (version,) = {head.version for head in heads.values()}
    assert len(heads) == DATASETS
    assert rows == version * DATASETS
    return version


@pytest.mark.parametrize("moments", MOMENTS)
def test_all_or_nothing(store_url: str, tmp_path: Path, moments: int) -> None:
    open_store(store_url, root=tmp_path, migrate=True).close()
    undisturbed = begin(store_url, tmp_path, 1)
    began = time.monotonic()
    assert end(undisturbed)
    duration = time.monotonic() - began
    chance = random.Random(moments)
    known = version_of_all(store_url, tmp_path)
    for _ in range(moments):
        process = begin(store_url, tmp_path, known + 1)
        time.sleep(chance.uniform(0, duration))
        process.process.kill()
        was_done = end(process)
        found = version_of_all(store_url, tmp_path)
        assert found in (known, known + 1)
        assert not was_done or found == known + 1
        known = found
    assert end(begin(store_url, tmp_path, known + 1))
    assert version_of_all(store_url, tmp_path) == known + 1
