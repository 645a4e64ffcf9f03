"""What PostgreSQL said to a task, which Spark hands on as the last lines of a traceback."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.errors import PythonException

from daybook.errors import DaybookError
from daybook.io.writing import Target

_SAID = re.compile(r"ERROR:\s+(?P<reason>.+)")
_COLUMN = re.compile(r"^CONTEXT:\s+COPY .+, line \d+, column (?P<column>.+?)(?:: \".*)?$", re.MULTILINE)
_NUL = "0x00"


@contextmanager
def told_by_column(target: Target) -> Iterator[None]:
    """IO_029 for a value that PostgreSQL refused, IO_026 for whatever else it said; other failures pass."""
    try:
        yield
    except PythonException as failure:
        said = _SAID.search(str(failure))
        if said is None:
            raise
        reason = said["reason"].strip()
        if (found := _COLUMN.search(str(failure))) is None:
            raise DaybookError("IO_026", location=target.place, reason=reason) from failure
        hint = None
        if reason.endswith(_NUL):
            reason = "its text holds the character U+0000, which PostgreSQL has no place for"
            hint = "remove the character where the text comes from"
        raise DaybookError(
            "IO_029", location=target.place, column=found["column"], reason=reason, hint=hint
        ) from failure
