"""Compares the outputs of two runs row by row: one pass over each side; only the shown rows leave Spark."""

import secrets
from dataclasses import dataclass
from decimal import Decimal

from daybook.compare.compared_output import (
    ComparedOutput,
    RowKeyColumns,
    choose_key,
    choose_outputs,
    choose_rows,
    find_recorded_run,
)
from daybook.compare.result import DiffResult, RetypedColumn
from daybook.compare.row_comparison import ComparedColumn, compare_rows
from daybook.compare.slices import open_slice
from daybook.errors import DaybookError, Notice, notice
from daybook.expression import common_type
from daybook.model.types import STRING, SYSTEM_COLUMNS
from daybook.runs.environment import RunEnvironment, remove_folder


@dataclass(frozen=True, slots=True)
class DiffRequest:
    """Two runs, each by its id or as PROJECT@PERIOD; numbers that differ by `tolerance` at most count as the same."""

    a: str
    b: str
    output: str | None = None
    rows: int | None = None
    key: tuple[str, ...] = ()
    tolerance: Decimal = Decimal(0)
    limit: int = 10


def diff(environment: RunEnvironment, request: DiffRequest) -> DiffResult:
    """Compare what two runs wrote; all that is wrong with the question is raised before Spark is asked for."""
    run_a, run_b = find_recorded_run(environment, request.a), find_recorded_run(environment, request.b)
    output_a, output_b = choose_outputs(run_a, run_b, request.output)
    a = ComparedOutput(run_a, run_a.prepared.output(output_a.operation_seq).step)
    b = ComparedOutput(run_b, run_b.prepared.output(output_b.operation_seq).step)
    rows = choose_rows(a, b, request.rows)
    key = choose_key(a, b, rows, request.key)
    keys, values, retyped = _compared_columns(a, b, key)
    names = [column.name for column in (*keys, *values)]
    staging = f"{environment.state}/staging/{run_a.id}.diff-{secrets.token_hex(4)}"
    with environment.spark(run_b.snapshot) as spark:
        try:
            left = open_slice(environment, spark, a, rows.seq_a, names, f"{staging}/a")
            right = open_slice(environment, spark, b, rows.seq_b, names, f"{staging}/b")
            found = compare_rows(left, right, keys, values, tolerance=request.tolerance, limit=request.limit)
        finally:
            remove_folder(staging)
    only_a, only_b = _one_sided(a, b), _one_sided(b, a)
    return DiffResult(
        a=run_a.compared(is_computed=left.is_computed),
        b=run_b.compared(is_computed=right.is_computed),
        output=output_b.destination,
        operation=rows,
        key=key.columns,
        key_origin=key.origin,
        rows=found.counts,
        totals=found.totals,
        changes=found.changes,
        repeated=found.repeated,
        only_in_a=only_a,
        only_in_b=only_b,
        retyped=retyped,
        notices=_notices(a, b, key),
    )


def _notices(a: ComparedOutput, b: ComparedOutput, key: RowKeyColumns) -> tuple[Notice, ...]:
    if key.origin == "row_id" and a.run.record.period != b.run.record.period:
        return (notice("RUN_067", a=a.run.id, b=b.run.id),)
    return ()


def _one_sided(one: ComparedOutput, other: ComparedOutput) -> tuple[str, ...]:
    return tuple(name for name in one.step.columns if name not in {**other.step.columns, **SYSTEM_COLUMNS})


def _compared_columns(
    a: ComparedOutput, b: ComparedOutput, key: RowKeyColumns
) -> tuple[list[ComparedColumn], list[ComparedColumn], tuple[RetypedColumn, ...]]:
    """Key and value columns in the types they are compared in; values of kinds that differ are compared as texts."""
    types_a, types_b = {**SYSTEM_COLUMNS, **a.step.columns}, {**SYSTEM_COLUMNS, **b.step.columns}
    keys: list[ComparedColumn] = []
    for name in key.columns:
        if (type_ := common_type((types_a[name], types_b[name]))) is None:
            raise DaybookError(
                "RUN_066", column=name, a=a.run.id, b=b.run.id, type_a=types_a[name], type_b=types_b[name]
            )
        keys.append(ComparedColumn(name, type_))
    names = [name for name in b.step.columns if name in a.step.columns and name not in {*SYSTEM_COLUMNS, *key.columns}]
    values = [ComparedColumn(name, common_type((types_a[name], types_b[name])) or STRING) for name in names]
    if not values and not _has_only_key(a, b, key):
        raise DaybookError("RUN_063", a=a.run.id, b=b.run.id)
    retyped = tuple(
        RetypedColumn(name, str(types_a[name]), str(types_b[name])) for name in names if types_a[name] != types_b[name]
    )
    return keys, values, retyped


def _has_only_key(a: ComparedOutput, b: ComparedOutput, key: RowKeyColumns) -> bool:
    """Whether both outputs have nothing but the key, so that rows are only there or not."""
    return all(name in {*key.columns, *SYSTEM_COLUMNS} for side in (a, b) for name in side.step.columns)
