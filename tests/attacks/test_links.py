"""Every file of a data folder is read once, and no link leads out of it."""

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from daybook.errors import DaybookError
from daybook.io.filesystem import list_files
from daybook.io.formats.parquet.format import find_parquet
from daybook.io.landing.landing_request import find_text_files
from daybook.io.location_checks import check_locations_exist
from daybook.resolve.location import Location, Resolution
from tests.attacks.landed import dataset
from tests.attacks.tables import links


@pytest.fixture
def data(tmp_path: Path) -> Path:
    for name in ("data/2026-01/a.csv", "secret/b.csv"):
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_text("v\n1\n")
    return tmp_path / "data"


def listed(folder: Path, root: Path | None = None) -> list[str]:
    return [Path(file.path).relative_to(folder).as_posix() for file in list_files(str(folder), str(root or folder))]


@pytest.mark.parametrize(("name", "target", "words"), links.REFUSED)
def test_refused_with_its_path(data: Path, name: str, target: str, words: str) -> None:
    (data / name).symlink_to(target)
    with pytest.raises(DaybookError) as caught:
        listed(data)
    assert (caught.value.code, caught.value.parameters["link"]) == ("IO_035", str(data / name))
    assert words in caught.value.message


@pytest.mark.parametrize(("name", "target"), links.PASSED_OVER)
def test_passed_over(data: Path, name: str, target: str) -> None:
    (data / name).symlink_to(target)
    assert listed(data) == ["2026-01/a.csv"]


def test_a_file_with_two_names_is_refused(data: Path) -> None:
    os.link(data / "2026-01" / "a.csv", data / "2026-01" / "b.csv")
    with pytest.raises(DaybookError) as caught:
        listed(data)
    assert (caught.value.code, caught.value.parameters["link"]) == ("IO_035", str(data / "2026-01" / "b.csv"))


def test_a_file_whose_other_name_lies_elsewhere_is_read(data: Path) -> None:
    os.link(data / "2026-01" / "a.csv", data.parent / "copy.csv")
    assert listed(data) == ["2026-01/a.csv"]


def test_a_link_inside_the_data_source_is_followed_once(data: Path) -> None:
    (data / "table").mkdir()
    (data / "table" / "january").symlink_to("../2026-01")
    assert listed(data / "table", data) == ["january/a.csv"]
    (data / "table" / "january-again").symlink_to("../2026-01")
    with pytest.raises(DaybookError) as caught:
        listed(data / "table", data)
    assert caught.value.code == "IO_035"


def test_the_data_source_itself_may_be_a_link(data: Path) -> None:
    other = data.parent / "other"
    other.symlink_to(data)
    assert listed(other) == ["2026-01/a.csv"]


def test_a_folder_that_is_gone_is_empty(data: Path) -> None:
    assert list_files(str(data / "nothing")) == ()
    assert list_files(str(data / "2026-01" / "a.csv" / "x")) == ()


def test_readers_and_checks_refuse_a_link_out_of_the_data_source(data: Path) -> None:
    (data / "out.csv").symlink_to("../secret/b.csv")
    location = Location("csv", uri=str(data), root=str(data))
    version = dataset(v="integer")
    readers: list[Callable[[], object]] = [
        lambda: list(find_text_files(location, None)),
        lambda: find_parquet(replace(location, format="parquet"), version, None, None),
        lambda: check_locations_exist(Resolution((location,), ())),
    ]
    for read in readers:
        with pytest.raises(DaybookError) as caught:
            read()
        assert caught.value.code == "IO_035"


def test_a_name_that_is_too_long_is_a_coded_error(data: Path) -> None:
    with pytest.raises(DaybookError) as caught:
        list_files(str(data / ("x" * 5000)))
    assert caught.value.code == "IO_012"
