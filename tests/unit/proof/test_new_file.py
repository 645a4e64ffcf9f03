from collections.abc import Callable
from pathlib import Path

import pytest

from daybook.errors import DaybookError
from daybook.proof.new_file import check_new, write_new
from daybook.workspace.certificates import make_key


def code(act: Callable[[], object]) -> str:
    with pytest.raises(DaybookError) as raised:
        act()
    return raised.value.code


def test_the_folder_of_a_new_file_is_made_and_nothing_else(tmp_path: Path) -> None:
    file = tmp_path / "certificates" / "2026" / "close.json"
    check_new(file)
    assert list(file.parent.iterdir()) == []
    write_new(file, "text")
    assert file.read_text() == "text"


def test_what_is_there_is_never_replaced(tmp_path: Path) -> None:
    file, link = tmp_path / "close.json", tmp_path / "link.json"
    file.write_text("first")
    link.symlink_to(tmp_path / "nowhere.json")
    for path in (file, link):
        assert code(lambda path=path: check_new(path)) == "PROOF_003"  # type: ignore[misc]
        assert code(lambda path=path: write_new(path, "second")) == "PROOF_003"  # type: ignore[misc]
    assert file.read_text() == "first"
    assert not (tmp_path / "nowhere.json").exists()


def test_a_file_that_cannot_be_written_has_a_code(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    below_file = tmp_path / "file" / "close.json"
    assert code(lambda: check_new(below_file)) == "PROOF_018"
    assert code(lambda: write_new(below_file, "text")) == "PROOF_018"
    assert code(lambda: make_key("controlling", tmp_path / "file")) == "PROOF_018"
