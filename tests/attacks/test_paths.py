"""No path leads out of the place that it is written below."""

from pathlib import Path

import pytest

from daybook.errors import DaybookError
from daybook.model.datasource import FolderOptions, FolderSource
from daybook.resolve.location import inline_location, path_location, table_location
from tests.attacks.tables import paths

LAKE = FolderSource(id="lake", name="lake", type="csv", options=FolderOptions(path="lake"))


def code_of(error: pytest.ExceptionInfo[DaybookError]) -> str:
    return error.value.code


@pytest.mark.parametrize("path", [*paths.REFUSED, *paths.REFUSED_BELOW_A_SOURCE], ids=lambda path: ascii(path)[:40])
def test_below_a_data_source(tmp_path: Path, path: str) -> None:
    with pytest.raises(DaybookError) as caught:
        path_location(LAKE, path, tmp_path)
    assert code_of(caught) == "RESOLVE_035"
    with pytest.raises(DaybookError) as caught:
        table_location(LAKE, path, None, tmp_path)
    assert code_of(caught) == "RESOLVE_038"


@pytest.mark.parametrize("path", paths.REFUSED, ids=lambda path: ascii(path)[:40])
def test_inline(tmp_path: Path, path: str) -> None:
    with pytest.raises(DaybookError) as caught:
        inline_location(path, "csv", {}, tmp_path)
    assert code_of(caught) == "RESOLVE_035"


@pytest.mark.parametrize("path", paths.ORDINARY, ids=lambda path: ascii(path)[:40])
def test_ordinary(tmp_path: Path, path: str) -> None:
    assert path_location(LAKE, path, tmp_path).uri == f"{tmp_path}/lake/{path}"
    assert inline_location(path, "csv", {}, tmp_path).uri == f"{tmp_path}/{path}"


def test_a_link_on_the_way_does_not_lead_out(tmp_path: Path) -> None:
    (tmp_path / "workspace" / "lake").mkdir(parents=True)
    (tmp_path / "secret.csv").write_text("a\n")
    for link in ("lake/out.csv", "out.csv"):
        (tmp_path / "workspace" / link).symlink_to(tmp_path / "secret.csv")
    with pytest.raises(DaybookError) as caught:
        path_location(LAKE, "out.csv", tmp_path / "workspace")
    assert code_of(caught) == "RESOLVE_036"
    with pytest.raises(DaybookError) as caught:
        inline_location("out.csv", "csv", {}, tmp_path / "workspace")
    assert code_of(caught) == "RESOLVE_036"
