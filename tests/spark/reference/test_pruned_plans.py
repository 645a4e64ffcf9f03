"""Random projects: a plan that computes only what its output needs writes the same rows as the whole plan."""

import random
from collections import Counter
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from daybook.engine.context import SourceFrame
from daybook.engine.pipeline import Pipeline
from daybook.model.types import SYSTEM_COLUMNS
from daybook.plan.partial_plan import PartialPlan, picked_rows, pruned, summary_rows, written_rows
from daybook.plan.steps import OutputStep, Plan, count_until_last_output
from tests.reference.evaluate import FailedRunError, ValueFailedError
from tests.reference.planning import planned
from tests.reference.projects import generate_project
from tests.spark.reference.running import source_frame

PROJECTS, PER_TEST, THREADS = 96, 12, 2
# Further ones are of the same kinds; `make faults` compares them all.
ALWAYS = range(4)


def chosen_plans(plan: Plan, seed: int) -> list[PartialPlan]:
    """Some columns of an output, the rows that an operation picked, and the groups that one made."""
    chance = random.Random(seed)
    steps = plan.steps[: count_until_last_output(plan.steps)]
    written = chance.choice([step for step in steps if isinstance(step, OutputStep)])
    names = [name for name in (*written.schema, *SYSTEM_COLUMNS) if chance.random() < 0.4]
    explained = [picked_rows(plan, step, ()) for step in chance.sample(steps, min(2, len(steps)))]
    grouped = [cut for step in steps if (cut := summary_rows(plan, step, ())) is not None]
    return [written_rows(plan, written, names or ["_row_id"]), *explained, *grouped[-1:]]


def rows(
    spark: SparkSession, cut: PartialPlan, frames: Mapping[str, SourceFrame], staging: str, *, is_counting: bool
) -> Counter[str]:
    own = {key: frames[whole] for key, whole in cut.feeds.items()}
    with Pipeline(spark, cut.plan, own, staging=staging, is_counting=is_counting) as pipeline:
        (group,) = pipeline.groups()
        (output,) = group.outputs
        return Counter(repr(sorted(row.items())) for row in output.df.toArrow().to_pylist())


def findings(spark: SparkSession, seed: int, staging: Path) -> list[str]:
    project = generate_project(seed)
    try:
        project.expected()
    except (ValueFailedError, FailedRunError):
        return []
    plan = planned(project)
    tables = {table.dataset_id: table for table in (project.input, *project.others)}
    frames = {load.key: source_frame(spark, tables[load.version.dataset.id]) for load in plan.loads}
    found: list[str] = []
    for number, cut in enumerate(chosen_plans(plan, seed)):
        folder = str(staging / f"{seed}-{number}")
        whole = rows(spark, cut, frames, folder, is_counting=True)
        short = rows(spark, pruned(cut), frames, folder, is_counting=False)
        if whole != short:
            found.append(f"project {seed}, plan {number}: lacks {whole - short}, should not have {short - whole}")
    return found


@pytest.mark.parametrize(
    "seeds",
    [
        ALWAYS,
        *(
            pytest.param(range(first, first + PER_TEST), marks=pytest.mark.slow)
            for first in range(0, PROJECTS, PER_TEST)
        ),
    ],
    ids=str,
)
def test_pruned_plans_of_random_projects(spark: SparkSession, tmp_path: Path, seeds: range) -> None:
    with ThreadPoolExecutor(THREADS) as pool:
        results = list(pool.map(lambda seed: findings(spark, seed, tmp_path), seeds))
    found = [line for result in results for line in result]
    assert not found, "\n".join(found)


def test_most_plans_become_shorter() -> None:
    """Plans from which nothing is taken away would prove nothing."""
    kinds: Counter[str] = Counter()
    for seed in range(PROJECTS):
        for cut in chosen_plans(planned(generate_project(seed)), seed):
            short = pruned(cut).plan
            kinds["plans"] += 1
            kinds["fewer steps"] += len(short.steps) < len(cut.plan.steps)
            kinds["fewer loads"] += len(short.loads) < len(cut.plan.loads)
            kinds["fewer columns"] += len(short.input.types) < len(cut.plan.input.types)
    assert kinds["fewer columns"] >= 0.4 * kinds["plans"]
    assert kinds["fewer steps"] >= 0.2 * kinds["plans"]
    assert kinds["fewer loads"] >= 0.1 * kinds["plans"]
