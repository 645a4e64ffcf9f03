"""Paths and URIs of files, local or on an object store.

Partition values in folder names such as `region=EU`.
"""

import os
import posixpath
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, unquote, urlsplit

from pyarrow import fs

from daybook.errors import DaybookError

_URI_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")


def is_uri(text: str) -> bool:
    return _URI_SCHEME.match(text) is not None


def local_path(uri: str) -> Path | None:
    """The path of a local file or folder, None when the URI is on some other store."""
    if not is_uri(uri):
        return Path(uri)
    if uri.lower().startswith("file:"):
        return Path(unquote(urlsplit(uri).path) if "%" in uri else re.sub(r"^file:/+", "/", uri, flags=re.IGNORECASE))
    return None


def spark_uri(uri: str) -> str:
    """The form Spark takes: a plain path for local places, since it decodes nothing in those."""
    path = local_path(uri)
    return uri.rstrip("/") if path is None else str(path.absolute())


def uri_identity(uri: str, workspace: Path) -> str:
    """One spelling per file or folder: links followed, dots and double slashes gone, one name per kind of store."""
    path = local_path(uri)
    if path is not None:
        return os.path.realpath(workspace / path)
    parts = urlsplit(uri)
    scheme = {"s3a": "s3", "s3n": "s3", "gcs": "gs", "abfss": "abfs"}.get(parts.scheme.lower(), parts.scheme.lower())
    return f"{scheme}://{parts.netloc.lower()}{posixpath.normpath('/' + parts.path.lstrip('/'))}"


def join_uri(uri: str, *parts: str) -> str:
    return posixpath.join(uri.rstrip("/") or "/", *parts)


@dataclass(frozen=True, slots=True)
class ArrowPath:
    """A file system of pyarrow and the path of one place on it."""

    system: fs.FileSystem
    path: str


def arrow_path(uri: str) -> ArrowPath:
    """Where pyarrow finds the place."""
    path = local_path(uri)
    if path is not None:
        return ArrowPath(fs.LocalFileSystem(), str(path.absolute()))
    system, inner = fs.FileSystem.from_uri(uri)
    return ArrowPath(system, inner)


@contextmanager
def translate_read_errors(uri: str) -> Iterator[None]:
    """IO_012 for what the system refuses to give."""
    try:
        yield
    except OSError as failure:
        reason = os.strerror(failure.errno) if failure.errno else str(failure)
        raise DaybookError("IO_012", location=uri, reason=reason, hint="check that you may read it") from failure


@dataclass(frozen=True, slots=True, order=True)
class FileStat:
    """One file as it was seen; `path` is absolute (a local path or a full URI)."""

    path: str
    size: int
    modified_ns: int


def _is_hidden(relative: str) -> bool:
    return any(part.startswith((".", "_")) and "=" not in part for part in relative.split("/"))


def list_files(uri: str) -> tuple[FileStat, ...]:
    """The files at a place by path: itself, or everything below it that is not hidden; empty if there is nothing."""
    place = arrow_path(uri)
    prefix = "" if local_path(uri) is not None else uri[: uri.index("://") + 3]
    with translate_read_errors(uri):
        info = place.system.get_file_info(place.path)
        if info.type == fs.FileType.NotFound:
            return ()
        if info.type == fs.FileType.File:
            found = [info]
        else:
            everything = place.system.get_file_info(fs.FileSelector(place.path, recursive=True))
            start = len(place.path.rstrip("/")) + 1
            found = [item for item in everything if item.type == fs.FileType.File and not _is_hidden(item.path[start:])]
    return tuple(sorted(FileStat(prefix + item.path, item.size, item.mtime_ns or 0) for item in found))


def relative_to(path: str, root: str | None) -> str:
    """A file's path below `root`, or its bare name when it lies elsewhere."""
    if root is not None:
        base = spark_uri(root).rstrip("/") + "/"
        if path.startswith(base):
            return path[len(base) :]
    return posixpath.basename(path)


_NULL_PARTITION = "__HIVE_DEFAULT_PARTITION__"
# What Hive and Spark leave as it is in a folder name, beside letters and digits.
_UNESCAPED = " !$&()+,-.;<>@[]_`|~"


def partition_values(relative: str) -> dict[str, str | None]:
    """The values that the folders of a relative path name."""
    values: dict[str, str | None] = {}
    for part in relative.split("/")[:-1]:
        name, equals, value = part.partition("=")
        if equals and name:
            values[unquote(name)] = None if value == _NULL_PARTITION else unquote(value)
    return values


def partition_folder(values: Mapping[str, str]) -> str:
    """The folder of a partition, as Spark writes it."""
    return "/".join(f"{quote(name, safe=_UNESCAPED)}={quote(value, safe=_UNESCAPED)}" for name, value in values.items())
