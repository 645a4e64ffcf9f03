"""What goes wrong while an output is written, under the output's own code."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from pyspark.errors import PySparkException

from daybook.errors import DaybookError, flatten, raise_all
from daybook.io.registry import NEEDS_SESSION, writer_for
from daybook.runs.targets import PlannedOutput

# What the packages below the writers raise when a place cannot be written: a full disk, a database that went away.
_OF_STORAGE = frozenset({"psycopg", "sqlite3", "deltalake", "pyarrow"})
_SLICE_OF_ANOTHER = "STORE_016"
# Spark gave up, and no operation's expression is to blame.
_SPARK_FAILED = "PROJECT_034"


def check_outputs(outputs: Iterable[PlannedOutput]) -> None:
    """What writers refuse before any work, for all outputs together; no run exists yet, and no session."""
    errors: list[DaybookError] = []
    for planned in outputs:
        if planned.target.format in NEEDS_SESSION:
            continue
        try:
            with writing(planned, lambda failure: failure):
                writer_for(planned.target.format).check(planned.target)
        except DaybookError as error:
            errors.append(error)
    raise_all(errors)


@contextmanager
def writing(planned: PlannedOutput, translated: Callable[[Exception], Exception]) -> Iterator[None]:
    """OUTPUT_006 with the finding as its cause; `translated` names the operation behind a failure of Spark.

    A lost lease, a cancelled run, a locked period and values that other operations could not compute are no
    failures of writing and pass as they are.
    """
    try:
        yield
    except DaybookError as error:
        if not (error.code.startswith("IO_") or error.code == _SLICE_OF_ANOTHER):
            raise
        raise _failed(planned, *flatten(error)) from error
    except PySparkException as failure:
        found = translated(failure)
        if isinstance(found, DaybookError) and found.code == _SPARK_FAILED:
            raise _failed(planned, found) from failure
        raise found from failure
    except Exception as failure:
        if not _is_of_storage(failure):
            raise
        reason = str(failure).strip() or type(failure).__name__
        raise _failed(planned, DaybookError("IO_026", location=planned.target.place, reason=reason)) from failure


def _failed(planned: PlannedOutput, *causes: DaybookError) -> DaybookError:
    return DaybookError("OUTPUT_006", operation_seq=planned.step.seq, causes=causes, target=planned.label)


def _is_of_storage(failure: Exception) -> bool:
    packages = {kind.__module__.partition(".")[0] for kind in type(failure).__mro__}
    return isinstance(failure, OSError) or not packages.isdisjoint(_OF_STORAGE)
