"""Places below the current folder are shown relative to it."""

from pathlib import Path

import pytest

from daybook.cli.terminal import shorten_path, shorten_paths_in


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_path(here: Path) -> None:
    assert shorten_path(f"{here}/out/x.csv") == "out/x.csv"
    assert shorten_path("/elsewhere/x.csv") == "/elsewhere/x.csv"
    assert shorten_path("warehouse.sales") == "warehouse.sales"


def test_paths_within_a_message(here: Path) -> None:
    assert (
        shorten_paths_in(f"{here}/data/a.csv, line 3: read from {here}/b.csv") == "data/a.csv, line 3: read from b.csv"
    )
    assert shorten_paths_in(f"file://{here}/data") == "data"
    assert shorten_paths_in(f"{here} is empty") == f"{here} is empty"
    assert shorten_paths_in(f"{here}-old/x, /mnt{here}/x") == f"{here}-old/x, /mnt{here}/x"


def test_nothing_is_near_the_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir("/")
    assert shorten_paths_in("/data/a.csv") == "/data/a.csv"
