"""Small files are landed while Spark starts."""

from pathlib import Path
from typing import NoReturn

import pytest

from daybook.errors import DaybookError
from daybook.io import read_source
from daybook.runs.run_result import RunFailedError
from tests.unit.runs.prepared import new_folder
from tests.workspaces import Folder, assign, to_table


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    made = new_folder(tmp_path)
    made.project(assign("net", "amount * 0.9"), to_table())
    return made


def landings(folder: Folder) -> int:
    return len([*(folder.root / ".daybook" / "landing").rglob("manifest.json")])


def landings_when_the_session_is_asked_for(folder: Folder) -> int:
    seen: list[int] = []

    def refuse() -> NoReturn:
        seen.append(landings(folder))
        raise DaybookError("RUN_908", remote="sc://here", reason="no answer")

    folder.session = refuse
    with pytest.raises(RunFailedError, match="RUN_908"):
        folder.run()
    return seen[0]


def test_a_small_file_is_landed_before_there_is_a_session(folder: Folder) -> None:
    assert landings_when_the_session_is_asked_for(folder) == 1


def test_a_large_file_waits_for_the_session(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(read_source, "_AHEAD_BYTES", 10)
    assert landings_when_the_session_is_asked_for(folder) == 0


def test_a_file_that_cannot_be_landed_is_reported_when_it_is_read(folder: Folder) -> None:
    file = next((folder.root / "data").rglob("*.csv"))
    file.write_text(file.read_text().replace("\n", "\nwrong,", 1))
    assert landings_when_the_session_is_asked_for(folder) == 0
