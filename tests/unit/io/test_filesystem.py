"""Partition values survive being folder names, and links of many paths are followed as those of one."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from daybook.io.filesystem import RealPaths, partition_folder, partition_values


@given(st.text(min_size=1), st.text(min_size=1).filter(lambda value: value != "__HIVE_DEFAULT_PARTITION__"))
def test_there_and_back(name: str, value: str) -> None:
    folder = partition_folder({name: value})
    assert "/" not in folder
    assert partition_values(f"{folder}/part.parquet") == {name: value}


def test_a_missing_value_is_null() -> None:
    assert partition_values("a=__HIVE_DEFAULT_PARTITION__/b=2026-01/x.parquet") == {"a": None, "b": "2026-01"}
    assert partition_values("a=b.parquet") == {}


def test_links_of_many_paths_are_followed_as_those_of_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for folder in ("real/inner", "other"):
        (tmp_path / folder).mkdir(parents=True)
    for file in ("real/a.csv", "real/b.csv", "real/inner/c.csv", "other/d.csv"):
        (tmp_path / file).touch()
    (tmp_path / "link").symlink_to("real")
    (tmp_path / "real/d.csv").symlink_to(tmp_path / "other/d.csv")
    names = (
        "link/a.csv",
        "link/b.csv",
        "link/d.csv",
        "link/inner",
        "link/../real",
        "link/inner/..",
        "real/.",
        "none/x",
    )
    paths = [*(f"{tmp_path}/{name}" for name in names), f"{tmp_path}/link/", "/", "/etc"]
    expected = [os.path.realpath(path) for path in paths]
    assert list(map(RealPaths(), paths)) == expected
    followed: list[str] = []
    realpath = os.path.realpath

    def follow(path: str) -> str:
        followed.append(path)
        return realpath(path)

    monkeypatch.setattr(os.path, "realpath", follow)
    real_path = RealPaths()
    for name in ("a.csv", "b.csv", "none.csv"):
        real_path(f"{tmp_path}/link/{name}")
    assert followed == [f"{tmp_path}/link"]
