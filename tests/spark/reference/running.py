"""A generated project through the planner and the engine."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from daybook.engine.pipeline import Pipeline
from daybook.engine.source import ORDINAL, PLACE, SourceFrame
from daybook.model.calendar import Calendar
from daybook.model.catalog import DatasetVersion, ResolverVersion
from daybook.model.datasource import DataSource
from daybook.model.loading.build import load_text
from daybook.model.system_columns import SYSTEM_COLUMNS
from daybook.model.types import INTEGER, STRING, ColumnType
from daybook.plan.plan import Plan
from daybook.plan.planning import plan_project
from tests.reference import declare
from tests.reference.operations import Table
from tests.reference.projects import GeneratedProject
from tests.spark.reference.comparing import CONSTANTS
from tests.spark.reference.frames import frame


class TableCatalog:
    """Knows the datasets of one project and nothing else."""

    def __init__(self, tables: Sequence[Table]) -> None:
        self._datasets = {table.dataset_id: DatasetVersion(_dataset(table), 1) for table in tables}

    def dataset(self, dataset_id: str, version: int | None = None) -> DatasetVersion | None:
        return self._datasets.get(dataset_id) if version in (None, 1) else None

    def dataset_versions(self, dataset_id: str) -> tuple[int, ...]:
        return (1,) if dataset_id in self._datasets else ()

    def datasource(self, datasource_id: str) -> DataSource | None:
        return None

    def is_datasource_disabled(self, datasource_id: str) -> bool:
        return False

    def resolver(self, resolver_id: str) -> ResolverVersion | None:
        return None

    def default_resolver(self) -> ResolverVersion | None:
        return None

    def calendar(self, calendar_id: str) -> Calendar | None:
        return None

    def ids(self, kind: Literal["dataset", "datasource", "resolver", "calendar"]) -> tuple[str, ...]:
        return tuple(self._datasets) if kind == "dataset" else ()


def _dataset(table: Table) -> Any:
    (definition,) = load_text(json.dumps({"dataset": declare.dataset(table)}), "dataset.json")
    return definition.model


def planned(generated: GeneratedProject) -> Plan:
    (definition,) = load_text(json.dumps({"project": declare.project(generated)}), "project.json")
    catalog = TableCatalog([generated.input, *generated.others])
    return plan_project(definition.model, definition.source, catalog, CONSTANTS, with_places=False)


def source_frame(spark: SparkSession, table: Table) -> SourceFrame:
    identity: dict[str, ColumnType] = {PLACE: STRING, ORDINAL: INTEGER}
    types = {**table.columns, **{name: SYSTEM_COLUMNS[name] for name in table.carried}, **identity}
    rows = [{**row, PLACE: "part-0", ORDINAL: number} for number, row in enumerate(table.rows)]
    return SourceFrame(frame(spark, rows, types), frozenset(table.carried))


@dataclass
class Written:
    """What the outputs of a run wrote, by seq."""

    rows: dict[int, list[dict[str, Any]]] = field(default_factory=dict)
    types: dict[int, Mapping[str, ColumnType]] = field(default_factory=dict)
    columns: dict[int, list[str]] = field(default_factory=dict)


def run(spark: SparkSession, generated: GeneratedProject, staging: str) -> Written:
    """Every output collected instead of stored; a check that fails raises before the outputs of its group count."""
    plan = planned(generated)
    tables = {table.dataset_id: table for table in (generated.input, *generated.others)}
    sources = {load.key: source_frame(spark, tables[load.version.dataset.id]) for load in plan.loads}
    pipeline = Pipeline(spark, plan, sources, staging=staging, as_of=generated.run.as_of)
    written = Written()
    try:
        for group in pipeline.groups():
            collected = {output.step.seq: output.df.toArrow() for output in group.outputs}
            group.verify()
            for output in group.outputs:
                table = collected[output.step.seq]
                written.rows[output.step.seq] = table.to_pylist()
                written.columns[output.step.seq] = table.column_names
                written.types[output.step.seq] = output.step.columns
    except PySparkException as error:
        raise pipeline.failure(error) from error
    finally:
        pipeline.close()
    return written
