"""Rows written in a scenario as the engine takes them: exact values, never through floats."""

from collections.abc import Collection, Mapping
from decimal import Decimal
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession

from daybook.engine.source import ORDINAL, PLACE, SourceFrame
from daybook.errors import DaybookError
from daybook.io.column_types import arrow_type
from daybook.io.tables import TIME_NAMES, carried_types
from daybook.io.text_values import BadValue, parse
from daybook.model.suggestion import did_you_mean
from daybook.model.types import STRING, ColumnType
from daybook.scenarios.scenario import GivenDataset


def given_frame(spark: SparkSession, given: GivenDataset) -> SourceFrame:
    """The rows of a dataset; a column a row leaves out is NULL."""
    declared = {column.name: column.type for column in given.version.dataset.main_table.columns}
    is_bitemporal = given.version.dataset.main_table.temporal_mode == "bitemporal"
    rows = [_with_time(row, declared) if is_bitemporal else row for row in given.rows]
    named = {name for row in rows for name in row}
    carried = {name: type_ for name, type_ in carried_types().items() if name in named}
    if unknown := sorted(named - declared.keys() - carried.keys()):
        hint = did_you_mean(unknown[0], tuple(declared))
        problem = f"{given.version.dataset.id} has no column {unknown[0]}"
        raise DaybookError("MODEL_070", span=given.source.span("rows"), problem=problem, hint=hint)
    types = {**declared, **carried}
    columns = [_column(given, rows, name, type_) for name, type_ in types.items()]
    places = pa.array(["rows"] * len(rows), pa.string())
    ordinals = pa.array(range(len(rows)), pa.int64())
    table = pa.Table.from_arrays([*columns, places, ordinals], names=[*types, PLACE, ORDINAL])
    return SourceFrame(spark.createDataFrame(table), frozenset(carried))


def _with_time(row: Mapping[str, Any], declared: Collection[str]) -> dict[str, Any]:
    """A row's validity under its system names too; the physical names stay where they are declared."""
    times = {name: row[physical] for name, physical in TIME_NAMES.items() if physical in row}
    kept = {name: value for name, value in row.items() if name in declared or name not in TIME_NAMES.values()}
    return {**times, **kept}


def _column(given: GivenDataset, rows: list[dict[str, Any]], name: str, type_: ColumnType) -> pa.Array:
    texts = pa.array([_text(row.get(name)) for row in rows], pa.string())
    try:
        values = parse(texts, type_)
    except BadValue as bad:
        problem = f"{bad.value!r} is no {type_} for {name}"
        raise DaybookError("MODEL_070", span=given.source.span("rows", bad.index, name), problem=problem) from None
    return values if type_ == STRING else values.cast(arrow_type(type_))


def _text(value: Any) -> str | None:
    match value:
        case None:
            return None
        case bool():
            return "true" if value else "false"
        case Decimal():
            return format(value, "f")
        case _:
            return str(value)
