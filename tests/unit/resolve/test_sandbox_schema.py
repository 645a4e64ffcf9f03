"""A sandbox that is a schema: its text in snapshots, its data source, and how tables of drafts are named."""

from typing import Any

import pytest

from daybook.definitions.value import Definitions, LatestVersion
from daybook.errors import DaybookError
from daybook.model.datasource import SparkCatalogSource
from daybook.model.settings import WorkspaceSettings
from daybook.resolve.sandbox_schema import sandbox_source, sandbox_table, sandbox_text, schema_of_sandbox

SOURCE = SparkCatalogSource.model_validate(
    {"id": "main", "name": "m", "type": "spark_catalog", "options": {"catalog": "lake", "schema": "close"}}
)
TEXT = "catalog://main/drafts"


def settings(sandbox: Any) -> WorkspaceSettings:
    return WorkspaceSettings.model_validate({"name": "w", "sandbox": sandbox})


def test_a_schema_and_a_folder_are_one_text_each() -> None:
    assert sandbox_text(settings({"datasource_id": "main", "schema": "drafts"})) == TEXT
    assert sandbox_text(settings("sandbox")) == "sandbox"
    assert sandbox_text(settings(None)) is None
    schema = schema_of_sandbox(TEXT)
    assert schema is not None
    assert (schema.datasource_id, schema.schema_name) == ("main", "drafts")
    assert schema_of_sandbox("s3://bucket/drafts") is None


def test_a_sandbox_needs_a_data_source_of_tables_by_name() -> None:
    known = Definitions(datasources={"main": LatestVersion.of(SOURCE)})
    assert sandbox_source(TEXT, known) is SOURCE
    assert sandbox_source("sandbox", known) is None
    with pytest.raises(DaybookError) as caught:
        sandbox_source(TEXT, Definitions())
    assert (caught.value.code, caught.value.parameters) == ("IO_082", {"datasource": "main"})


def test_tables_are_named_after_what_they_stand_for_and_never_alike() -> None:
    places = ["main.close.result", "main.close_result", "out/result.csv", "out/Result.csv"]
    locations = [sandbox_table(TEXT, SOURCE, place, "w1") for place in places]
    names = [str(location.table) for location in locations]
    assert [name.rpartition("_")[0] for name in names] == [
        "main_close_result",
        "main_close_result",
        "out_result_csv",
        "out_result_csv",
    ]
    assert len(set(names)) == len(places)
    assert {location.schema for location in locations} == {"drafts"}
    assert sandbox_table(TEXT, SOURCE, places[0], "w2").table != names[0]
