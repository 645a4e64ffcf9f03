"""Which catalog a data source is, with what properties and secrets."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, cast
from unittest.mock import patch

import pytest
from pydantic import ValidationError

from daybook.errors import DaybookError
from daybook.io.formats.iceberg.catalog import opened_catalog
from daybook.io.formats.iceberg.format import FORMAT
from daybook.io.location_checks import location_identity
from daybook.model.datasource import IcebergSource
from daybook.resolve.location import table_location
from tests.unit.io.formats.iceberg.lake import WRITER, Lake, source


class _Catalog:
    """Remembers what it was made of."""

    def __init__(self, name: str, **properties: str) -> None:
        self.name = name
        self.properties = properties

    def _load_file_io(self, properties: dict[str, str], _: str | None = None) -> dict[str, str]:
        return {**self.properties, **properties}

    def close(self) -> None:
        return


def opened(given: IcebergSource, root: Path, kind: str) -> _Catalog:
    module = {"rest": "pyiceberg.catalog.rest.RestCatalog", "sql": "pyiceberg.catalog.sql.SqlCatalog"}[kind]
    with patch(module, _Catalog), opened_catalog(given, root, creates=True) as catalog:
        return cast(_Catalog, catalog)


def with_secret(given: IcebergSource, reference: str) -> IcebergSource:
    return given.model_copy(update={"credential_ref": reference})


def test_a_sql_catalog_is_a_file_in_its_warehouse(tmp_path: Path) -> None:
    catalog = opened(source(), tmp_path, "sql")
    warehouse = f"{tmp_path}/lake"
    assert (catalog.name, catalog.properties["warehouse"]) == ("default", warehouse)
    assert catalog.properties["uri"] == f"sqlite:///{warehouse}/catalog.db"
    elsewhere = opened(source(uri="sqlite:///meta/ice.db", properties={"name": "prod"}), tmp_path, "sql")
    assert (elsewhere.name, elsewhere.properties["uri"]) == ("prod", f"sqlite:///{tmp_path}/meta/ice.db")


def test_a_secret_goes_to_the_catalog_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rest = source(catalog="rest", uri="https://catalog.example/v1", warehouse="finance")
    monkeypatch.setenv("LAKE_TOKEN", "t0ken")
    properties = opened(with_secret(rest, "env://LAKE_TOKEN"), tmp_path, "rest").properties
    assert (properties["token"], properties["warehouse"]) == ("t0ken", "finance")
    monkeypatch.setenv("LAKE_TOKEN", "client:secret")
    properties = opened(with_secret(rest, "env://LAKE_TOKEN"), tmp_path, "rest").properties
    assert (properties["credential"], properties["uri"]) == ("client:secret", "https://catalog.example")
    assert properties["oauth2-server-uri"] == "https://catalog.example/v1/oauth/tokens"
    postgres = source(uri="postgresql+psycopg://close@db/catalog")
    monkeypatch.setenv("LAKE_TOKEN", "p@ss")
    properties = opened(with_secret(postgres, "env://LAKE_TOKEN"), tmp_path, "sql").properties
    assert properties["uri"] == "postgresql+psycopg://close:p%40ss@db/catalog"


def test_properties_are_texts_and_may_refer_to_secrets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("S3_SECRET", "hidden")
    given: dict[str, Any] = {"s3.secret-access-key": "env://S3_SECRET", "s3.force-virtual-addressing": False}
    rest = source(catalog="rest", uri="https://catalog.example", properties=given)
    properties = opened(rest, tmp_path, "rest").properties
    assert properties["s3.secret-access-key"] == "hidden"
    assert properties["s3.force-virtual-addressing"] == "false"


def test_neither_the_server_of_a_catalog_nor_a_table_says_what_is_imported(tmp_path: Path) -> None:
    catalog = opened(source(catalog="rest", uri="https://catalog.example"), tmp_path, "rest")
    catalog.properties["py-io-impl"] = "of.the.Server"
    loaded = catalog._load_file_io({"py-io-impl": "of.a.Table", "s3.region": "r"})
    assert loaded["py-io-impl"] == "pyiceberg.io.pyarrow.PyArrowFileIO"
    assert loaded["s3.region"] == "r"


@pytest.mark.parametrize(
    "options",
    [
        {"warehouse": None},
        {"catalog": "rest"},
        {"catalog": "hive"},
        {"namespace": "a..b"},
        {"namespace": "../a"},
        {"properties": {"py-io-impl": "os.system"}},
        {"properties": {"py-catalog-impl": "os.system"}},
        {"properties": {"uri": "sqlite:///x"}},
    ],
    ids=repr,
)
def test_options_that_name_no_catalog_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match="MODEL_028"):
        source(**options)


def test_a_table_is_named_with_or_without_its_namespace(tmp_path: Path) -> None:
    lake = source()
    short, long = (table_location(lake, name, None, tmp_path) for name in ("journal", "close.journal"))
    assert short == long
    assert short.label == "lake.close.journal"
    assert location_identity(short, tmp_path) == f"iceberg:{tmp_path}/lake/close.journal"
    nested = table_location(lake, "finance.close.journal", None, tmp_path)
    assert (nested.schema, nested.table) == ("finance.close", "journal")
    for name in ("../journal", "a/b", "", ".x", "a..b"):
        with pytest.raises(DaybookError) as caught:
            table_location(lake, name, None, tmp_path)
        assert caught.value.code == "RESOLVE_038"


def test_a_catalog_that_cannot_be_reached_is_told_without_its_secret(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LAKE_TOKEN", "t0ken")
    rest = with_secret(source(catalog="rest", uri="http://127.0.0.1:9"), "env://LAKE_TOKEN")
    with pytest.raises(DaybookError) as caught:
        FORMAT.ping(rest, tmp_path)
    assert caught.value.code == "IO_012"
    assert "t0ken" not in str(caught.value)


def test_looking_at_a_catalog_that_is_not_there_yet_makes_none(tmp_path: Path) -> None:
    assert FORMAT.ping(source(), tmp_path) == "sql catalog, namespace close (created by the first write)"
    assert list(tmp_path.iterdir()) == []


# Threads that use SQLAlchemy for the first time at once may each make the same class; it keeps one of them.
@pytest.mark.filterwarnings("ignore:Class AnnotatedInsert:sqlalchemy.exc.SAWarning")
def test_many_that_open_a_new_catalog_at_once_all_find_it(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    targets = [lake.target(run_period=f"2026-{month:02}") for month in range(1, 7)]
    with ThreadPoolExecutor(len(targets)) as pool:
        staged = list(pool.map(lake.stage, targets, "abcdef"))
        commits = list(pool.map(WRITER.commit, staged, targets))
    assert [commit.rows for commit in commits] == [1] * 6
    assert [key for key, _ in lake.rows()] == list("abcdef")
