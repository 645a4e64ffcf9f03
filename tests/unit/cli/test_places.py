"""Places below the current folder are shown relative to it."""

from pathlib import Path

import pytest

from daybook.cli.places import near, near_in


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_path(here: Path) -> None:
    assert near(f"{here}/out/x.csv") == "out/x.csv"
    assert near("/elsewhere/x.csv") == "/elsewhere/x.csv"
    assert near("warehouse.sales") == "warehouse.sales"


def test_paths_within_a_message(here: Path) -> None:
    assert near_in(f"{here}/data/a.csv, line 3: read from {here}/b.csv") == "data/a.csv, line 3: read from b.csv"
    assert near_in(f"file://{here}/data") == "data"
    assert near_in(f"{here} is empty") == f"{here} is empty"
    assert near_in(f"{here}-old/x, /mnt{here}/x") == f"{here}-old/x, /mnt{here}/x"


def test_nothing_is_near_the_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir("/")
    assert near_in("/data/a.csv") == "/data/a.csv"
