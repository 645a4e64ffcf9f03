"""A generated project through the planner and the engine."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pyspark.sql import SparkSession

from daybook.engine.context import ORDINAL_COLUMN, ORIGIN_COLUMN, SourceFrame, SourceRows
from daybook.engine.pipeline import Pipeline
from daybook.model.types import INTEGER, STRING, SYSTEM_COLUMNS, ColumnType
from tests.reference.generated import GeneratedProject
from tests.reference.operations import Table
from tests.reference.planning import planned
from tests.spark.reference.frames import frame


def source_frame(spark: SparkSession, table: Table) -> SourceFrame:
    identity: dict[str, ColumnType] = {ORIGIN_COLUMN: STRING, ORDINAL_COLUMN: INTEGER}
    types = {**table.columns, **{name: SYSTEM_COLUMNS.get(name, STRING) for name in table.carried}, **identity}
    rows = [{**row, ORIGIN_COLUMN: "part-0", ORDINAL_COLUMN: number} for number, row in enumerate(table.rows)]
    return SourceFrame(SourceRows.of(frame(spark, rows, types)), frozenset(table.carried))


@dataclass
class Written:
    """What the outputs of a run wrote, and the rows that the others picked and added, by seq."""

    rows: dict[int, list[dict[str, Any]]] = field(default_factory=dict)
    types: dict[int, Mapping[str, ColumnType]] = field(default_factory=dict)
    columns: dict[int, list[str]] = field(default_factory=dict)
    counts: dict[int, tuple[int, int]] = field(default_factory=dict)


def run(spark: SparkSession, generated: GeneratedProject, staging: str) -> Written:
    """Every output collected instead of stored; a check that fails raises before the outputs of its group count."""
    plan = planned(generated)
    tables = {table.dataset_id: table for table in (generated.input, *generated.others)}
    sources = {load.key: source_frame(spark, tables[load.version.dataset.id]) for load in plan.loads}
    written = Written()
    with Pipeline(spark, plan, sources, staging=staging, as_of=generated.run.as_of) as pipeline:
        for group in pipeline.groups():
            collected = {output.step.seq: output.df.toArrow() for output in group.outputs}
            group.verify()
            counts = group.counts()
            if counts.input_rows is not None:
                written.counts[0] = counts.input_rows, 0
            written.counts |= {each.seq: (each.picked, each.added) for each in counts.operations}
            for output in group.outputs:
                table = collected[output.step.seq]
                written.rows[output.step.seq] = table.to_pylist()
                written.columns[output.step.seq] = table.column_names
                written.types[output.step.seq] = output.step.columns
    return written
