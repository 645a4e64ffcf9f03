"""Files in an encoding that is not theirs are refused with a code; byte order marks are no part of the header."""

from pathlib import Path

import pytest

from daybook.errors import DaybookError, render
from tests.attacks.landed import csv_rows, dataset
from tests.attacks.tables import encodings


@pytest.mark.parametrize(("content", "encoding", "code", "words"), encodings.CASES, ids=lambda value: ascii(value)[:30])
def test_refused(tmp_path: Path, content: bytes, encoding: str, code: str, words: str) -> None:
    path = tmp_path / "in.csv"
    path.write_bytes(content)
    with pytest.raises(DaybookError) as caught:
        csv_rows(path, dataset(a="string"), encoding=encoding)
    assert caught.value.code == code
    assert words in render(caught.value)


@pytest.mark.parametrize(("content", "encoding"), encodings.READABLE, ids=lambda value: ascii(value)[:30])
def test_read(tmp_path: Path, content: bytes, encoding: str) -> None:
    path = tmp_path / "in.csv"
    path.write_bytes(content)
    assert csv_rows(path, dataset(a="string"), encoding=encoding) == [{"a": "\u00e9"}]
