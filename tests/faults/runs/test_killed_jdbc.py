"""SIGKILL of a process that writes through JDBC, Java included: nothing is lost and nothing is doubled."""

import signal
import time
from pathlib import Path

import pytest

from tests.faults.runs.children import Child, child
from tests.faults.runs.dying import POINTS
from tests.spark.io.cases import DERBY
from tests.workspaces import Folder, to_table

_LOOKS = 2_400


def count(process: Child, url: str, table: str) -> int:
    process.tell(f"count {url} {table}")
    (rows,) = process.wait_for("counted")
    return int(rows)


def end(process: Child) -> None:
    """Let Java close the database."""
    process.tell("end")
    assert process.wait() == 0


def wait_until_java_has_ended(database: Path) -> None:
    """An embedded Derby is open in one Java process, whose death takes a moment after its parent's."""
    for _ in range(_LOOKS):
        if not _opened_by(database):
            return
        time.sleep(0.05)
    assert _opened_by(database) == []


def _opened_by(database: Path) -> list[str]:
    """The command lines of processes that have a file of it open."""
    programs = []
    for descriptors in Path("/proc").glob("[0-9]*/fd"):
        try:
            opened = [link.readlink() for link in descriptors.iterdir()]
        except OSError:
            continue
        if any(path.is_relative_to(database) for path in opened):
            programs.append((descriptors.parent / "cmdline").read_bytes().replace(b"\0", b" ").decode())
    return programs


@pytest.mark.slow
def test_every_point_of_an_append_and_a_replaced_slice(tmp_path: Path) -> None:
    folder = Folder.for_commands(tmp_path / "w")
    database = tmp_path / "derby"
    url = f"jdbc:derby:{database};create=true"
    folder.datasource("db", "jdbc", url=url, driver=DERBY)
    folder.project(to_table("APPENDED", "db", mode="append"), to_table("REPLACED", "db"))
    with child(folder) as process:
        process.tell("run")
        assert process.wait_for("ended") == ["completed"]
        end(process)
    wait_until_java_has_ended(database)
    rows = 3
    for point in POINTS:
        with child(folder) as process:
            process.tell(f"die {point} jdbc")
            process.tell("run")
            assert process.wait() == -signal.SIGKILL
        wait_until_java_has_ended(database)
        with child(folder) as process:
            was_written = point in ("after commit", "after record")
            assert count(process, url, "APPENDED") == rows + (3 if was_written else 0), point
            assert count(process, url, "REPLACED") == 3, point
            process.tell(f"retry {folder.last_run().id}")
            assert process.wait_for("ended") == ["completed"], point
            rows += 3
            assert (count(process, url, "APPENDED"), count(process, url, "REPLACED")) == (rows, 3), point
            end(process)
        wait_until_java_has_ended(database)
