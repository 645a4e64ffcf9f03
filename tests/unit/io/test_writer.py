"""Which paths are one file and which are folders; only folders can be appended to."""

from pathlib import Path

import pytest

from daybook.errors import DaybookError
from daybook.io.formats.csv.format import CsvWriter
from daybook.io.target import FileTarget, OutputColumn, SliceOwner
from daybook.model.operation import OutputMode
from daybook.model.types import STRING
from daybook.resolve.location import Location


def refusal(path: Path, mode: OutputMode = "append") -> str | None:
    """What the writer has against appending to a path."""
    columns = (OutputColumn("a", STRING),)
    target = FileTarget(
        location=Location("csv", uri=str(path)),
        mode=mode,
        columns=columns,
        run_id="run",
        operation_seq=1,
        owner=SliceOwner("project", "output"),
    )
    try:
        CsvWriter().check(target)
    except DaybookError as error:
        return error.code
    return None


@pytest.mark.parametrize("path", ["x.csv", "x.CSV", "x.txt", "2026.01.csv", ".hidden.csv", "v1.2/x.c3"])
def test_a_path_that_ends_in_an_extension_is_one_file(tmp_path: Path, path: str) -> None:
    assert refusal(tmp_path / path) == "IO_022"


@pytest.mark.parametrize("path", ["x", "rep.01", "v1.2", "x.csv/parts", ".hidden", "ends.", "2026.Q-1"])
def test_a_path_without_one_is_a_folder(tmp_path: Path, path: str) -> None:
    assert refusal(tmp_path / path) is None


def test_a_check_sees_what_a_crash_left_aside_and_leaves_it_there(tmp_path: Path) -> None:
    aside = tmp_path / ".table.daybook-old"
    aside.mkdir()
    (aside / "part.csv").write_text("a\n1\n")
    assert refusal(tmp_path / "table", "error") == "IO_020"
    assert list(tmp_path.iterdir()) == [aside]


def test_a_folder_of_files_is_not_written_to_an_object_store() -> None:
    target = FileTarget(
        location=Location("csv", uri="s3://bucket/orders"),
        mode="replace",
        columns=(OutputColumn("a", STRING),),
        run_id="run",
        operation_seq=1,
        owner=SliceOwner("project", "output"),
    )
    with pytest.raises(DaybookError) as caught:
        CsvWriter().check(target)
    assert caught.value.code == "IO_025"
