"""What each operation may change, observed from outside through an output of everything after every operation."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.reference.evaluate import FailedRunError, ValueFailedError
from tests.reference.generated import GeneratedProject
from tests.reference.operations import Append, Delete, Operation, Output, Summarise, Update
from tests.reference.projects import generate_project
from tests.spark.reference.running import run

Rows = dict[str, dict[str, Any]]
WrittenRows = dict[int, list[dict[str, Any]]]


def watched(project: GeneratedProject) -> GeneratedProject:
    """The project with an output of all rows at the beginning and after every operation."""
    operations: list[Operation] = [Output(1, include_deleted=True)]
    for operation in project.operations:
        if not isinstance(operation, Output):
            seq = operations[-1].seq + 1
            operations += [replace(operation, seq=seq), Output(seq + 1, include_deleted=True)]
    return replace(project, operations=operations)


def is_runnable(project: GeneratedProject) -> bool:
    try:
        project.expected()
    except (ValueFailedError, FailedRunError):
        return False
    return True


def by_id(rows: list[dict[str, Any]]) -> Rows:
    """Rows by their ids, which are unique."""
    found = {row["_row_id"]: row for row in rows}
    assert len(found) == len(rows)
    return found


def states(project: GeneratedProject, rows: WrittenRows) -> Iterator[tuple[Operation, Rows, Rows]]:
    """Every operation with the rows before and after it."""
    operations = [operation for operation in project.operations if not isinstance(operation, Output)]
    snapshots = [by_id(rows[operation.seq]) for operation in project.operations if isinstance(operation, Output)]
    for operation, (before, after) in zip(operations, pairwise(snapshots), strict=True):
        yield operation, before, after


def is_unchanged(before: dict[str, Any], after: dict[str, Any]) -> bool:
    """Whether a row kept all its values; columns it did not have are NULL."""
    return after == {**dict.fromkeys(after), **before}


# Both together have every kind of operation; `make faults` has more.
EVERY_KIND = (2003, 2006)
RUNNABLE = [seed for seed in range(2000, 2016) if is_runnable(watched(generate_project(seed)))]
SEEDS = [pytest.param(seed, marks=() if seed in EVERY_KIND else pytest.mark.slow) for seed in RUNNABLE]


@pytest.fixture(scope="module")
def written(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Callable[[int], WrittenRows]:
    """What the outputs of a watched project wrote; each project runs once."""

    @cache
    def run_once(seed: int) -> WrittenRows:
        return run(spark, watched(generate_project(seed)), str(tmp_path_factory.mktemp("watched"))).rows

    return run_once


def test_there_is_every_kind_of_operation() -> None:
    kinds = {type(operation) for seed in EVERY_KIND for operation in generate_project(seed).operations}
    assert kinds == {Append, Delete, Output, Summarise, Update}


@pytest.mark.parametrize("seed", SEEDS)
def test_operations_change_only_what_they_may(written: Callable[[int], WrittenRows], seed: int) -> None:
    for operation, before, after in states(watched(generate_project(seed)), written(seed)):
        assert before.keys() <= after.keys()
        added = [row for row_id, row in after.items() if row_id not in before]
        assert all(is_unchanged(row, after[row_id]) for row_id, row in before.items() if row["_deleted"])
        match operation:
            case Update() | Delete():
                assert added == []
            case Summarise() | Append():
                assert all(is_unchanged(row, after[row_id]) for row_id, row in before.items())
                assert all(row["_deleted"] is False and row["_operation_seq"] == operation.seq for row in added)


@pytest.mark.parametrize("seed", [EVERY_KIND[1]])
def test_output_changes_nothing(
    spark: SparkSession, written: Callable[[int], WrittenRows], tmp_path: Path, seed: int
) -> None:
    """The last output is the same whether or not others stand before it."""
    project = watched(generate_project(seed))
    silent = [each for each in project.operations[:-1] if not isinstance(each, Output)]
    alone = replace(project, operations=[*silent, project.operations[-1]])
    last = project.operations[-1].seq
    assert by_id(run(spark, alone, str(tmp_path)).rows[last]) == by_id(written(seed)[last])
