"""What the operating system refused, or what is not installed, as an error with a code."""

import errno
import os
from pathlib import Path

from daybook.errors import DaybookError

_REFUSAL_HINT = "check the permissions and the free disk space"
_NAME_HINT = "use a shorter name, or the name of a file"
_SYSTEM_REFUSALS = {
    **dict.fromkeys((errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOSPC, errno.EDQUOT, errno.EIO), _REFUSAL_HINT),
    **dict.fromkeys((errno.ENAMETOOLONG, errno.ELOOP, errno.ENOTDIR, errno.EISDIR), _NAME_HINT),
    **dict.fromkeys((errno.EMFILE, errno.ENFILE), "allow more open files (ulimit -n)"),
}
_MAX_SHOWN_PATH = 200
_SPARK_PACKAGES = ("pyspark", "py4j")


def system_error(failure: BaseException) -> DaybookError | None:
    """What the operating system refused or is not installed, with a code; None for any other failure."""
    if isinstance(failure, ModuleNotFoundError) and (failure.name or "").partition(".")[0] in _SPARK_PACKAGES:
        # Modules import Spark where they use it, so that the other commands need none.
        from daybook.engine.java.spark_version import find_spark, missing_spark

        return missing_spark(only_client=find_spark() is not None)
    if isinstance(failure, FileNotFoundError) and not _has_current_folder():
        return DaybookError("MODEL_064", path="The current folder", hint="change to a folder that exists")
    if isinstance(failure, OSError) and failure.errno in _SYSTEM_REFUSALS:
        location = str(failure.filename or "a file or folder")
        if len(location) > _MAX_SHOWN_PATH:
            location = f"{location[:_MAX_SHOWN_PATH]}…"
        hint = _SYSTEM_REFUSALS[failure.errno]
        return DaybookError("IO_012", location=location, reason=os.strerror(failure.errno), hint=hint)
    return None


def _has_current_folder() -> bool:
    try:
        Path.cwd()
    except FileNotFoundError:
        return False
    return True
