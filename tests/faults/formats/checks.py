"""What must hold after every fault: the old rows or the new, once, and no litter that cannot be found."""

from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from daybook.io.leftovers import find_staged_leftovers, remove_leftover
from daybook.io.target import OutputColumn, Target
from daybook.model.types import INTEGER, STRING
from tests.spark.io.cases import Place, read_target

COLUMNS = (OutputColumn("key", STRING), OutputColumn("number", INTEGER))
PERIOD = "2026-01"


def rows(spark: SparkSession, key: str, count: int = 90, parts: int = 3) -> DataFrame:
    return spark.range(0, count, 1, parts).selectExpr(f"'{key}' as key", "id as number")


def found(spark: SparkSession, target: Target) -> dict[str, int]:
    """Rows by key."""
    df = read_target(spark, target, COLUMNS).frame.rows.identified
    return {row[0]: row[1] for row in df.groupBy("key").count().collect()}


def sweep(place: Place, target: Target, live: tuple[str, ...] = ()) -> int:
    """Find and remove litter the way `daybook doctor` does; how much there was."""
    at = target.location
    folders = [str(Path(at.uri).parent)] if at.uri else []
    sources = [at.datasource] if at.datasource else []
    litter = find_staged_leftovers(folders, sources, live, place.workspace)
    for each in litter:
        remove_leftover(each, place.workspace)
    assert find_staged_leftovers(folders, sources, live, place.workspace) == ()
    return len(litter)
