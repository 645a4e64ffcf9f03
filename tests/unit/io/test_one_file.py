"""The atomic steps of the file system."""

import os
import threading
from pathlib import Path

import pytest

from daybook.io.formats.files.one_file import exchange_names, lock_folder, rename_if_free


def test_exchange_swaps_two_folders(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "is").write_text(name)
    exchange_names(tmp_path / "one", tmp_path / "two")
    assert ((tmp_path / "one" / "is").read_text(), (tmp_path / "two" / "is").read_text()) == ("two", "one")


def test_a_name_is_taken_only_when_it_is_free(tmp_path: Path) -> None:
    (tmp_path / "staged").write_text("new")
    rename_if_free(tmp_path / "staged", tmp_path / "name")
    (tmp_path / "staged").write_text("newer")
    with pytest.raises(FileExistsError):
        rename_if_free(tmp_path / "staged", tmp_path / "name")
    assert (tmp_path / "name").read_text() == "new"


def test_one_holder_of_a_lock_at_a_time(tmp_path: Path) -> None:
    order: list[str] = []
    waiting = threading.Event()

    def second() -> None:
        waiting.set()
        with lock_folder(tmp_path):
            order.append("second")

    with lock_folder(tmp_path):
        thread = threading.Thread(target=second)
        thread.start()
        waiting.wait()
        os.sched_yield()
        order.append("first")
    thread.join()
    assert order == ["first", "second"]


def test_a_folder_is_never_missing_during_exchanges(tmp_path: Path) -> None:
    """A reader that lists the folder sees one whole generation or the other."""
    live, other = tmp_path / "live", tmp_path / "other"
    for folder, generation in ((live, "a"), (other, "b")):
        folder.mkdir()
        for number in range(3):
            (folder / f"{generation}{number}").touch()
    seen: list[frozenset[str]] = []
    stop = threading.Event()

    def watch() -> None:
        while not stop.is_set():
            seen.append(frozenset(path.name for path in live.iterdir()))

    thread = threading.Thread(target=watch)
    thread.start()
    for _ in range(300):
        exchange_names(live, other)
    stop.set()
    thread.join()
    assert set(seen) <= {frozenset({"a0", "a1", "a2"}), frozenset({"b0", "b1", "b2"})}
