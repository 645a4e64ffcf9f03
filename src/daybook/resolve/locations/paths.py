"""Paths below a root that cannot leave it."""

import os
import re
from pathlib import Path
from urllib.parse import unquote, urlsplit

from daybook.errors import DaybookError, Span

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:")
_GLOB = re.compile(r"[*?\[\]{}]")
# What file systems take as one name.
_MAX_NAME_BYTES = 255
_PERCENT = re.compile(r"%[0-9A-Fa-f]{2}")


def absolute_root(path: str, workspace: Path) -> str:
    """A data source's folder, written relative to the workspace, absolute or as a URI.

    Local folders come back as plain absolute paths, others as URIs without a slash at the end.
    """
    if path.lower().startswith("file:"):
        parts = urlsplit(path)
        if parts.netloc not in ("", "localhost") or not parts.path.startswith("/"):
            raise DaybookError("RESOLVE_035", path=path, problem="a file: URI names a path of this machine, file:///…")
        return os.path.normpath(unquote(parts.path))
    if is_remote(path):
        if problem := _remote_uri_problem(path):
            # The URI may hold a password, so it is not shown.
            raise DaybookError("RESOLVE_035", path=f"{urlsplit(path).scheme}://…", problem=problem)
        return path.rstrip("/")
    if "\0" in path or path.startswith("~") or _GLOB.search(path):
        problem = "it begins with ~; write the folder out" if path.startswith("~") else "it has a NUL or a wildcard"
        raise DaybookError("RESOLVE_035", path=path, problem=problem)
    return os.path.normpath(Path(workspace).absolute() / path)


def is_remote(path: str) -> bool:
    return _SCHEME.match(path) is not None and not path.lower().startswith("file:")


def join_inside(root: str, relative: str, *, span: Span | None = None) -> str:
    """`relative` below `root`; anything that could mean a place outside it is an error."""
    trimmed = relative[:-1] if relative.endswith("/") else relative
    if problem := _relative_path_problem(trimmed):
        raise DaybookError("RESOLVE_035", span=span, path=relative, problem=problem)
    if is_remote(root):
        return f"{root}/{trimmed}"
    target = os.path.join(root, trimmed)  # noqa: PTH118 - roots are texts, local or not
    check_symlinks(root, target, relative, span=span)
    return target


def check_symlinks(root: str, target: str, written: str, *, span: Span | None = None) -> None:
    """A symbolic link on the way may not lead out of the root."""
    real_root, real_target = Path(root).resolve(), Path(target).resolve()
    if not real_target.is_relative_to(real_root):
        raise DaybookError("RESOLVE_036", span=span, path=written, root=root)


def path_problem(path: str, *, is_inline: bool) -> str | None:
    """What can be said against a path without looking at the disk; inline ones may be absolute or URIs."""
    if not is_inline:
        return _relative_path_problem(path.removesuffix("/"))
    if is_remote(path) or path.lower().startswith("file:"):
        return "it has a part .." if ".." in path.split("/") else None
    return _relative_path_problem(path.removeprefix("/").removesuffix("/"))


def is_file_name(text: str) -> bool:
    """Whether a text can be one file or folder name below a root."""
    return "/" not in text and _relative_path_problem(text) is None


def _relative_path_problem(path: str) -> str | None:
    """What a relative path must not have, in words."""
    if not path:
        return "it is empty"
    if any(ord(character) < 32 or ord(character) == 127 for character in path):
        return "it has a NUL or another control character"
    if "\\" in path:
        return "it has a backslash"
    if path.startswith("/"):
        return "it is absolute"
    if path.startswith("~"):
        return "it begins with ~"
    if _SCHEME.match(path):
        return "it is a URI"
    if glob := _GLOB.search(path):
        return f"{glob[0]} would be read as a wildcard"
    if percent := _PERCENT.search(path):
        return f"{percent[0]} would be read as an escaped character"
    segments = path.split("/")
    if "" in segments:
        return "it has an empty part"
    if ".." in segments or "." in segments:
        return "it has a part . or .."
    if any(len(segment.encode()) > _MAX_NAME_BYTES for segment in segments):
        return f"a part of it is longer than {_MAX_NAME_BYTES} bytes"
    return None


def _remote_uri_problem(uri: str) -> str | None:
    parts = urlsplit(uri)
    if "://" not in uri:
        return "a URI is written scheme://…"
    if parts.query or parts.fragment:
        return "a URI of data has no query and no fragment"
    if parts.password is not None:
        return "it has a password; use credential_ref"
    if ".." in parts.path.split("/"):
        return "it has a part .."
    return None
