"""A full disk is an error of its own, whatever SQLite says about it."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

# A file system in memory of half a megabyte, which only this process and its children see.
IN_A_SMALL_FILE_SYSTEM = ("unshare", "--map-root-user", "--mount", "sh", "-c")
MOUNT = "mount -t tmpfs -o size=600k tmpfs {folder}"
PROGRAM = """
import contextlib, sys
from pathlib import Path
from daybook.errors import DaybookError
from daybook.store import open_store

root = Path(sys.argv[1])
url = "sqlite:///store/store.db"

def attempt(action):
    try:
        action()
    except DaybookError as error:
        print(error.code)
    else:
        print("done")

def opened():
    with open_store(url, root=root) as store, store.write() as transaction:
        transaction.now()

def fill():
    with contextlib.suppress(OSError), (root / "fill").open("wb", buffering=0) as file:
        while True:
            file.write(b"x" * 1024)

fill()
attempt(opened)
(root / "fill").unlink()
attempt(opened)
fill()
attempt(opened)
(root / "fill").unlink()
attempt(opened)
"""


def has_small_file_systems(folder: Path) -> bool:
    if shutil.which("unshare") is None:
        return False
    return not subprocess.run([*IN_A_SMALL_FILE_SYSTEM, MOUNT.format(folder=folder)], capture_output=True).returncode


def test_a_full_disk(tmp_path: Path) -> None:
    if not has_small_file_systems(tmp_path):
        pytest.skip("needs user namespaces")
    command = f"{MOUNT.format(folder=tmp_path)} && {sys.executable} - {tmp_path}"
    ended = subprocess.run(
        [*IN_A_SMALL_FILE_SYSTEM, command], input=PROGRAM, capture_output=True, text=True, check=False
    )
    assert ended.stdout.split() == ["STORE_047", "done", "STORE_047", "done"], ended.stderr
