"""Aggregate functions that look at some of the rows only."""

from dataclasses import fields, replace
from typing import Any

from daybook.expression.scope import ColumnUse
from daybook.expression.typed import AllRows, Applied, Choice, ColumnValue, Typed
from daybook.model.types import BOOLEAN


def only_where(tree: Typed, column: str) -> Typed:
    """The tree with every argument of an aggregate function evaluated only where a boolean column is true."""
    guarded: Typed = _guarded(tree, ColumnValue(ColumnUse(None, column), BOOLEAN))
    return guarded


def _guarded(part: Any, condition: ColumnValue) -> Any:
    match part:
        case Applied(function=function, arguments=arguments) if function.is_aggregate:
            return replace(part, arguments=tuple(_chosen(argument, condition) for argument in arguments))
        case tuple():
            return tuple(_guarded(each, condition) for each in part)
        case _ if isinstance(part, Typed):
            changed = {each.name: _guarded(getattr(part, each.name), condition) for each in fields(part)}
            return replace(part, **changed)
        case _:
            return part


def _chosen(argument: Typed, condition: ColumnValue) -> Typed:
    if isinstance(argument, AllRows):
        return argument
    return Choice(((condition, argument),), None, argument.type)
