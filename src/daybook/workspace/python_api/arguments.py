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
from daybook.workspace.system_errors import system_error

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


_TEXTS: _Check = (lambda value: _is_list(value) and all(map(_is_text, value)), "a list of texts")

# By the annotation of a parameter, without `None`.
_CHECKS_BY_TYPE: Mapping[str, _Check] = {
    "str": (_is_text, "a text"),
    "bool": (lambda value: isinstance(value, bool), "True or False"),
    "int": (lambda value: _is_whole(value) and value >= 1, "a whole number from 1"),
    "str | pathlib.Path": (lambda value: isinstance(value, str | Path), "a path"),
    "str | datetime.date": (
        lambda value: _is_text(value) or _is_date(value),
        "a date, or its text such as 2026-01-15",
    ),
    "str | int": (lambda value: _is_text(value) or _is_whole(value), "the id or the seq of an operation"),
    "collections.abc.Sequence[str]": _TEXTS,
    "Sequence[str]": _TEXTS,
    "SparkSession": (lambda value: hasattr(value, "createDataFrame"), "a Spark session"),
}
# By name, for parameters that take less than their annotation, or that Python collects.
_CHECKS_BY_NAME: Mapping[str, _Check] = {
    "accept_stale": (_TEXTS[0], "a list of nodes"),
    "account": (lambda value: _is_whole(value) and value >= 0, "the number of an account of this machine"),
    "files": (lambda value: all(isinstance(path, str | Path) for path in value), "paths"),
    "keys": (lambda value: all(map(_is_key, value.values())), "columns with texts, numbers, dates or None"),
    "kind": (lambda value: value in DEFINITION_KINDS, f"one of {', '.join(DEFINITION_KINDS)}"),
    "limit": (lambda value: _is_whole(value) and 1 <= value <= _MOST_ROWS, f"a whole number from 1 to {_MOST_ROWS}"),
    "names": (
        lambda value: isinstance(value, Mapping) and all(map(_is_text, (*value, *value.values()))),
        "expressions by name",
    ),
    "offset": (lambda value: _is_whole(value) and value >= 0, "a whole number from 0"),
    "order": (_TEXTS[0], "a list of causes"),
    "parameters": (
        lambda value: isinstance(value, Mapping) and all(map(_is_text, value)),
        "values by the names of parameters",
    ),
    "paths": (lambda value: all(isinstance(path, str | Path) for path in value), "paths"),
    "projects": (lambda value: not isinstance(value, str) and all(map(_is_text, value)), "ids of projects"),
    "roles": (_TEXTS[0], "a list of roles"),
    "rows": (lambda value: _is_whole(value) and value >= 0, "the seq of an operation, or 0"),
    "tolerance": (
        lambda value: isinstance(value, str | int | float | Decimal) and not isinstance(value, bool),
        "a number from 0",
    ),
    "where": (
        lambda value: _is_list(value) and all(map(_is_condition, value)),
        'a list of comparisons such as ("amount", ">=", 100)',
    ),
    "written": (lambda value: all(map(_is_text, value)), "names of columns"),
    "year": (lambda value: _is_whole(value) and 1 <= value <= 9999, "a year"),
}


def check_of(parameter: inspect.Parameter) -> _Check:
    """Refused at the import where neither the name nor the annotation of a parameter has a check."""
    if parameter.name in _CHECKS_BY_NAME:
        return _CHECKS_BY_NAME[parameter.name]
    annotation = parameter.annotation
    text = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    return _CHECKS_BY_TYPE[text.removesuffix(" | None")]


def checked(method: Callable[_Parameters, _Result]) -> Callable[_Parameters, _Result]:
    """Refuse wrong arguments, and what the system refuses, by an error with a code."""
    signature = inspect.signature(method)
    checks = {name: check_of(parameter) for name, parameter in signature.parameters.items() if name != "self"}

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
