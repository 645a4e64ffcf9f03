"""Reading what a run reads: every dataset version once, however many operations use it."""

from collections.abc import Callable, Mapping
from pathlib import Path

from pyspark.sql import SparkSession

from daybook.errors import DaybookError, flatten, raise_all
from daybook.io.finding import check_found
from daybook.io.landing.area import LandingArea
from daybook.io.pins import Pin
from daybook.io.reading import ReadSource, read
from daybook.plan.steps import LoadStep
from daybook.runs.preparing import Prepared


def read_sources(
    spark: SparkSession,
    prepared: Prepared,
    landing: LandingArea,
    root: Path,
    *,
    pinned: Mapping[str, tuple[Pin, ...]] | None = None,
    before_each: Callable[[], None] = lambda: None,
) -> dict[str, ReadSource]:
    """A source for the key of every load; with `pinned` the very data of an earlier attempt, or an error."""
    known: dict[tuple[str, int], ReadSource] = {}
    sources: dict[str, ReadSource] = {}
    for load in prepared.plan.loads:
        key = (load.dataset_id, load.version.version)
        if key not in known:
            before_each()
            resolution = prepared.snapshot.source(load.key).resolution
            pins = None if pinned is None else pinned.get(load.key, ())
            try:
                known[key] = read(spark, resolution, load.version, landing, workspace=root, pinned=pins)
            except DaybookError as error:
                raise _of_operation(error, load) from error
        sources[load.key] = known[key]
    return sources


def check_sources(prepared: Prepared) -> None:
    """All that is not there to be read, as far as that can be told without Spark."""
    errors: list[DaybookError] = []
    for load in prepared.plan.loads:
        try:
            check_found(prepared.snapshot.source(load.key).resolution)
        except DaybookError as error:
            errors.append(_of_operation(error, load))
    raise_all(errors)


def _of_operation(error: DaybookError, load: LoadStep) -> DaybookError:
    """Inside an append its own code wins, and the finding is the cause."""
    if load.role != "append":
        return error
    seq, causes = load.operation_seq, flatten(error)
    return DaybookError("APPEND_008", operation_seq=seq, causes=causes, dataset_id=load.dataset_id)
