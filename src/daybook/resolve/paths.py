"""Templates such as `{{YYYY}}/{{MM}}/{{table_name}}`, and paths that cannot leave their root folder."""

import calendar as civil
import datetime
import os
import re
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from urllib.parse import unquote, urlsplit

from daybook.errors import DaybookError, Span
from daybook.model.calendar import Period

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:")
_GLOB = re.compile(r"[*?\[\]{}]")
# What file systems take as one name.
_MAX_NAME_BYTES = 255
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
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
            raise DaybookError("RESOLVE_035", path=f"{path.partition(':')[0]}://…", problem=problem)
        return canonical_uri(path).rstrip("/")
    if "\0" in path or path.startswith("~") or _GLOB.search(path):
        problem = "it begins with ~; write the full path" if path.startswith("~") else "it has a NUL or a wildcard"
        raise DaybookError("RESOLVE_035", path=path, problem=problem)
    return os.path.normpath(f"{workspace.absolute()}/{path}" if not path.startswith("/") else path)


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
    check_symlinks(root, trimmed, relative, span=span)
    return target


def check_symlinks(root: str, below: str, written: str, *, span: Span | None = None) -> None:
    """A symbolic link on the way to a path `below` the root may not lead out of it."""
    # Most paths have no links, and following each part from the top of the disk takes several times as long.
    folder = root
    for part in below.split("/"):
        folder = f"{folder}/{part}"
        if os.path.islink(folder):  # noqa: PTH114 - a text, as roots are
            break
    else:
        return
    real_root, real_target = Path(root).resolve(), Path(root, below).resolve()
    if not real_target.is_relative_to(real_root):
        raise DaybookError("RESOLVE_036", span=span, path=written, root=root)


def path_problem(path: str, *, is_inline: bool) -> str | None:
    """What can be said against a path without looking at the disk; inline ones may be absolute or URIs."""
    if not is_inline:
        return _relative_path_problem(path.removesuffix("/"))
    if canonical_uri(path).partition("://")[0] in _OBJECT_STORES:
        return _remote_uri_problem(path)
    if is_remote(path) or path.lower().startswith("file:"):
        return "it has a part .." if ".." in path.split("/") else None
    return _relative_path_problem(path.removeprefix("/").removesuffix("/"))


def is_file_name(text: str) -> bool:
    """Whether a text can be one file or folder name below a root."""
    return "/" not in text and _relative_path_problem(text) is None


# Parts of letters, digits and a few signs, none of them only dots.
_PLAIN_PATH = re.compile(r"(?:(?!\.{1,2}(?:/|$))[A-Za-z0-9_.=-]{1,255}(?:/|$))+(?<!/)")


def _relative_path_problem(path: str) -> str | None:
    """Why a relative path is not allowed, as text."""
    if _PLAIN_PATH.fullmatch(path):
        # Nearly every path, and a close asks for thousands.
        return None
    if not path:
        return "it is empty"
    if _CONTROL.search(path):
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


_SCHEMES = {"s3a": "s3", "s3n": "s3", "gcs": "gs", "abfs": "abfss"}


def canonical_uri(uri: str) -> str:
    """The one spelling of an address, whatever program it was copied from."""
    scheme, separator, rest = uri.partition("://")
    scheme = scheme.lower()
    return f"{_SCHEMES.get(scheme, scheme)}{separator}{rest}" if separator else uri


_OBJECT_STORES = ("s3", "gs", "abfss")
_BUCKET = re.compile(r"[a-z0-9](?:[a-z0-9.-]{1,61}[a-z0-9])")
_CONTAINER = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,62})")
_ACCOUNT = re.compile(r"[a-z0-9.-]{1,253}(?::[0-9]{1,5})?")


def _remote_uri_problem(uri: str) -> str | None:
    if "://" not in uri:
        return "a URI is written scheme://…"
    scheme, _, rest = canonical_uri(uri).partition("://")
    if scheme in _OBJECT_STORES and (problem := _object_problem(scheme, *rest.partition("/"))):
        return problem
    parts = urlsplit(uri)
    if parts.query or parts.fragment:
        return "a URI of data has no query and no fragment"
    if parts.password is not None:
        return "it has a password; use credential_ref"
    if ".." in parts.path.split("/"):
        return "it has a part .."
    return None


def _object_problem(scheme: str, bucket: str, separator: str, key: str) -> str | None:
    """What can be said against the address of an object; clients differ in how they read odd ones."""
    name, at, account = bucket.partition("@")
    if scheme == "abfss":
        if not at or not _ACCOUNT.fullmatch(account):
            return "a container is written abfss://container@account"
        if not _CONTAINER.fullmatch(name):
            return "a container has lower-case letters, digits and hyphens"
    elif at:
        return "it has a user or a key; use credential_ref"
    elif not _BUCKET.fullmatch(name) or ".." in name:
        return "a bucket has 3 to 63 lower-case letters, digits, dots and hyphens"
    if "?" in key or "#" in key:
        return "a URI of data has no query and no fragment"
    return _relative_path_problem(key.removesuffix("/")) if key else None


TEMPLATE_TOKENS = ("YYYY", "MM", "DD", "QQ", "identifier", "table_name")
_TOKEN = re.compile(r"\{\{(.*?)\}\}", re.DOTALL)
_UNITS = {"YYYY": "year", "QQ": "quarter", "MM": "month", "DD": "day"}


@lru_cache(maxsize=4096)
def template_tokens(text: str) -> frozenset[str]:
    return frozenset(match[1].strip() for match in _TOKEN.finditer(text))


def template_errors(text: str, span: Span | None = None) -> list[DaybookError]:
    """Unknown tokens, and braces that are not part of a token."""
    errors = [
        DaybookError(
            "RESOLVE_030",
            span=span,
            hint=f"the tokens are {', '.join('{{' + token + '}}' for token in TEMPLATE_TOKENS)}",
            token="{{" + token + "}}",
            template=text,
        )
        for token in sorted(template_tokens(text).difference(TEMPLATE_TOKENS))
    ]
    if not errors and (brace := re.search(r"[{}]", _TOKEN.sub("", text))):
        errors.append(DaybookError("RESOLVE_031", span=span, brace=brace[0], template=text))
    return errors


@lru_cache(maxsize=4096)
def _is_template(text: str) -> bool:
    """Whether a text is a template without errors; every period asks it again."""
    return not template_errors(text)


def path_template_errors(text: str, *, is_inline: bool, span: Span | None = None) -> list[DaybookError]:
    """The same for a path, and whatever would make it unusable for every period."""
    if errors := template_errors(text, span):
        return errors
    # No token is replaced by special characters, so any letter can be used to check the rest.
    problem = path_problem(fill_tokens(text, "x"), is_inline=is_inline)
    return [DaybookError("RESOLVE_035", span=span, path=text, problem=problem)] if problem else []


def render_template(text: str, period: Period, table_name: str, *, span: Span | None = None) -> str:
    """The text with every token replaced by what it means for a period."""
    if not _is_template(text):
        raise template_errors(text, span)[0]
    values: Mapping[str, str] = {"identifier": period.identifier, "table_name": table_name}

    def value(match: re.Match[str]) -> str:
        token = match[1].strip()
        return values[token] if token in values else _civil_value(token, period, text, span)

    return _TOKEN.sub(value, text)


def fill_tokens(text: str, value: str) -> str:
    """The template with one value for every token."""
    return _TOKEN.sub(lambda _: value, text)


def fill_table_name(text: str, table_name: str) -> str:
    """The template with only the table filled in, so that it says the same under another table."""
    return _TOKEN.sub(lambda match: table_name if match[1].strip() == "table_name" else match[0], text)


def names_one_period(text: str, period: Period) -> bool:
    """Whether the tokens of a template name this period alone, so that what lies there is all its own."""
    tokens = template_tokens(text)
    if "identifier" in tokens:
        return True
    dated: tuple[tuple[set[str], str], ...] = (
        ({"YYYY"}, "year"),
        ({"YYYY", "QQ"}, "quarter"),
        ({"YYYY", "MM"}, "month"),
        ({"YYYY", "MM", "DD"}, "day"),
    )
    return any(
        needed <= tokens and _civil_unit(unit, period.start_date) == (period.start_date, period.end_date)
        for needed, unit in dated
    )


def _civil_value(token: str, period: Period, template: str, span: Span | None) -> str:
    """A part of the civil date, which has to be the same for every day of the period."""
    start, unit = period.start_date, _UNITS[token]
    first, last = _civil_unit(unit, start)
    if not first <= period.end_date <= last:
        raise DaybookError(
            "RESOLVE_032",
            span=span,
            hint="use {{identifier}}, or set data_level so that the data is read by finer periods",
            token="{{" + token + "}}",
            template=template,
            level=period.level,
            period=period.identifier,
            start=start,
            end=period.end_date,
            unit=unit,
        )
    match token:
        case "YYYY":
            return f"{start.year:04d}"
        case "QQ":
            return f"Q{_quarter(start)}"
        case "MM":
            return f"{start.month:02d}"
        case _:
            return f"{start.day:02d}"


def _civil_unit(unit: str, day: datetime.date) -> tuple[datetime.date, datetime.date]:
    """First and last day of the civil year, quarter, month or day around a day."""
    first_month, last_month = {
        "year": (1, 12),
        "quarter": (3 * _quarter(day) - 2, 3 * _quarter(day)),
    }.get(unit, (day.month, day.month))
    if unit == "day":
        return day, day
    last_day = civil.monthrange(day.year, last_month)[1]
    return datetime.date(day.year, first_month, 1), datetime.date(day.year, last_month, last_day)


def _quarter(day: datetime.date) -> int:
    return (day.month + 2) // 3
