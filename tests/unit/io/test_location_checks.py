"""An output never touches an input, however the two are spelled."""

from dataclasses import replace
from pathlib import Path

import pytest

from daybook.errors import DaybookError
from daybook.io.location_checks import refuse_overlap, target_overlaps
from daybook.io.writer import SliceOwner, Target
from daybook.model.datasource import DataSource, PostgresqlOptions, PostgresqlSource, SqliteOptions, SqliteSource
from daybook.resolve.locations.location import Location


def target(workspace: Path, uri: str | None = None, **changes: object) -> Target:
    owner = SliceOwner("p", "o")
    base = Target("delta", "replace", (), "r", 1, owner, uri=uri, workspace=workspace)
    return replace(base, **changes)  # type: ignore[arg-type]


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    (tmp_path / "lake" / "orders").mkdir(parents=True)
    (tmp_path / "alias").symlink_to(tmp_path / "lake")
    return tmp_path


@pytest.mark.parametrize(
    "spelling",
    [
        "{root}/lake/orders",
        "{root}/lake/orders/",
        "{root}//lake///orders",
        "{root}/lake/../lake/./orders",
        "file://{root}/lake/orders",
        "file:{root}/lake/orders",
        "FILE:///{root}/lake/orders",
        "lake/orders",
        "./lake/orders",
        "{root}/alias/orders",
        "{root}/LAKE/Orders",
        "{root}/lake",
        "{root}/lake/orders/part-0.parquet",
        "{root}/lake/orders/new/below",
    ],
)
def test_equal_inside_and_above_in_every_spelling(lake: Path, spelling: str) -> None:
    written = target(lake, spelling.format(root=lake))
    source = Location("parquet", uri=str(lake / "lake" / "orders"))
    assert target_overlaps(written, source)
    with pytest.raises(DaybookError) as caught:
        refuse_overlap(written, [source])
    assert caught.value.code == "IO_027"


@pytest.mark.parametrize("spelling", ["{root}/lake/orders2", "{root}/lake/order", "{root}/other/orders", "orders"])
def test_neighbours_do_not_overlap(lake: Path, spelling: str) -> None:
    source = Location("parquet", uri=str(lake / "lake" / "orders"))
    assert not target_overlaps(target(lake, spelling.format(root=lake)), source)


@pytest.mark.parametrize(
    ("one", "two", "expected"),
    [
        ("s3://bucket/a", "s3a://bucket/a/", True),
        ("s3://bucket/a/b/../c", "s3://bucket//a/c/d", True),
        ("s3://bucket/a", "s3://other/a", False),
        ("s3://bucket/a", "s3://bucket/ab", False),
    ],
)
def test_object_stores(lake: Path, one: str, two: str, expected: bool) -> None:
    assert target_overlaps(target(lake, one), Location("delta", uri=two)) is expected


def postgresql(id_: str, **options: object) -> DataSource:
    return PostgresqlSource(
        id=id_, name=id_, type="postgresql", options=PostgresqlOptions.model_validate({"database": "d", **options})
    )


def test_tables_are_the_same_through_two_data_sources(lake: Path) -> None:
    written = target(lake, None, format="postgresql", table="t", datasource=postgresql("one"))
    same = Location("postgresql", table="t", schema="public", datasource=postgresql("two", host="127.0.0.1"))
    assert target_overlaps(written, same)
    assert not target_overlaps(written, Location("postgresql", table="t", schema="x", datasource=postgresql("two")))


def test_a_folder_may_not_hold_the_database_that_is_read(lake: Path) -> None:
    source = SqliteSource(id="s", name="s", type="sqlite", options=SqliteOptions(path="lake/data.db"))
    assert target_overlaps(target(lake, "lake"), Location("sqlite", table="t", datasource=source))
    assert not target_overlaps(target(lake, "elsewhere"), Location("sqlite", table="t", datasource=source))
