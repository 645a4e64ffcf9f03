"""Staging: a place of its own for every attempt, and what Spark left in it."""

import os
import shutil
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pyarrow.parquet as pq

from daybook.errors import DaybookError
from daybook.io.place import FileStat, list_files, relative_to, store_of
from daybook.io.writing import StagedFile, Target

_READERS = 8


def attempt_name(target: Target) -> str:
    """A fresh name, so that a late task of a dead attempt writes where nobody looks."""
    return f"{target.key}.{uuid.uuid4().hex[:8]}"


@contextmanager
def spark_writes(target: Target) -> Iterator[None]:
    """Failures that Spark hands on as they are, such as a full disk, become IO_026; its own errors pass."""
    try:
        yield
    except Exception as failure:
        java = getattr(failure, "java_exception", None)
        if java is None:
            raise
        while (cause := java.getCause()) is not None:
            java = cause
        raise DaybookError("IO_026", location=target.place, reason=str(java.getMessage())) from failure


def parquet_files(place: str, describe: Callable[[pq.FileMetaData], str] | None = None) -> tuple[StagedFile, ...]:
    """What Spark wrote, with what its footers say, in the order of its partitions; every footer is read once."""

    def with_rows(file: FileStat) -> StagedFile:
        found = store_of(file.path)
        with found.system.open_input_file(found.path) as stream:
            footer = pq.read_metadata(stream)
        described = describe(footer) if describe else None
        return StagedFile(relative_to(file.path, place), file.size, footer.num_rows, file.modified_ns, described)

    with ThreadPoolExecutor(_READERS) as pool:
        return tuple(pool.map(with_rows, list_files(place)))


def remove_tree(path: Path) -> None:
    """A folder with all it holds; harmless when it is gone."""
    shutil.rmtree(path, ignore_errors=True)


def flush(path: Path) -> None:
    """Make a file or the names in a folder survive a power cut."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
