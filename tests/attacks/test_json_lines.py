"""A line that is no row is refused with its number."""

from pathlib import Path

import pytest

from daybook.errors import DaybookError
from tests.attacks.landed import dataset, json_rows
from tests.attacks.tables import json_lines


@pytest.mark.parametrize(("line", "words"), json_lines.CASES, ids=lambda value: ascii(value)[:30])
def test_refused(tmp_path: Path, line: str, words: str) -> None:
    path = tmp_path / "in.json"
    path.write_text(line + "\n", encoding="utf-8")
    with pytest.raises(DaybookError) as caught:
        json_rows(path, dataset(v="string"))
    assert (caught.value.code, caught.value.parameters["place"]) == ("IO_005", "line 1")
    assert words in caught.value.message


@pytest.mark.parametrize("depth", [10, 500, 900, 5000])
def test_a_value_that_is_a_deep_list_is_named_shortly(tmp_path: Path, depth: int) -> None:
    path = tmp_path / "in.json"
    path.write_text('{"v": ' + "[" * depth + "]" * depth + "}\n")
    with pytest.raises(DaybookError) as caught:
        json_rows(path, dataset(v="string"))
    assert caught.value.code in ("IO_004", "IO_005")
    assert len(caught.value.message) < 300


def test_lines_longer_than_a_block_are_whole(tmp_path: Path) -> None:
    texts = ["x" * length for length in (0, 1, (1 << 20) - 10, 1 << 20, (3 << 20) + 1, 5)]
    path = tmp_path / "in.json"
    path.write_text("\n".join(f'{{"v": "{text}"}}' for text in texts))
    assert [row["v"] for row in json_rows(path, dataset(v="string"))] == texts
