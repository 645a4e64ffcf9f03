"""Text → checked, typed tree, ready to become SQL."""

from dataclasses import dataclass, replace
from typing import Literal

from daybook.errors import DaybookError, Span, raise_all
from daybook.expression.checking import check, check_condition
from daybook.expression.context import Checking
from daybook.expression.functions.table import FUNCTIONS
from daybook.expression.guarding import only_where
from daybook.expression.nodes import Call, Column, Node, Star
from daybook.expression.operators import as_decimal_literal
from daybook.expression.parsing import parse, span_of
from daybook.expression.scope import ColumnUse, Constants, Grouping, Scope
from daybook.expression.selectors import Selectors
from daybook.expression.sql import to_sql
from daybook.expression.typed import Typed
from daybook.expression.weighing import refuse_heavy
from daybook.model.types import ColumnType


@dataclass(frozen=True, slots=True)
class Compiled:
    """A checked expression; its SQL needs nothing but the run's constants."""

    text: str
    type: ColumnType
    uses: frozenset[ColumnUse]
    is_aggregate: bool
    tree: Typed

    def sql(self, constants: Constants) -> str:
        return to_sql(self.tree, constants)

    @property
    def type_beside_decimals(self) -> ColumnType:
        """The type where it meets decimals: an integer that is written out has no more than its digits."""
        return as_decimal_literal(self.tree).type

    def only_where(self, column: str) -> "Compiled":
        """An aggregation that leaves out the rows where a boolean column is not true.

        COUNT(*) still counts them: it is for groups that are thrown away, and keeps them from failing.
        """
        return replace(self, tree=only_where(self.tree, column))


def compile_expression(
    text: str,
    scope: Scope,
    *,
    selectors: Selectors | None = None,
    span: Span | None = None,
    expect: Literal["boolean"] | None = None,
    grouping: Grouping | None = None,
) -> Compiled:
    """Check an expression completely; raises all its errors at once."""
    tree = parse(text, span)
    checking = Checking(scope, selectors, grouping, span_of(text, span))
    checking.has_room_for(tree)
    typed = check_condition(tree, checking) if expect == "boolean" else check(tree, checking)
    if grouping is not None:
        _check_aggregation(tree, grouping, checking)
    raise_all(checking.errors)
    refuse_heavy(typed, checking)
    return Compiled(text, typed.type, frozenset(checking.uses), checking.has_aggregate, typed)


def _check_aggregation(tree: Node, grouping: Grouping, checking: Checking) -> None:
    if checking.errors:
        return
    if not checking.has_aggregate:
        hint = "use SUM, COUNT, COUNT_ALL, AVG, MIN_AGG or MAX_AGG"
        checking.errors.append(DaybookError("EXPR_044", span=checking.source, hint=hint))
    elif grouping.strict and not _is_function_of_column(tree):
        checking.errors.append(DaybookError("EXPR_043", span=checking.source))


def _is_function_of_column(tree: Node) -> bool:
    return (
        isinstance(tree, Call)
        and FUNCTIONS[tree.name].is_aggregate
        and len(tree.arguments) == 1
        and isinstance(tree.arguments[0], Column | Star)
    )
