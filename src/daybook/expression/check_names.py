"""Resolves names: a column, a variable of the period, a parameter, a named selector or expression."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from daybook.errors import DaybookError, Span
from daybook.errors.error import closest_match
from daybook.expression.functions.function_table import FUNCTIONS
from daybook.expression.syntax_tree import MAX_DEPTH, MAX_NODES, Column, NodeSpan, SelectorReference, SyntaxNode
from daybook.expression.typed_tree import (
    ColumnUse,
    ColumnValue,
    ConstantName,
    ConstantValue,
    Grouping,
    InvalidNode,
    NamedExpressions,
    ParameterValue,
    Scope,
    TypedNode,
)
from daybook.model.parameter import PARAMETER_QUALIFIER
from daybook.model.types import COLUMN_SYNONYMS, DATE, STRING, ColumnType


@dataclass(slots=True)
class CheckContext:
    """Errors are collected; `source` is the text at hand, which changes inside a named expression.

    Without `names` none may be used here. `open_names` are those around the node at hand, each with the span where it
    is used.
    """

    scope: Scope
    names: NamedExpressions | None
    grouping: Grouping | None
    source: Span
    errors: list[DaybookError] = field(default_factory=list)
    uses: set[ColumnUse] = field(default_factory=set)
    open_names: tuple[tuple[str, Span], ...] = ()
    aggregate: str | None = None
    has_aggregate: bool = False
    allows_windows: bool = False
    window: str | None = None
    nodes: int = 0
    level: int = 0

    def report(self, code: str, span: NodeSpan, *, hint: str | None = None, **parameters: Any) -> InvalidNode:
        return self.report_at(code, self.source.within(span.start, span.end), hint=hint, **parameters)

    def report_at(self, code: str, span: Span, *, hint: str | None = None, **parameters: Any) -> InvalidNode:
        self.keep(DaybookError(code, span=span, hint=hint, **parameters))
        return InvalidNode()

    def keep(self, error: DaybookError) -> None:
        """A finding of a named expression that is used twice stays one finding."""
        if not any(reported.code == error.code and reported.span == error.span for reported in self.errors):
            error.used_as = self._use()
            self.errors.append(error)

    def _use(self) -> str | None:
        """The names around the node at hand, and where the outermost of them is used."""
        if not self.open_names:
            return None
        path = " in ".join(f"{{{{{name}}}}}" for name, _ in reversed(self.open_names))
        (_, span) = self.open_names[0]
        if span.file is None:
            return path if len(self.open_names) > 1 else None
        return f"{path} at {span}"

    @contextmanager
    def inside_name(self, name: str, used: NodeSpan, source: Span) -> Iterator[None]:
        outer, self.source = self.source, source
        self.open_names = (*self.open_names, (name, outer.within(used.start, used.end)))
        try:
            yield
        finally:
            self.source = outer
            self.open_names = self.open_names[:-1]

    @contextmanager
    def inside_aggregate(self, name: str) -> Iterator[None]:
        self.aggregate = name
        self.has_aggregate = True
        try:
            yield
        finally:
            self.aggregate = None

    @contextmanager
    def inside_window(self, name: str) -> Iterator[None]:
        self.window = name
        try:
            yield
        finally:
            self.window = None

    def has_room_for(self, tree: SyntaxNode) -> bool:
        """Counts spliced trees, so that names of names cannot multiply without end."""
        self.nodes += tree.span.size
        return self.nodes <= MAX_NODES


PERIOD_NAME = "period"
PERIOD_VARIABLES: dict[str, tuple[ConstantName, ColumnType]] = {
    "identifier": ("identifier", STRING),
    "level": ("level", STRING),
    "start_date": ("start_date", DATE),
    "end_date": ("end_date", DATE),
}


def check_column(node: Column, checking: CheckContext, *, may_be_text: bool = False) -> TypedNode:
    """`may_be_text`: a text is expected here, so the quotes may be missing."""
    scope = checking.scope
    if node.qualifier is None:
        return _resolve_column(node, scope.columns, None, checking) or _report_unknown_column(
            node, checking, may_be_text
        )
    if node.qualifier in scope.qualifiers:
        alias = node.qualifier if node.qualifier in scope.aliases else None
        columns = scope.qualifiers[node.qualifier]
        if resolved := _resolve_column(node, columns, alias, checking):
            return resolved
        return checking.report(
            "EXPR_012",
            node.span,
            hint=_suggest_name(node.name, columns, of=f"{node.qualifier}."),
            name=f"{node.qualifier}.{node.name}",
        )
    if node.qualifier == PERIOD_NAME and scope.has_period:
        if variable := PERIOD_VARIABLES.get(node.name):
            return ConstantValue(*variable)
        hint = f"period has {', '.join(PERIOD_VARIABLES)}"
        return checking.report("EXPR_012", node.span, hint=hint, name=f"{PERIOD_NAME}.{node.name}")
    # Conditions of resolvers have no columns, and no project whose parameters they could use.
    if node.qualifier == PARAMETER_QUALIFIER and (scope.parameters or scope.columns):
        return _check_parameter(node, checking)
    qualifiers = sorted(
        {
            *scope.qualifiers,
            *((PERIOD_NAME,) if scope.has_period else ()),
            *((PARAMETER_QUALIFIER,) if scope.parameters else ()),
        }
    )
    qualifier_hint = _suggest_name(node.qualifier, qualifiers) or (
        f"known here: {', '.join(qualifiers)}" if qualifiers else None
    )
    column = f"{node.qualifier}.{node.name}"
    return checking.report("EXPR_013", node.span, hint=qualifier_hint, name=node.qualifier, column=column)


def _check_parameter(node: Column, checking: CheckContext) -> TypedNode:
    parameters = checking.scope.parameters
    if node.name in parameters:
        return ParameterValue(node.name, parameters[node.name])
    declared = f"it has {', '.join(parameters)}" if parameters else None
    hint = _suggest_name(node.name, parameters, of=f"{PARAMETER_QUALIFIER}.") or declared
    return checking.report("EXPR_077", node.span, hint=hint or _declare_hint(node.name), name=node.name)


def _declare_hint(name: str) -> str:
    return f"declare it in the project: `parameters: {{{name}: {{type: decimal, default: 0}}}}`"


def _resolve_column(
    node: Column, columns: Mapping[str, ColumnType], alias: str | None, checking: CheckContext
) -> TypedNode | None:
    name = node.name if node.name in columns else COLUMN_SYNONYMS.get(node.name, node.name)
    if name not in columns:
        return None
    grouping = checking.grouping
    if grouping is not None and checking.aggregate is None and name not in grouping.columns:
        hint = f"add it to group_by, or use an aggregate function such as MAX_AGG({node.name})"
        return checking.report("EXPR_042", node.span, hint=hint, name=node.name)
    use = ColumnUse(alias, name)
    checking.uses.add(use)
    return ColumnValue(use, columns[name])


def _report_unknown_column(node: Column, checking: CheckContext, may_be_text: bool) -> TypedNode:
    function = FUNCTIONS.get(node.name.upper())
    meant = f"write {function.signature}" if function else _suggest_name(node.name, checking.scope.columns)
    hints = [meant] if meant else []
    owners = [
        alias for alias in sorted(checking.scope.aliases) if node.name in checking.scope.qualifiers.get(alias, {})
    ]
    if owners:
        hints = [f"write {owners[0]}.{node.name}"]
    parameters = checking.scope.parameters
    if node.name in parameters:
        hints = [f"write {PARAMETER_QUALIFIER}.{node.name}"]
    elif node.name == PARAMETER_QUALIFIER and parameters:
        hints = [f"write {PARAMETER_QUALIFIER}.{next(iter(parameters))}"]
    if may_be_text:
        hints.append(f'write "{node.name}" for the text')
    return checking.report("EXPR_012", node.span, hint="; or ".join(hints) or None, name=node.name)


def _suggest_name(name: str, candidates: Mapping[str, ColumnType] | list[str], *, of: str = "") -> str | None:
    suggestion = closest_match(name, candidates)
    return f"did you mean {of}{suggestion}?" if suggestion else None


def check_name(
    node: SelectorReference,
    checking: CheckContext,
    check: Callable[[SyntaxNode, CheckContext], TypedNode],
    check_condition: Callable[[SyntaxNode, CheckContext], TypedNode],
) -> TypedNode:
    """The tree of a named selector or expression; its errors point into its own text and say where it is used."""
    name, names = node.name, checking.names
    if names is None:
        return checking.report("EXPR_052", node.span, name=name)
    if name not in names.names:
        defined_names = sorted(names.names)
        hint = _suggest_name(name, defined_names) or (
            f"known: {', '.join(defined_names)}"
            if defined_names
            else "define it under selectors or expressions of the project"
        )
        return checking.report("EXPR_050", node.span, hint=hint, name=name)
    names.used.add(name)
    around = [open_name for open_name, _ in checking.open_names]
    if name in around:
        circle = (*around[around.index(name) :], name)
        return checking.report("EXPR_051", node.span, name=name, path=" → ".join(circle))
    with checking.inside_name(name, node.span, names.source(name)):
        try:
            tree = names.tree(name)
        except DaybookError as error:
            checking.keep(error)
            return InvalidNode()
    if checking.level + tree.span.depth > MAX_DEPTH:
        return checking.report("EXPR_007", node.span, limit=MAX_DEPTH)
    if not checking.has_room_for(tree):
        size = f"more than {MAX_NODES:,} parts with its named expressions"
        return checking.report("EXPR_008", node.span, found=size, limit=f"{MAX_NODES:,}")
    with checking.inside_name(name, node.span, names.source(name)):
        return check_condition(tree, checking) if names.is_selector(name) else check(tree, checking)
