"""What the parameters of the Python interface take; everything else is refused with a code."""

import datetime
import functools
import inspect
import numbers
from collections.abc import Callable, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from daybook.errors import DaybookError
from daybook.model.definition import DEFINITION_KINDS
from daybook.workspace.open_workspace import system_error

_Parameters = ParamSpec("_Parameters")
_Result = TypeVar("_Result")
_Check = tuple[Callable[[Any], bool], str]

Condition = tuple[str, str] | tuple[str, str, Any]

_MOST_ROWS = 10_000


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_list(value: Any) -> bool:
    return isinstance(value, list | tuple)


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_date(value: Any) -> bool:
    return isinstance(value, datetime.date) and not isinstance(value, datetime.datetime)


def _is_condition(value: Any) -> bool:
    """A column, a comparison, and a value unless the comparison needs none."""
    is_pair = _is_list(value) and len(value) in (2, 3) and all(map(_is_text, value[:2]))
    return is_pair and all(map(_is_key, value[2:]))


def _is_key(value: Any) -> bool:
    return value is None or isinstance(value, str | numbers.Number | datetime.date)


_TEXT: _Check = (_is_text, "a text")
_FLAG: _Check = (lambda value: isinstance(value, bool), "True or False")
_PATH: _Check = (lambda value: isinstance(value, str | Path), "a path")
_POSITIVE: _Check = (lambda value: _is_whole(value) and value >= 1, "a whole number from 1")

_COLUMNS: _Check = (lambda value: _is_list(value) and all(map(_is_text, value)), "a list of columns")

# What each parameter of the methods takes; a name means the same everywhere unless a method is named with it.
ARGUMENT_CHECKS: Mapping[str, _Check] = {
    "path": _PATH,
    "folder": _PATH,
    "spark": (lambda value: hasattr(value, "createDataFrame"), "a Spark session"),
    "project": _TEXT,
    "digest": _TEXT,
    "within": _TEXT,
    "project_id": _TEXT,
    "period": _TEXT,
    "periods": _TEXT,
    "run_id": _TEXT,
    "run": _TEXT,
    "against": _TEXT,
    "identifier": _TEXT,
    "expression": _TEXT,
    "columns": _TEXT,
    "written": (lambda value: all(map(_is_text, value)), "names of columns"),
    "downstream": _TEXT,
    "parameter_types": _TEXT,
    "names": (
        lambda value: isinstance(value, Mapping) and all(map(_is_text, (*value, *value.values()))),
        "expressions by name",
    ),
    "code": _TEXT,
    "reason": _TEXT,
    "workspace": _TEXT,
    "table": _TEXT,
    "destination": _TEXT,
    "kind": (lambda value: value in DEFINITION_KINDS, f"one of {', '.join(DEFINITION_KINDS)}"),
    "operation": (lambda value: _is_text(value) or _is_whole(value), "the id or the seq of an operation"),
    "keys": (lambda value: all(map(_is_key, value.values())), "columns with texts, numbers, dates or None"),
    "parameters": (
        lambda value: isinstance(value, Mapping) and all(map(_is_text, value)),
        "values by the names of parameters",
    ),
    "as_of": (lambda value: _is_text(value) or _is_date(value), "a date, or its text such as 2026-01-15"),
    "certificate": _PATH,
    "out": _PATH,
    "files": (lambda value: all(isinstance(path, str | Path) for path in value), "paths"),
    "seal.key": _TEXT,
    "verify.key": _PATH,
    "accept_stale": (lambda value: _is_list(value) and all(map(_is_text, value)), "a list of nodes"),
    "timestamp": _TEXT,
    "roles": (lambda value: _is_list(value) and all(map(_is_text, value)), "a list of roles"),
    "account": (lambda value: _is_whole(value) and value >= 0, "the number of an account of this machine"),
    "number": _POSITIVE,
    "before": _POSITIVE,
    "head": _TEXT,
    "group_by": _COLUMNS,
    "key": _COLUMNS,
    "by": _COLUMNS,
    "order": (lambda value: _is_list(value) and all(map(_is_text, value)), "a list of causes"),
    "measure": _TEXT,
    "a": _TEXT,
    "b": _TEXT,
    "output": _TEXT,
    "rows": (lambda value: _is_whole(value) and value >= 0, "the seq of an operation, or 0"),
    "tolerance": (
        lambda value: isinstance(value, str | int | float | Decimal) and not isinstance(value, bool),
        "a number from 0",
    ),
    "sort": _COLUMNS,
    "measures": _COLUMNS,
    "where": (
        lambda value: _is_list(value) and all(map(_is_condition, value)),
        'a list of comparisons such as ("amount", ">=", 100)',
    ),
    "offset": (lambda value: _is_whole(value) and value >= 0, "a whole number from 0"),
    "projects": (lambda value: not isinstance(value, str) and all(map(_is_text, value)), "ids of projects"),
    "jobs": _POSITIVE,
    "paths": (lambda value: all(isinstance(path, str | Path) for path in value), "paths"),
    "limit": (lambda value: _is_whole(value) and 1 <= value <= _MOST_ROWS, f"a whole number from 1 to {_MOST_ROWS}"),
    "version": _POSITIVE,
    "version_a": _POSITIVE,
    "version_b": _POSITIVE,
    "dataset_version": _POSITIVE,
    "year": (lambda value: _is_whole(value) and 1 <= value <= 9999, "a year"),
    "status": _TEXT,
    "after": _TEXT,
    "calendar": _TEXT,
    "level": _TEXT,
    "keyword": _TEXT,
    "name": _TEXT,
    **dict.fromkeys(
        (
            "draft",
            "quick",
            "both",
            "allow_empty",
            "require_fresh",
            "sandbox_inputs",
            "prune",
            "keep_rows",
            "fix",
            "with_spark",
            "dry_run",
            "only",
            "full",
            "keep_going",
            "ask",
            "look",
            "totals",
            "to_start",
            "differences",
            "through",
            "all_requests",
            "data",
            "recompute",
        ),
        _FLAG,
    ),
}


def _check_of(method: str, parameter: str) -> _Check:
    """Refused at the import where a parameter has no check."""
    own = ARGUMENT_CHECKS.get(f"{method}.{parameter}")
    return own if own is not None else ARGUMENT_CHECKS[parameter]


def checked(method: Callable[_Parameters, _Result]) -> Callable[_Parameters, _Result]:
    """Refuse wrong arguments, and what the system refuses, by an error with a code."""
    signature = inspect.signature(method)
    checks = {name: _check_of(method.__name__, name) for name in signature.parameters if name != "self"}

    @functools.wraps(method)
    def checked_method(*args: _Parameters.args, **kwargs: _Parameters.kwargs) -> _Result:
        for name, value in signature.bind(*args, **kwargs).arguments.items():
            if name == "self" or (value is None and signature.parameters[name].default is None):
                continue
            is_right, expected = checks[name]
            if not is_right(value):
                raise DaybookError("RUN_031", argument=name, expected=expected, value=repr(value))
        try:
            return method(*args, **kwargs)
        except OSError as failure:
            if (refused := system_error(failure)) is None:
                raise
            raise refused from failure

    return checked_method
