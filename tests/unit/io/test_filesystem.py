"""Partition values survive being folder names."""

from hypothesis import given
from hypothesis import strategies as st

from daybook.io.filesystem import partition_folder, partition_values


@given(st.text(min_size=1), st.text(min_size=1).filter(lambda value: value != "__HIVE_DEFAULT_PARTITION__"))
def test_there_and_back(name: str, value: str) -> None:
    folder = partition_folder({name: value})
    assert "/" not in folder
    assert partition_values(f"{folder}/part.parquet") == {name: value}


def test_a_missing_value_is_null() -> None:
    assert partition_values("a=__HIVE_DEFAULT_PARTITION__/b=2026-01/x.parquet") == {"a": None, "b": "2026-01"}
    assert partition_values("a=b.parquet") == {}
