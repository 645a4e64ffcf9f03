"""How long an append takes in a warm session: simple, filtered and aggregated, planning and execution apart.

python -m benchmarks.append_latency [--rows 10000 100000] [--rounds 9]

The working dataset and the source are Parquet files of so many rows each, read again in every round. Daybook loads and
checks the definitions (planning) and builds frames, which Spark analyses (building); Spark optimises; then all columns
of all rows are computed and thrown away. What the specification expects is for a library inside one process, without a
scheduler; it is shown for comparison, and nothing is tuned for it.
"""

import argparse
import datetime
import statistics
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from benchmarks.figures import record
from benchmarks.meter import Reading, measure
from daybook.definitions.files import definitions_of_files
from daybook.definitions.loading.definition_texts import load_text
from daybook.definitions.loading.loaded_workspace import LoadedWorkspace
from daybook.engine.context import ORDINAL_COLUMN, ORIGIN_COLUMN, SourceFrame, SourceRows
from daybook.engine.java.session import start_session, stop_session
from daybook.engine.pipeline import Pipeline
from daybook.expression import Constants
from daybook.model.calendar import Period
from daybook.model.definition import DEFINITION_KINDS
from daybook.model.settings import EngineSettings, WorkspaceSettings
from daybook.plan.plan_project import plan_project
from daybook.plan.steps import Plan

Result = TypeVar("Result")

NOW = datetime.datetime(2026, 2, 1, 12, tzinfo=datetime.UTC)
JANUARY = Period("2026-01", "month", datetime.date(2026, 1, 1), datetime.date(2026, 1, 31))
PERIOD = "'2026-01' _period"
SCHEMAS = {
    "orders": "order_id STRING, region STRING, amount DECIMAL(18,2), _period STRING",
    "budgets": "region STRING, amount DECIMAL(18,2), _period STRING",
}

FILTER = 'source_selector: budgets.region <> "APAC"'
GROUPS = "aggregation: {group_by: [region], aggregations: [{column: amount, expression: SUM(amount)}]}"

# What the append has beside its source, and what the specification expects of 10,000 and 100,000 rows.
CASES: dict[str, tuple[tuple[str, ...], dict[int, int]]] = {
    "simple": ((), {10_000: 10, 100_000: 10}),
    "filtered": ((FILTER,), {10_000: 15, 100_000: 20}),
    "aggregated": ((FILTER, GROUPS), {10_000: 30, 100_000: 50}),
}

DATASETS = """
dataset:
  id: orders
  name: Orders
  main_table:
    name: orders
    temporal_mode: period
    columns: [{name: order_id, type: string}, {name: region, type: string}, {name: amount, type: "decimal(18,2)"}]
---
dataset:
  id: budgets
  name: Budgets
  main_table:
    name: budgets
    temporal_mode: period
    columns: [{name: region, type: string}, {name: amount, type: "decimal(18,2)"}]
---
"""


@dataclass(frozen=True, slots=True)
class Timing:
    """Seconds of one round."""

    planning: float
    building: float
    optimising: float
    execution: float
    # Of Python and Java, in all phases: what a busy machine does not change much.
    processor: float

    @property
    def total(self) -> float:
        return self.planning + self.building + self.optimising + self.execution


def definitions(extras: tuple[str, ...]) -> str:
    arguments = "".join(f", {extra}" for extra in extras)
    return f"""{DATASETS}
project:
  id: latency
  name: Latency
  input: {{dataset_id: orders}}
  operations:
    - {{type: append, arguments: {{source: {{dataset_id: budgets}}{arguments}}}}}
    - {{type: output, arguments: {{destination: {{location: out}}}}}}
"""


def planned(extras: tuple[str, ...]) -> Plan:
    loaded = load_text(definitions(extras), "latency.yaml")
    by_kind = {kind: {each.id: each for each in loaded if each.kind == kind} for kind in DEFINITION_KINDS}
    catalog = definitions_of_files(LoadedWorkspace(Path(), WorkspaceSettings(name="latency"), by_kind))
    project = by_kind["project"]["latency"]
    return plan_project(project.model, project.source, catalog, Constants(NOW, JANUARY), with_locations=False)


def make_data(spark: SparkSession, rows: int, folder: Path) -> None:
    region = "element_at(array('EMEA', 'AMER', 'APAC'), cast(id % 3 + 1 as int)) region"
    amount = "cast(id % 1000003 / 100 as decimal(18,2)) amount"
    numbers = spark.range(0, rows, 1, 1)
    numbers.selectExpr("concat('O-', id) order_id", region, amount, PERIOD).write.parquet(f"{folder}/orders")
    numbers.selectExpr(region, amount, PERIOD).write.parquet(f"{folder}/budgets")


def frame(spark: SparkSession, path: Path) -> SourceFrame:
    place = sf.regexp_extract("_metadata.file_path", "[^/]+$", 0)
    df = (
        spark.read.schema(SCHEMAS[path.name])
        .parquet(str(path))
        .select("*", place.alias(ORIGIN_COLUMN), sf.col("_metadata.row_index").alias(ORDINAL_COLUMN))
    )
    return SourceFrame(SourceRows.of(df), frozenset({"_period"}))


def one_round(spark: SparkSession, extras: tuple[str, ...], folder: Path) -> Timing:
    phases: list[Reading] = []
    plan = _timed(phases, lambda: planned(extras))
    by_dataset = {dataset: frame(spark, folder / dataset) for dataset in SCHEMAS}
    sources = {load.key: by_dataset[load.dataset_id] for load in plan.loads}
    with Pipeline(spark, plan, sources, staging=str(folder / "staging")) as pipeline:
        (group,) = _timed(phases, lambda: tuple(pipeline.groups()))
        df = group.outputs[0].df
        _timed(phases, lambda: _physical_plan(df))
        _timed(phases, lambda: df.write.format("noop").mode("overwrite").save())
        group.verify()
    planning, building, optimising, execution = (phase.wall for phase in phases)
    return Timing(planning, building, optimising, execution, sum(phase.processor for phase in phases))


def _timed(phases: list[Reading], action: Callable[[], Result]) -> Result:
    results: list[Result] = []
    phases.append(measure(lambda: results.append(action())))
    return results[0]


def _physical_plan(df: DataFrame) -> None:
    """Writing makes this plan once more, so execution includes it a second time."""
    df._jdf.queryExecution().executedPlan()


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.append_latency")
    parser.add_argument("--rows", type=int, nargs="+", default=[10_000, 100_000])
    parser.add_argument("--rounds", type=int, default=9)
    chosen = parser.parse_args(arguments)
    conf = {"spark.sql.shuffle.partitions": 2, "spark.driver.memory": "1g"}
    spark = start_session(EngineSettings(master="local[2]", conf=conf), app_name="append-latency")
    timings: dict[tuple[str, int], list[Timing]] = {}
    try:
        with tempfile.TemporaryDirectory() as folder:
            for rows in chosen.rows:
                make_data(spark, rows, Path(folder, str(rows)))
            # The first two rounds warm the session up; cases take turns so that noise meets all alike.
            for number in range(chosen.rounds + 2):
                for rows in chosen.rows:
                    for name, (extras, _) in CASES.items():
                        timing = one_round(spark, extras, Path(folder, str(rows)))
                        if number >= 2:
                            timings.setdefault((name, rows), []).append(timing)
    finally:
        stop_session(spark)
    show(timings)
    return 0


def show(timings: dict[tuple[str, int], list[Timing]]) -> None:
    print("milliseconds of the best round, phase by phase; median and worst of the totals; least processor time")
    heads = ("planning", "building", "optimiser", "execution", "total", "median", "worst", "processor", "expected")
    print(f"{'append':<12}{'rows':>8}" + "".join(f"{head:>11}" for head in heads))
    for (name, rows), rounds in timings.items():
        best = min(rounds, key=lambda timing: timing.total)
        totals = [timing.total for timing in rounds]
        record(f"append {name}, {rows:,} rows", totals)
        phases = (best.planning, best.building, best.optimising, best.execution, best.total)
        figures = (*phases, statistics.median(totals), max(totals), min(timing.processor for timing in rounds))
        expected = CASES[name][1].get(rows)
        print(f"{name:<12}{rows:>8,}" + "".join(f"{_ms(figure):>11}" for figure in figures), end="")
        print(f"{f'< {expected}' if expected else '':>11}")


def _ms(seconds: float) -> str:
    return f"{seconds * 1000:.0f}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
