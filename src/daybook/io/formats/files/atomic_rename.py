"""Atomic steps of the local file system: exchange two names, or take a name that is free."""

import contextlib
import ctypes
import errno
import fcntl
import os
import sys
from collections.abc import Iterator
from pathlib import Path

_AT_FDCWD = -100
_NOREPLACE = 1
_EXCHANGE = 2
_DARWIN_SWAP = 2
_DARWIN_EXCL = 4
_UNSUPPORTED_ERRNOS = (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP)


class ExchangeUnsupportedError(OSError):
    """The file system cannot exchange two names."""


def _rename_with_flag(first: Path, second: Path, linux_flag: int, darwin_flag: int) -> None:
    library = ctypes.CDLL(None, use_errno=True)
    one, two = os.fsencode(first), os.fsencode(second)
    if sys.platform == "darwin":
        result = library.renamex_np(one, two, darwin_flag)
    elif hasattr(library, "renameat2"):
        result = library.renameat2(_AT_FDCWD, one, _AT_FDCWD, two, linux_flag)
    else:
        raise ExchangeUnsupportedError(errno.ENOSYS, "renameat2 is missing")
    if result != 0:
        number = ctypes.get_errno()
        if number in _UNSUPPORTED_ERRNOS:
            raise ExchangeUnsupportedError(number, os.strerror(number))
        raise OSError(number, os.strerror(number), str(first), None, str(second))


def exchange_names(first: Path, second: Path) -> None:
    """Both names keep existing throughout; afterwards each stands for what the other was."""
    _rename_with_flag(first, second, _EXCHANGE, _DARWIN_SWAP)


def rename_if_free(staged: Path, name: Path) -> None:
    """Rename to a name that is free; FileExistsError when it is not."""
    try:
        _rename_with_flag(staged, name, _NOREPLACE, _DARWIN_EXCL)
    except ExchangeUnsupportedError:
        if name.exists():
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(name)) from None
        staged.rename(name)


@contextlib.contextmanager
def lock_folder(folder: Path) -> Iterator[None]:
    """One writer at a time among those that commit into the same folder; a lock dies with its process."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
