"""How time and plans grow: chained updates, aggregates in a row, outputs along a pipeline; and what to do at forks.

python -m benchmarks.engine_growth [chain|aggregates|outputs|forks ...] [--rows 500000] [--connect]

The aims: 200 chained updates are planned, analysed and optimised in under 10 s and in at most 2.5 times what 100 take;
time and plan size of aggregates and outputs grow linearly with their number.
"""

import argparse
import contextlib
import datetime
import io
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from daybook.definitions.files import definitions_of_files
from daybook.definitions.loading.definition_texts import load_text
from daybook.definitions.loading.loaded_workspace import LoadedWorkspace
from daybook.engine.context import ORDINAL_COLUMN, ORIGIN_COLUMN, SourceFrame, SourceRows
from daybook.engine.pipeline import Pipeline
from daybook.expression import Constants
from daybook.model.calendar import Period
from daybook.model.definition import DEFINITION_KINDS
from daybook.model.settings import WorkspaceSettings
from daybook.plan.plan_project import plan_project
from daybook.plan.steps import Plan

JANUARY = Period("2026-01", "month", datetime.date(2026, 1, 1), datetime.date(2026, 1, 31))
CONSTANTS = Constants(datetime.datetime(2026, 2, 1, tzinfo=datetime.UTC), JANUARY)
COLUMNS = [f"c{number}" for number in range(20)]
DATASET = "dataset:\n  id: t\n  name: T\n  main_table:\n    name: t\n    columns:\n" + "".join(
    f'      - {{name: {name}, type: "decimal(18,2)"}}\n' for name in COLUMNS
)
OUTPUT = "  - {type: output, arguments: {destination: {location: out}}}\n"


def planned(operations: str) -> Plan:
    text = f"{DATASET}---\nproject:\n  id: p\n  name: P\n  input: {{dataset_id: t}}\n  operations:\n{operations}"
    loaded = load_text(text, "growth.yaml")
    definitions = {kind: {each.id: each for each in loaded if each.kind == kind} for kind in DEFINITION_KINDS}
    catalog = definitions_of_files(LoadedWorkspace(Path(), WorkspaceSettings(name="growth"), definitions))
    project = definitions["project"]["p"]
    return plan_project(project.model, project.source, catalog, CONSTANTS, with_locations=False)


def chain(count: int) -> str:
    """Each update reads what the one before it wrote."""
    return (
        "".join(
            f"  - {{type: update, selector: 'c{(n - 1) % 20} > {n % 7}', arguments: "
            f"{{assignments: [{{column: c{n % 20}, expression: c{(n - 1) % 20} + 1.5}}]}}}}\n"
            for n in range(count)
        )
        + OUTPUT
    )


def aggregates(count: int) -> str:
    return (
        "".join(
            f"  - {{type: aggregate, selector: _operation_seq = 0, arguments: {{group_by: [c{n % 7}], "
            f"aggregations: [{{column: t{n}, expression: SUM(c10)}}]}}}}\n"
            for n in range(count)
        )
        + OUTPUT
    )


def outputs(count: int) -> str:
    return "".join(
        f"  - {{type: update, arguments: {{assignments: [{{column: c{n}, expression: c{n} * 1.01}}]}}}}\n"
        f"  - {{type: output, arguments: {{destination: {{location: out{n}}}}}}}\n"
        for n in range(count)
    )


def data(spark: SparkSession, folder: Path, rows: int) -> SourceFrame:
    path = str(folder / "data")
    spark.range(0, rows, 1, 4).selectExpr(
        *(
            f"cast(id * {number + 3} % {11 if number < 10 else 10007} as decimal(18,2)) {name}"
            for number, name in enumerate(COLUMNS)
        )
    ).write.parquet(path)
    df = spark.read.parquet(path).select(
        "*", sf.lit("f").alias(ORIGIN_COLUMN), sf.col("_metadata.row_index").alias(ORDINAL_COLUMN)
    )
    return SourceFrame(SourceRows.of(df), frozenset())


def processor_time() -> float:
    processes = [psutil.Process(), *psutil.Process().children(recursive=True)]
    return sum(sum(each.cpu_times()[:2]) for each in processes)


@contextlib.contextmanager
def measured(label: str, found: dict[str, tuple[float, float]] | None = None) -> Iterator[None]:
    began, used = time.perf_counter(), processor_time()
    yield
    clock, processor = time.perf_counter() - began, processor_time() - used
    if found is not None:
        found[label] = (clock, processor)
    print(f"{label:40} {clock:7.2f} s, {processor:7.2f} s of processor time", flush=True)


def optimised(df: DataFrame) -> int:
    """Analyse and optimise; the number of nodes."""
    with contextlib.redirect_stdout(io.StringIO()) as shown:
        df.explain("extended")
    text = shown.getvalue().partition("== Optimized Logical Plan ==")[2].partition("== Physical Plan ==")[0]
    return len([line for line in text.splitlines() if re.match(r"[ :]*(?:\+- |:- )?[A-Z]\w*", line)])


def measure_chain(spark: SparkSession, source: SourceFrame, folder: Path) -> bool:
    found: dict[str, tuple[float, float]] = {}
    nodes = {}
    for count in (25, 50, 100, 200):
        with measured(f"chain of {count}", found):
            pipeline = Pipeline(spark, planned(chain(count)), {"input": source}, staging=str(folder / f"c{count}"))
            for group in pipeline.groups():
                nodes[count] = optimised(group.outputs[0].df)
    print(f"nodes of the last plan: {nodes}")
    return found["chain of 200"][1] <= 2.5 * found["chain of 100"][1]


def measure_runs(name: str, project: Callable[[int], str], counts: tuple[int, ...]) -> Callable[..., bool]:
    def measure(spark: SparkSession, source: SourceFrame, folder: Path) -> bool:
        found: dict[str, tuple[float, float]] = {}
        for count in (1, *counts):
            with measured(f"{count} {name}", found):
                pipeline = Pipeline(
                    spark, planned(project(count)), {"input": source}, staging=str(folder / f"{name}{count}")
                )
                for group in pipeline.groups():
                    for output in group.outputs:
                        output.df.write.mode("overwrite").format("noop").save()
                    group.verify()
                    nodes = optimised(group.outputs[0].df)
            print(f"  nodes of the last plan: {nodes}")
        few, many = (found[f"{count} {name}"][1] for count in counts[-2:])
        return many <= 2.5 * few

    return measure


def measure_forks(spark: SparkSession, source: SourceFrame, folder: Path) -> bool:
    """Aggregates in a row by four rules, in plain Spark."""
    base = source.rows.identified.drop(ORIGIN_COLUMN, ORDINAL_COLUMN).selectExpr(*COLUMNS, "0 AS seq")

    def summary(df: DataFrame, number: int) -> DataFrame:
        key = COLUMNS[number % 7]
        totals = df.groupBy(key).agg(sf.sum("c10").alias("total"))
        columns = [f"{name}" if name == key else f"CAST(NULL AS DECIMAL(18,2)) AS {name}" for name in COLUMNS]
        columns[10] = "CAST(total AS DECIMAL(18,2)) AS c10"
        return totals.selectExpr(*columns, f"{number + 1} AS seq")

    def kept(df: DataFrame, label: str) -> DataFrame:
        path = str(folder / f"forks-{label}-{time.monotonic_ns()}")
        df.write.parquet(path)
        return spark.read.schema(df.schema).parquet(path)

    def recompute(count: int) -> DataFrame:
        df = base
        for number in range(count):
            df = df.union(summary(df, number))
        return df

    def persist(count: int) -> DataFrame:
        df = base.persist()
        for number in range(count):
            df = df.union(summary(df, number)).persist()
        return df

    def stage_all(count: int) -> DataFrame:
        df = base
        for number in range(count):
            df = kept(df.union(summary(df, number)), "all")
        return df

    def stage_summaries(count: int) -> DataFrame:
        df = base
        for number in range(count):
            rows = summary(df, number)
            df = df.union(kept(rows, "rows") if number < count - 1 else rows)
        return df

    for count in (1, 3, 6, 12):
        for rule in (recompute, persist, stage_all, stage_summaries):
            # Their plans double with every aggregate; twelve run out of memory.
            if rule in (recompute, persist) and count > 6:
                continue
            with measured(f"{count} aggregates, {rule.__name__}"):
                df = rule(count)
                df.write.mode("overwrite").format("noop").save()
            print(f"  nodes: {optimised(df)}")
            spark.catalog.clearCache()
    return True


MEASUREMENTS: dict[str, Callable[..., bool]] = {
    "chain": measure_chain,
    "aggregates": measure_runs("aggregates", aggregates, (3, 6, 12)),
    "outputs": measure_runs("outputs", outputs, (2, 4, 8)),
    "forks": measure_forks,
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="*", choices=[*MEASUREMENTS, []], help="all of them when left out")
    parser.add_argument("--rows", type=int, default=500_000)
    parser.add_argument("--connect", action="store_true")
    arguments = parser.parse_args()
    builder = SparkSession.builder
    builder = builder.remote("local[2]") if arguments.connect else builder.master("local[2]")
    for key, value in {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.memory": "2g",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.ansi.enabled": "true",
        "spark.sql.caseSensitive": "true",
        "spark.sql.decimalOperations.allowPrecisionLoss": "false",
        "spark.sql.shuffle.partitions": "4",
        "spark.sql.analyzer.maxIterations": "1000",
        "spark.log.level": "ERROR",
    }.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    folder = Path(tempfile.mkdtemp(prefix="daybook-growth-"))
    try:
        source = data(spark, folder, arguments.rows)
        source.rows.identified.write.mode("overwrite").format("noop").save()
        results = [MEASUREMENTS[name](spark, source, folder) for name in arguments.what or MEASUREMENTS]
        return 0 if all(results) else 1
    finally:
        spark.stop()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
