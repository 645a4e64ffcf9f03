"""An embedded store is backed up, its damage is reported with a code, and a backup is put back."""

import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from daybook.cli.app import main
from daybook.errors import DaybookError
from daybook.store import open_store
from daybook.store.database.connection import back_up, backup_folder, find_damage, list_backups, restore_backup
from daybook.store.records import Registration
from tests.unit.store.samples import NOW, PROCESS, make_dataset, new_run
from tests.unit.store.test_store_migrations import make_first_store

URL = "sqlite:///.daybook/store.db"


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A workspace whose store holds a run and some definitions."""
    (tmp_path / "daybook.yaml").write_text("name: test\n")
    with open_store(URL, root=tmp_path) as store, store.write() as transaction:
        lease = transaction.runs.start(**new_run("r1"), process=PROCESS, now=NOW)
        transaction.runs.finish(lease, "completed", now=NOW)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def store_file(root: Path) -> Path:
    return root / ".daybook/store.db"


def settle(root: Path) -> None:
    """Everything is in the file itself."""
    with closing(sqlite3.connect(store_file(root))) as connection:
        connection.execute("PRAGMA journal_mode = DELETE")


def execute(*statements: str) -> Callable[[Path], None]:
    def damage(root: Path) -> None:
        with closing(sqlite3.connect(store_file(root))) as connection:
            for statement in statements:
                connection.execute(statement)
            connection.commit()

    return damage


def truncate(root: Path) -> None:
    settle(root)
    with store_file(root).open("r+b") as file:
        file.truncate(store_file(root).stat().st_size // 2)


def empty(root: Path) -> None:
    settle(root)
    store_file(root).write_bytes(b"")


def overwrite_pages(root: Path) -> None:
    settle(root)
    size = store_file(root).stat().st_size
    with store_file(root).open("r+b") as file:
        for page in range(4096, size, 4096):
            file.seek(page)
            file.write(b"\xff" * 64)


def replace_file(root: Path) -> None:
    settle(root)
    store_file(root).write_text("no database at all, but a text that is longer than a header" * 100)


DAMAGES = {
    "cut": truncate,
    "emptied": empty,
    "overwritten": overwrite_pages,
    "replaced": replace_file,
    "a table dropped": execute("DROP TABLE run_operation", "DROP TABLE run_snapshot", "DROP TABLE run"),
    "its version dropped": execute("DROP TABLE alembic_version"),
    "a text damaged": execute("DROP TRIGGER definition_version_is_immutable", "UPDATE definition SET body = '{\"x'"),
}
COMMANDS = [
    ["runs"],
    ["show", "run", "r1"],
    ["status"],
    ["slices"],
    ["periods"],
    ["plan"],
    ["apply"],
    ["gc", "--dry-run"],
    ["cancel", "r1"],
    ["periods", "close", "2026-01"],
]


@pytest.mark.parametrize("damage", [name for name in DAMAGES if name != "a text damaged"])
def test_every_command_says_that_the_store_is_damaged(
    root: Path, capsys: pytest.CaptureFixture[str], damage: str
) -> None:
    assert back_up(store_file(root)) is not None
    DAMAGES[damage](root)
    told = []
    for command in COMMANDS:
        code = main(command)
        told.append((command[0], code, capsys.readouterr().err[:11]))
    if damage == "a table dropped":
        # Commands that do not ask for the table do not notice.
        told = [each for each in told if each[1] != 0]
        assert len(told) >= 5
    assert {each[1:] for each in told} == {(2, "[STORE_041]")}, told
    assert main(["doctor", "--skip-spark"]) == 1
    assert "--restore" in capsys.readouterr().out


def test_a_damaged_text_is_told_where_it_is_read(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with open_store(URL, root=root) as store, store.write() as transaction:
        transaction.definitions.lock()
    (root / "orders.yaml").write_text("datasource: {id: lake, type: delta, options: {path: lake}}\n")
    assert main(["apply"]) == 0
    DAMAGES["a text damaged"](root)
    capsys.readouterr()
    assert main(["show", "datasource", "lake"]) == 2
    assert capsys.readouterr().err.startswith("[STORE_041]")


@pytest.mark.parametrize("damage", ["cut", "emptied", "overwritten", "replaced", "a table dropped"])
def test_a_backup_is_put_back_and_the_damaged_file_is_kept(
    root: Path, capsys: pytest.CaptureFixture[str], damage: str
) -> None:
    (backup,) = [back_up(store_file(root))]
    DAMAGES[damage](root)
    damaged = store_file(root).read_bytes()
    restored = restore_backup(store_file(root))
    assert restored.backup == backup
    assert restored.damaged.read_bytes() == damaged
    assert find_damage(store_file(root)) is None
    with open_store(URL, root=root) as store, store.read() as transaction:
        assert transaction.runs.get("r1").status == "completed"


def test_a_store_is_backed_up_once_a_day_on_use(root: Path) -> None:
    for _ in range(3):
        open_store(URL, root=root).close()
    (backup,) = list_backups(store_file(root))
    yesterday = backup.rename(backup.with_name("20200101T000000.db"))
    open_store(URL, root=root).close()
    assert len(list_backups(store_file(root))) == 2
    assert list_backups(store_file(root))[-1] == yesterday
    assert find_damage(list_backups(store_file(root))[0]) is None


def test_the_last_seven_are_kept(root: Path) -> None:
    folder = backup_folder(store_file(root))
    folder.mkdir(exist_ok=True)
    for day in range(10, 20):
        (folder / f"202001{day}T000000.db").write_bytes(b"old")
    back_up(store_file(root))
    names = [backup.name for backup in list_backups(store_file(root))]
    assert len(names) == 7
    assert names[-1] == "20200114T000000.db"


def test_a_damaged_store_pushes_no_backup_out(root: Path) -> None:
    back_up(store_file(root))
    before = list_backups(store_file(root))
    overwrite_pages(root)
    with pytest.raises(DaybookError) as caught:
        back_up(store_file(root))
    assert caught.value.code == "STORE_041"
    assert list_backups(store_file(root)) == before
    assert [each for each in backup_folder(store_file(root)).iterdir() if each not in before] == []


def test_a_store_is_backed_up_before_it_is_migrated(tmp_path: Path) -> None:
    url = "sqlite:///state/store.db"
    make_first_store(url, tmp_path)
    open_store(url, root=tmp_path).close()
    backups = list_backups(tmp_path / "state/store.db")
    with closing(sqlite3.connect(backups[-1])) as old:
        assert old.execute("SELECT version_num FROM alembic_version").fetchone() == ("0001",)


def test_a_store_that_cannot_be_backed_up_is_used_but_not_migrated(tmp_path: Path, root: Path) -> None:
    for backup in list_backups(store_file(root)):
        backup.unlink()
    folder = backup_folder(store_file(root))
    if folder.exists():
        folder.rmdir()
    folder.write_text("something else has this name")
    with open_store(URL, root=root) as store, store.read() as transaction:
        assert transaction.runs.get("r1").id == "r1"
    (tmp_path / "old").mkdir()
    make_first_store("sqlite:///state/store.db", tmp_path / "old")
    (tmp_path / "old/state/store.db-backups").write_text("something else has this name")
    with pytest.raises(DaybookError) as caught:
        open_store("sqlite:///state/store.db", root=tmp_path / "old")
    assert caught.value.code == "STORE_042"


def test_what_cannot_be_restored(root: Path) -> None:
    with pytest.raises(DaybookError) as sound:
        restore_backup(store_file(root))
    assert sound.value.code == "STORE_043"
    for backup in list_backups(store_file(root)):
        backup.write_bytes(b"damaged, too" * 1000)
    replace_file(root)
    with pytest.raises(DaybookError) as nothing:
        restore_backup(store_file(root))
    assert nothing.value.code == "STORE_044"


def test_definitions_survive_in_a_backup(root: Path) -> None:
    with open_store(URL, root=root) as store, store.write() as transaction:
        dataset = make_dataset({"a": "string"}, dataset_id="net")
        transaction.definitions.register(dataset, Registration("close", "r1", 20), now=NOW)
    back_up(store_file(root))
    truncate(root)
    restore_backup(store_file(root))
    with open_store(URL, root=root) as store, store.read() as transaction:
        assert transaction.definitions.versions("dataset", "net") == (1,)


def run_child(root: Path, text: str) -> subprocess.CompletedProcess[str]:
    """A process of its own that works on the store of a workspace."""
    start = f"import os, signal, resource\nfrom pathlib import Path\nroot = Path({str(root)!r})\n"
    return subprocess.run([sys.executable, "-c", start + text], capture_output=True, text=True, check=False, timeout=60)


KILLED_AT = """
from daybook.store.database import connection
def die(*_):
    os.kill(os.getpid(), signal.SIGKILL)
Path.replace = die
connection.{function}(root / ".daybook/store.db")
"""


def test_a_process_killed_while_it_restores_leaves_a_store_that_can_be_restored(root: Path) -> None:
    back_up(store_file(root))
    truncate(root)
    assert run_child(root, KILLED_AT.format(function="restore_backup")).returncode == -signal.SIGKILL
    with pytest.raises(DaybookError) as caught:
        open_store(URL, root=root)
    assert caught.value.code == "STORE_041"
    restore_backup(store_file(root))
    with open_store(URL, root=root) as store, store.read() as transaction:
        assert transaction.runs.get("r1").status == "completed"


def test_a_process_killed_while_it_backs_up_leaves_no_half_backup(root: Path) -> None:
    assert run_child(root, KILLED_AT.format(function="back_up")).returncode == -signal.SIGKILL
    assert list_backups(store_file(root)) == ()
    open_store(URL, root=root).close()
    assert [find_damage(backup) for backup in list_backups(store_file(root))] == [None]


FULL_DISK = """
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (65536, 65536))
from daybook.errors import DaybookError
from daybook.store import open_store
try:
    with open_store({url!r}, root=root) as store, store.read() as transaction:
        print(transaction.runs.get({run!r}).status)
except DaybookError as error:
    print(error.code)
"""


def test_a_full_disk_keeps_nobody_from_reading_and_migrates_nothing(root: Path, tmp_path: Path) -> None:
    settle(root)
    assert run_child(root, FULL_DISK.format(url=URL, run="r1")).stdout == "completed\n"
    assert list_backups(store_file(root)) == ()
    old = tmp_path / "old"
    old.mkdir()
    make_first_store("sqlite:///state/store.db", old)
    before = (old / "state/store.db").read_bytes()
    assert run_child(old, FULL_DISK.format(url="sqlite:///state/store.db", run="run-1")).stdout == "STORE_042\n"
    assert (old / "state/store.db").read_bytes() == before
