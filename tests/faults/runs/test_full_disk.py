"""A full disk, played by a limit on the size of files, ends a run with a coded error and leaves the old rows."""

import hashlib
import resource
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from unittest.mock import patch

import pytest

from daybook.runs.run_result import RunFailedError
from tests.faults.runs.children import child
from tests.faults.runs.conftest import NewWorkspace
from tests.faults.runs.dying import dying_at
from tests.faults.runs.every_format import FORMATS, NEW, OLD, held, staged_in_databases, write_orders
from tests.workspaces import Folder

# The store of the workspace must go on working below it.
ENOUGH_FOR_THE_STORE = 2 << 20


@contextmanager
def files_at_most(size: int) -> Iterator[None]:
    """Files of this process cannot grow beyond a size."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def write_many(folder: Folder, count: int = 60_000) -> None:
    """More than the limit even when it is compressed."""
    rows = [
        {"order_id": hashlib.sha256(str(n).encode()).hexdigest(), "region": "new", "amount": "1", "_period": "2026-01"}
        for n in range(count)
    ]
    folder.write_csv("data/orders.csv", rows)


def failed(folder: Folder) -> RunFailedError:
    with pytest.raises(RunFailedError) as found:
        folder.run()
    return found.value


def is_untouched(folder: Folder, formats: tuple[str, ...] = FORMATS) -> bool:
    is_old = held(folder, formats) == {format_: Counter(old=OLD) for format_ in formats}
    return is_old and folder.staged() == [] and staged_in_databases(folder) == []


def test_while_landing(workspace: NewWorkspace) -> None:
    formats = ("delta", "csv")
    folder = workspace(formats)
    write_many(folder)
    with files_at_most(ENOUGH_FOR_THE_STORE):
        failure = failed(folder)
    assert failure.error.code == "IO_026"
    assert is_untouched(folder, formats)
    assert len(list(folder.root.glob(".daybook/landing/files/*/manifest.json"))) == 1
    folder.retry(failure.run_id)
    assert held(folder, formats) == {format_: Counter(new=60_000) for format_ in formats}


def test_while_writing(workspace: NewWorkspace) -> None:
    """In a process of its own, whose Java has the limit."""
    folder = workspace(("delta", "csv"))
    write_many(folder)
    with child(folder) as process:
        process.tell("limit 100000")
        process.tell("run")
        assert process.wait_for("ended") == ["failed", "OUTPUT_006"]
    run = folder.last_run()
    assert run.error is not None
    assert [cause["code"] for cause in run.error["causes"]] == ["IO_026"]
    assert is_untouched(folder, ("delta", "csv"))
    folder.retry(run.id)
    assert held(folder, ("delta", "csv")) == {"delta": Counter(new=60_000), "csv": Counter(new=60_000)}


@pytest.mark.parametrize("format_", ["delta", "sqlite"])
def test_while_committing(workspace: NewWorkspace, format_: str) -> None:
    """From the last look before the atomic step on, nothing can be written any more, the store included."""
    folder = workspace((format_,))
    write_orders(folder, "new", NEW)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        with dying_at("before commit", format_, lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (0, before[1]))):
            failure = failed(folder)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert failure.error.code == "OUTPUT_006"
    assert [cause.code for cause in failure.error.causes] == ["IO_026"]
    assert held(folder, (format_,)) == {format_: Counter(old=OLD)}
    with patch("daybook.store.database.runs._is_abandoned", lambda *_: True):
        folder.retry(failure.run_id)
    assert held(folder, (format_,)) == {format_: Counter(new=NEW)}
