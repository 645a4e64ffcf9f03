"""Whether a run computed again is what it wrote."""

from collections.abc import Iterable

from pyspark.sql import SparkSession

from daybook.compare.chosen_rows import ComparedOutput
from daybook.compare.hybrid import HybridPlan
from daybook.compare.measured_state import HybridSources, Measure, MeasuredState, collect_totals, state_rows
from daybook.compare.result import Number, subtract
from daybook.compare.slices import SEQ_COLUMN, written_slice
from daybook.errors import DaybookError, Notice, notice
from daybook.io.writer import fingerprint
from daybook.runs.environment import RunEnvironment

# Of what two sums of the same floats may differ by.
_FLOAT_PARTS = 1e-9


def check_written(
    environment: RunEnvironment,
    spark: SparkSession,
    output: ComparedOutput,
    state: HybridPlan,
    sources: HybridSources,
    found: MeasuredState,
    measure: str,
    staging: str,
) -> Iterable[Notice]:
    """RUN_068 where the measured rows differ from those written.

    A table that kept its version is asked for the total; of other formats the fingerprint is computed again.
    """
    commit = output.run.commits[output.step.seq]
    written = written_slice(environment, spark, output)
    if written is not None and (len(output.makers) == 1 or SEQ_COLUMN in output.step.columns):
        if len(output.makers) > 1:
            written = written.where(written[SEQ_COLUMN] == state.rows)
        _compare(output, found, collect_totals(written, Measure(measure)))
        return ()
    columns = tuple(output.step.columns)
    cut = state.written(columns, all_rows=True)
    with state_rows(spark, sources, state, cut, f"{staging}/written-{output.run.id}") as rows:
        if commit.fingerprint is not None:
            target = output.run.prepared.output(output.step.seq).target
            computed = fingerprint(rows.df, target.columns)
            if computed != commit.fingerprint:
                raise DaybookError("RUN_068", run_id=output.run.id, found="other rows", written=f"{commit.rows:,} rows")
            return ()
        whole = collect_totals(rows.df, Measure(measure))
    if written is not None:
        _compare(output, whole, collect_totals(written, Measure(measure)))
        return ()
    if commit.rows is not None and whole.rows != commit.rows:
        raise DaybookError(
            "RUN_068", run_id=output.run.id, found=f"{whole.rows:,} rows", written=f"{commit.rows:,} rows"
        )
    return (notice("RUN_076", run_id=output.run.id),)


def _compare(output: ComparedOutput, found: MeasuredState, written: MeasuredState) -> None:
    if found.rows == written.rows and _is_same(found.total, written.total):
        return
    texts = [f"{each.total} in {each.rows:,} rows" for each in (found, written)]
    raise DaybookError("RUN_068", run_id=output.run.id, found=texts[0], written=texts[1])


def _is_same(one: Number, other: Number) -> bool:
    if isinstance(one, float) or isinstance(other, float):
        return abs(float(one) - float(other)) <= _FLOAT_PARTS * max(1.0, abs(float(one)))
    return not subtract(one, other)
