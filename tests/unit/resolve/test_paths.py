"""Paths that stay below their root."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from daybook.errors import DaybookError
from daybook.resolve.paths import absolute_root, join_inside


@pytest.mark.parametrize(
    "path",
    [
        "..",
        "../x",
        "a/../../x",
        "a/..",
        "./a",
        "/etc/passwd",
        "//host/share",
        "a//b",
        "~/x",
        "~root/x",
        "a\\..\\b",
        "\\\\host\\share",
        "a\0b",
        "a\nb",
        "*.csv",
        "2026-0?.csv",
        "[ab].csv",
        "{a,b}.csv",
        "%2e%2e/x",
        "a%2Fb",
        "a%00",
        "file:///etc/passwd",
        "s3a://other/x",
        "http:x",
        "",
        "/",
    ],
)
@pytest.mark.parametrize("root", ["local", "s3a://bucket/data"])
def test_what_could_mean_another_place_is_refused(tmp_path: Path, path: str, root: str) -> None:
    with pytest.raises(DaybookError) as caught:
        join_inside(str(tmp_path) if root == "local" else root, path)
    assert caught.value.code == "RESOLVE_035"


@pytest.mark.parametrize(
    "path",
    ["orders", "2026/01/orders.csv", "a b/ü.csv", "region=emea/x", "50%.csv", "...", "..a/b..", "a:b", "orders/"],
)
def test_ordinary_paths(tmp_path: Path, path: str) -> None:
    assert join_inside(str(tmp_path), path) == f"{tmp_path}/{path.rstrip('/')}"
    assert join_inside("s3a://bucket", path) == f"s3a://bucket/{path.rstrip('/')}"


def test_a_link_out_of_the_root_is_refused(tmp_path: Path) -> None:
    (tmp_path / "root").mkdir()
    (tmp_path / "secret").mkdir()
    (tmp_path / "root" / "out").symlink_to(tmp_path / "secret")
    (tmp_path / "root" / "deep").mkdir()
    (tmp_path / "root" / "deep" / "file.csv").symlink_to(tmp_path / "secret" / "x.csv")
    for path in ("out", "out/new/x.csv", "deep/file.csv"):
        with pytest.raises(DaybookError) as caught:
            join_inside(str(tmp_path / "root"), path)
        assert caught.value.code == "RESOLVE_036"


def test_links_within_the_root_and_to_the_root_are_fine(tmp_path: Path) -> None:
    (tmp_path / "real" / "2026").mkdir(parents=True)
    (tmp_path / "root").symlink_to(tmp_path / "real")
    (tmp_path / "real" / "latest").symlink_to(tmp_path / "real" / "2026")
    assert join_inside(str(tmp_path / "root"), "latest/x.csv") == f"{tmp_path}/root/latest/x.csv"


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("lake", "/ws/lake"),
        ("./lake/", "/ws/lake"),
        ("../shared", "/shared"),
        ("/data/lake", "/data/lake"),
        ("file:///data/my%20lake", "/data/my lake"),
        ("file:/data", "/data"),
        ("file://localhost/data", "/data"),
        ("s3a://bucket/lake/", "s3://bucket/lake"),
        ("abfss://c@account.dfs.core.windows.net/x", "abfss://c@account.dfs.core.windows.net/x"),
    ],
)
def test_roots(written: str, expected: str) -> None:
    assert absolute_root(written, Path("/ws")) == expected


@pytest.mark.parametrize(
    "written",
    [
        "~/lake",
        "a\0",
        "lake/*",
        "[x]",
        "file://host/data",
        "s3a:lake",
        "s3a://key:hunter2@b/x",
        "s3a://b/../c",
        "s3a://b/x?y=1",
    ],
)
def test_roots_that_are_refused(written: str) -> None:
    with pytest.raises(DaybookError) as caught:
        absolute_root(written, Path("/ws"))
    assert caught.value.code == "RESOLVE_035"
    assert "hunter2" not in str(caught.value)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(alphabet="./\\~%2eEfF*:ab\0", max_size=12))
def test_no_path_leaves_its_root(tmp_path: Path, path: str) -> None:
    try:
        joined = join_inside(str(tmp_path), path)
    except DaybookError:
        return
    assert Path(joined).resolve().is_relative_to(tmp_path.resolve())
    assert Path(joined).resolve() != tmp_path.resolve()
