"""Paths and URIs of files, local or on an object store, and partition values in folder names such as `region=EU`."""

import contextlib
import errno
import hashlib
import os
import posixpath
import re
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote, urlsplit

from daybook.errors import DaybookError
from daybook.io.storage import PROVIDER_STORAGE, STATE_ADDRESS, ArrowPath, Storage, bucket_of
from daybook.resolve.paths import canonical_uri

if TYPE_CHECKING:
    from pyarrow import fs

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


def _plain_path(uri: str) -> str | None:
    """The absolute path of a local file or folder as a text, None when the URI is on some other store."""
    if uri.startswith("/") and os.path.normpath(uri) == uri:
        return uri
    path = local_path(uri)
    return str(path.absolute()) if path is not None else None


def absolute_uri(uri: str) -> str:
    """The one spelling within a program: a plain absolute path, or a URI without a slash at its end."""
    path = local_path(uri)
    return canonical_uri(uri).rstrip("/") if path is None else str(path.absolute())


def spark_uri(uri: str, storage: Storage = PROVIDER_STORAGE) -> str:
    """The form Spark takes: a plain path for local places, since it decodes nothing in those."""
    return storage.hadoop_uri(absolute_uri(uri))


class RealPaths:
    """`os.path.realpath` for many paths at one time: each folder is followed once."""

    def __init__(self) -> None:
        self._folders: dict[str, str] = {}

    def __call__(self, path: str) -> str:
        folder, name = os.path.split(path)
        # Texts, as thousands of nodes ask: a `Path` takes several times as long as the look at the disk.
        if name in ("", os.curdir, os.pardir) or os.path.islink(path):  # noqa: PTH114
            return os.path.realpath(path)
        if folder not in self._folders:
            self._folders[folder] = os.path.realpath(folder)
        return f"{self._folders[folder].rstrip('/')}/{name}"


def uri_identity(uri: str, workspace: Path, real_path: Callable[[str], str] = os.path.realpath) -> str:
    """One spelling per file or folder: links followed, dots and double slashes gone, one name per kind of store."""
    if uri.startswith("/"):
        return real_path(uri)
    path = local_path(uri)
    if path is not None:
        return real_path(str(workspace / path))
    parts = urlsplit(canonical_uri(uri))
    return f"{parts.scheme}://{parts.netloc.lower()}{posixpath.normpath('/' + parts.path.lstrip('/'))}"


def join_uri(uri: str, *parts: str) -> str:
    return posixpath.join(uri.rstrip("/") or "/", *parts)


def arrow_path(uri: str, storage: Storage = PROVIDER_STORAGE) -> ArrowPath:
    """Where pyarrow finds the place."""
    from pyarrow import fs

    path = local_path(uri)
    return storage.arrow_path(uri) if path is None else ArrowPath(fs.LocalFileSystem(), str(path.absolute()))


def make_folder(uri: str, storage: Storage = PROVIDER_STORAGE) -> None:
    """A folder with those it lies in; object stores have none."""
    if bucket_of(uri) is None:
        at = arrow_path(uri, storage)
        at.system.create_dir(at.path, recursive=True)


def remove_folder(uri: str, storage: Storage = PROVIDER_STORAGE) -> None:
    """With all it holds; harmless when it is not there. Where the state is a schema, its folders are tables."""
    if storage.tables is not None and uri.startswith(STATE_ADDRESS):
        storage.tables.drop(uri)
        return
    from pyarrow import fs

    place = arrow_path(uri, storage)
    # Some stores list a folder for a while after its last object is gone.
    with contextlib.suppress(FileNotFoundError):
        if place.system.get_file_info(place.path).type == fs.FileType.Directory:
            place.system.delete_dir(place.path)


@contextmanager
def translate_read_errors(uri: str) -> Iterator[None]:
    """IO_012 for what the system refuses to give."""
    try:
        yield
    except OSError as failure:
        reason = os.strerror(failure.errno) if failure.errno else str(failure)
        if bucket_of(uri) is not None and not isinstance(failure, PermissionError):
            raise DaybookError("IO_073", location=uri, reason=reason) from failure
        raise DaybookError("IO_012", location=uri, reason=reason, hint="check that you may read it") from failure


def list_folder(folder: str, storage: Storage = PROVIDER_STORAGE) -> "list[fs.FileInfo]":
    """The content of a folder, by name; empty where it does not exist."""
    from pyarrow import fs

    place = arrow_path(folder, storage)
    with translate_read_errors(folder):
        if place.system.get_file_info(place.path).type != fs.FileType.Directory:
            return []
        items: list[fs.FileInfo] = place.system.get_file_info(fs.FileSelector(place.path))
        return sorted(items, key=lambda item: item.path)


_DIGEST_BLOCK = 1 << 20


def content_digest(path: str, storage: Storage = PROVIDER_STORAGE) -> str:
    """A hash of a file's bytes."""
    place = arrow_path(path, storage)
    digest = hashlib.blake2b(digest_size=20)
    with translate_read_errors(path), place.system.open_input_stream(place.path, compression=None) as stream:
        while block := stream.read(_DIGEST_BLOCK):
            digest.update(block)
    return digest.hexdigest()


@dataclass(frozen=True, slots=True, order=True)
class FileStat:
    """One file as it was seen; `path` is absolute (a local path or a full URI)."""

    path: str
    size: int
    modified_ns: int


def _is_hidden(relative: str) -> bool:
    """Also what spreadsheet programs put beside a file while it is open."""
    return any(part.startswith((".", "_", "~$")) and "=" not in part for part in relative.split("/"))


def list_files(uri: str, root: str | None = None, storage: Storage = PROVIDER_STORAGE) -> tuple[FileStat, ...]:
    """The files at a place by path: itself, or everything below it that is not hidden; empty if there is nothing.

    Every file is there once: IO_035 for links that lead out of `root`, nowhere, or to what is listed already.
    """
    if (folder := _plain_path(uri)) is not None:
        with translate_read_errors(uri):
            return _list_local_files(folder, root)
    from pyarrow import fs

    place = arrow_path(uri, storage)
    base = absolute_uri(uri)
    length = len(place.path.rstrip("/"))
    with translate_read_errors(uri):
        info = place.system.get_file_info(place.path)
        if info.type == fs.FileType.NotFound:
            return ()
        if info.type == fs.FileType.File:
            files = [info]
        else:
            everything = place.system.get_file_info(fs.FileSelector(place.path, recursive=True))
            is_file = fs.FileType.File
            files = [item for item in everything if item.type == is_file and not _is_hidden(item.path[length + 1 :])]
    return tuple(sorted(FileStat(base + item.path[length:], item.size, item.mtime_ns or 0) for item in files))


def missing_files_error(uri: str) -> DaybookError:
    """What to say of a location without files: a folder may be there and empty."""
    path = local_path(uri)
    is_empty = path is not None and path.is_dir() and not list_files(uri)
    return DaybookError("IO_036" if is_empty else "IO_001", location=uri)


def _list_local_files(place: str, root: str | None) -> tuple[FileStat, ...]:
    try:
        status = os.stat(place)  # noqa: PTH116 - a text, as in RealPaths
    except (FileNotFoundError, NotADirectoryError):
        return ()
    if stat.S_ISREG(status.st_mode):
        return (FileStat(place, status.st_size, status.st_mtime_ns),)
    listing = _Listing(Path(root).resolve() if root is not None else None)
    listing.add_folder(place, status)
    listing.follow_links()
    return tuple(sorted(listing.files))


class _Listing:
    """The files below a folder, each once by device and inode."""

    def __init__(self, root: Path | None) -> None:
        self.files: list[FileStat] = []
        self._root = root
        self._seen: dict[tuple[int, int], str] = {}
        # What is there by itself is listed before what links lead to, so that an error names the link.
        self._links: list[str] = []

    def add_folder(self, folder: str, status: os.stat_result) -> None:
        pending = [(folder, status)]
        while pending:
            path, folder_status = pending.pop()
            self._seen[folder_status.st_dev, folder_status.st_ino] = path
            # What another process has just removed is not there.
            with contextlib.suppress(FileNotFoundError), os.scandir(path) as entries:
                for entry in sorted(entries, key=lambda entry: entry.name):
                    if _is_hidden(entry.name):
                        continue
                    with contextlib.suppress(FileNotFoundError):
                        if entry.is_symlink():
                            self._links.append(entry.path)
                        elif entry.is_dir():
                            pending.append((entry.path, entry.stat()))
                        elif entry.is_file():
                            self._add_file(entry.path, entry.stat())

    def follow_links(self) -> None:
        while self._links:
            link = self._links.pop()
            real, status = _follow(link)
            if self._root is not None and not real.is_relative_to(self._root):
                raise DaybookError("IO_035", link=link, problem=f"leads out of {self._root}, to {real}")
            if stat.S_ISDIR(status.st_mode):
                if (other := self._seen.get((status.st_dev, status.st_ino))) is not None:
                    raise DaybookError("IO_035", link=link, problem=f"leads to {other}, which is read already")
                self.add_folder(link, status)
            elif stat.S_ISREG(status.st_mode):
                self._add_file(link, status, is_link=True)

    def _add_file(self, path: str, status: os.stat_result, *, is_link: bool = False) -> None:
        other = self._seen.setdefault((status.st_dev, status.st_ino), path)
        # Some file systems number all files alike, so only files that have several names are compared.
        if other != path and (is_link or status.st_nlink > 1):
            raise DaybookError("IO_035", link=path, problem=f"is the same file as {other}, which is read already")
        self.files.append(FileStat(path, status.st_size, status.st_mtime_ns))


def _follow(link: str) -> tuple[Path, os.stat_result]:
    try:
        real = Path(link).resolve(strict=True)
        return real, real.stat()
    except (OSError, RuntimeError) as failure:
        if isinstance(failure, OSError) and failure.errno not in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP):
            raise
        raise DaybookError("IO_035", link=link, problem="leads nowhere") from None


def relative_to(path: str, root: str | None) -> str:
    """A file's path below `root`, or its bare name when it lies elsewhere."""
    if root is not None:
        base = absolute_uri(root).rstrip("/") + "/"
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
