"""An output never touches an input, however the two are spelled, and no place is read twice."""

from pathlib import Path

import pytest

from daybook.errors import DaybookError, flatten
from daybook.io.location_checks import check_locations_exist, refuse_overlap, refuse_repeated_locations, target_overlaps
from daybook.io.target import SliceOwner, Target, target_at
from daybook.model.datasource import DataSource, PostgresqlOptions, PostgresqlSource, SqliteOptions, SqliteSource
from daybook.resolve.location import Location, Resolution


def target(workspace: Path, at: str | Location) -> Target:
    location = Location("delta", uri=at) if isinstance(at, str) else at
    return target_at(
        location,
        mode="replace",
        columns=(),
        run_id="r",
        operation_seq=1,
        owner=SliceOwner("p", "o"),
        workspace=workspace,
    )


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
    written = target(lake, Location("postgresql", table="t", datasource=postgresql("one")))
    same = Location("postgresql", table="t", schema="public", datasource=postgresql("two", host="127.0.0.1"))
    assert target_overlaps(written, same)
    assert not target_overlaps(written, Location("postgresql", table="t", schema="x", datasource=postgresql("two")))


def test_a_folder_may_not_hold_the_database_that_is_read(lake: Path) -> None:
    source = SqliteSource(id="s", name="s", type="sqlite", options=SqliteOptions(path="lake/data.db"))
    assert target_overlaps(target(lake, "lake"), Location("sqlite", table="t", datasource=source))
    assert not target_overlaps(target(lake, "elsewhere"), Location("sqlite", table="t", datasource=source))


def resolution(*uris: str) -> Resolution:
    return Resolution(tuple(Location("csv", uri=uri) for uri in uris), ())


@pytest.mark.parametrize("second", ["orders", "orders/", "alias/orders", "orders/2026-01.csv", "."])
def test_no_place_is_read_twice(lake: Path, second: str) -> None:
    other = str(lake / second) if second.startswith("alias") else str(lake / "lake" / second)
    with pytest.raises(DaybookError) as caught:
        refuse_repeated_locations(resolution(str(lake / "lake" / "orders"), other), lake)
    assert caught.value.code == "IO_038"


def test_neighbours_are_read_together(lake: Path) -> None:
    places = ("orders", "orders2", "Orders", "orders-1.csv", "order")
    refuse_repeated_locations(resolution(*(str(lake / "lake" / place) for place in places)), lake)
    remote = resolution("s3://bucket/a", "s3://bucket/ab", "s3://other/a")
    refuse_repeated_locations(remote, lake)


def test_what_is_missing_is_named_with_an_empty_folder_called_empty(lake: Path) -> None:
    with pytest.raises(DaybookError) as caught:
        check_locations_exist(resolution(str(lake / "lake" / "orders"), str(lake / "no.csv")))
    assert [error.code for error in flatten(caught.value)] == ["IO_036", "IO_001"]


def test_of_many_missing_locations_the_first_few_are_named(lake: Path) -> None:
    with pytest.raises(DaybookError) as caught:
        check_locations_exist(resolution(*(str(lake / f"{number}.csv") for number in range(7))))
    assert (caught.value.code, caught.value.parameters["count"], caught.value.parameters["total"]) == ("IO_037", 7, 7)
    assert "3.csv" not in caught.value.message
    with pytest.raises(DaybookError) as caught:
        check_locations_exist(resolution(*(str(lake / f"{number}.csv") for number in range(20_000))))
    assert caught.value.parameters["count"] == "at least 100"
