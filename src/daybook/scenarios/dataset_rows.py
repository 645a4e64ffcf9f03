"""The rows of a scenario's datasets as the engine takes them: exact values, never through floats.

They are given in the scenario, or an output of the scenario wrote them before.
"""

from collections.abc import Collection, Mapping
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession

from daybook.engine.source import ORDINAL_COLUMN, ORIGIN_COLUMN, SourceFrame
from daybook.errors import DaybookError
from daybook.errors.suggestion import did_you_mean
from daybook.io.bindings import PHYSICAL_TIME_COLUMNS, carried_types, validity_types
from daybook.io.column_types import arrow_type
from daybook.io.repeated_keys import find_repeated, report_repeated
from daybook.io.text_values import BadValueError, parse_texts
from daybook.model.dataset import Dataset, TemporalMode
from daybook.model.types import RUN_PERIOD_COLUMN, STRING, ColumnType, value_text
from daybook.scenarios.scenario import GivenDataset

_TIME_COLUMNS: Mapping[TemporalMode | None, frozenset[str]] = {
    "period": frozenset({"_period"}),
    "bitemporal": frozenset(PHYSICAL_TIME_COLUMNS),
    "snapshot": frozenset(),
    None: frozenset(),
}


def source_frame(spark: SparkSession, table: pa.Table, dataset: Dataset) -> SourceFrame:
    """Rows as the engine reads them; system columns among them are carried."""
    declared = {column.name for column in dataset.main_table.columns}
    types = {**carried_types(), **validity_types(dataset.main_table)}
    carried = frozenset(name for name in table.column_names if name in types and name not in declared)
    return SourceFrame(spark.createDataFrame(table), carried)


def written_rows(slices: Mapping[str, pa.Table], dataset: Dataset, given: pa.Table | None) -> pa.Table:
    """What outputs wrote for a dataset, period by period, beside the rows that are given for other periods."""
    types = {column.name: column.type for column in dataset.main_table.columns}
    tables = []
    for period, table in slices.items():
        if missing := sorted(types.keys() - set(table.column_names)):
            problem = f"{dataset.id} has a column {missing[0]}, which no output of the scenario writes"
            raise DaybookError("MODEL_070", problem=problem)
        system = {name: type_ for name, type_ in carried_types().items() if name in table.column_names}
        wanted = {**system, **types}
        columns = [table[name].combine_chunks().cast(arrow_type(type_)) for name, type_ in wanted.items()]
        size = table.num_rows
        extra = {
            RUN_PERIOD_COLUMN: pa.array([period] * size, pa.string()),
            ORIGIN_COLUMN: pa.array([period] * size, pa.string()),
            ORDINAL_COLUMN: pa.array(range(size), pa.int64()),
        }
        tables.append(pa.Table.from_arrays([*columns, *extra.values()], names=[*wanted, *extra]))
    if given is not None and given.num_rows:
        if "_period" in given.column_names and RUN_PERIOD_COLUMN not in given.column_names:
            given = given.append_column(RUN_PERIOD_COLUMN, given["_period"])
        tables.append(given)
    return pa.concat_tables(tables, promote_options="default")


def given_rows(given: GivenDataset, dataset: Dataset, period: str | None = None) -> pa.Table:
    """The rows that a scenario writes out; a column a row leaves out is NULL.

    Rows of a dataset of the workspace that leave out their period are of `period`.
    """
    declared = {column.name: column.type for column in dataset.main_table.columns}
    is_bitemporal = dataset.main_table.temporal_mode == "bitemporal"
    rows = [_with_validity(row, declared) if is_bitemporal else row for row in given.rows]
    if given.is_reference and period is not None and dataset.main_table.temporal_mode == "period":
        rows = [{"_period": period, **row} for row in rows]
    # Without rows nobody says that there is a column of time, and no row is of another time.
    named = {name for row in rows for name in row} if rows else _TIME_COLUMNS[dataset.main_table.temporal_mode]
    types = {**carried_types(), **validity_types(dataset.main_table)}
    carried = {name: type_ for name, type_ in types.items() if name in named}
    if unknown := sorted(named - declared.keys() - carried.keys()):
        hint = did_you_mean(unknown[0], tuple(declared))
        problem = f"{dataset.id} has no column {unknown[0]}"
        raise DaybookError("MODEL_070", span=given.source.span("rows"), problem=problem, hint=hint)
    types = {**declared, **carried}
    columns = [_arrow_column(given, rows, name, type_) for name, type_ in types.items()]
    places = pa.array(["rows"] * len(rows), pa.string())
    ordinals = pa.array(range(len(rows)), pa.int64())
    table = pa.Table.from_arrays([*columns, places, ordinals], names=[*types, ORIGIN_COLUMN, ORDINAL_COLUMN])
    report_repeated(dataset, find_repeated(table, dataset), dataset.id)
    return table


def _with_validity(row: Mapping[str, Any], declared: Collection[str]) -> dict[str, Any]:
    """A row's validity under its system names too; the physical names stay where they are declared."""
    times = {name: row[physical] for name, physical in PHYSICAL_TIME_COLUMNS.items() if physical in row}
    kept = {
        name: value for name, value in row.items() if name in declared or name not in PHYSICAL_TIME_COLUMNS.values()
    }
    return {**times, **kept}


def _arrow_column(given: GivenDataset, rows: list[dict[str, Any]], name: str, type_: ColumnType) -> pa.Array:
    texts = pa.array([None if row.get(name) is None else value_text(row[name]) for row in rows], pa.string())
    try:
        values = parse_texts(texts, type_)
    except BadValueError as bad:
        problem = f"{bad.value!r} is no {type_} for {name}"
        raise DaybookError("MODEL_070", span=given.source.span("rows", bad.index, name), problem=problem) from None
    return values if type_ == STRING else values.cast(arrow_type(type_))
