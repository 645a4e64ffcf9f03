"""Text that PostgreSQL cannot hold is told by its column."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from daybook.errors import DaybookError
from daybook.io.target import OutputColumn
from daybook.model.datasource import PostgresqlSource
from daybook.model.types import INTEGER, STRING
from tests.spark.io.cases import CASES, Place, frame, write

COLUMNS = (OutputColumn("key", INTEGER), OutputColumn("other", STRING), OutputColumn("note", STRING))


def test_a_nul_character_is_named(spark: SparkSession, tmp_path: Path, postgresql: PostgresqlSource) -> None:
    place = Place(next(case for case in CASES if case.format == "postgresql"), tmp_path, postgresql)
    rows = [{"key": 1, "other": "a", "note": "fine"}, {"key": 2, "other": "b", "note": "x\0y"}]
    with pytest.raises(DaybookError) as refused:
        write(frame(spark, COLUMNS, rows), place.target(COLUMNS))
    assert (refused.value.code, refused.value.parameters["column"]) == ("IO_029", "note")
    assert "U+0000" in str(refused.value)
