"""Columns, the period's variables and named selectors: what a name stands for."""

from collections.abc import Callable, Mapping

from daybook.errors import DaybookError
from daybook.expression.context import Checking
from daybook.expression.limits import MAX_DEPTH, MAX_NODES
from daybook.expression.nearest import nearest
from daybook.expression.nodes import Column, Node, SelectorReference
from daybook.expression.scope import ColumnUse
from daybook.expression.typed import Broken, ColumnValue, ConstantName, ConstantValue, Typed
from daybook.model.system_columns import SYNONYMS
from daybook.model.types import DATE, STRING, ColumnType

PERIOD = "period"
PERIOD_VARIABLES: dict[str, tuple[ConstantName, ColumnType]] = {
    "identifier": ("identifier", STRING),
    "level": ("level", STRING),
    "start_date": ("start_date", DATE),
    "end_date": ("end_date", DATE),
}


def check_column(node: Column, checking: Checking, *, may_be_text: bool = False) -> Typed:
    """`may_be_text`: the name stands where a text was expected, so quotes may have been forgotten."""
    scope = checking.scope
    if node.qualifier is None:
        return _found(node, scope.columns, None, checking) or _unknown(node, checking, may_be_text)
    if node.qualifier in scope.qualifiers:
        alias = node.qualifier if node.qualifier in scope.aliases else None
        columns = scope.qualifiers[node.qualifier]
        if found := _found(node, columns, alias, checking):
            return found
        return checking.report(
            "EXPR_012",
            node.place,
            hint=_meant(node.name, columns, of=f"{node.qualifier}."),
            name=f"{node.qualifier}.{node.name}",
        )
    if node.qualifier == PERIOD and scope.has_period:
        if variable := PERIOD_VARIABLES.get(node.name):
            return ConstantValue(*variable)
        hint = f"period has {', '.join(PERIOD_VARIABLES)}"
        return checking.report("EXPR_012", node.place, hint=hint, name=f"{PERIOD}.{node.name}")
    known = sorted({*scope.qualifiers, *((PERIOD,) if scope.has_period else ())})
    qualifier_hint = _meant(node.qualifier, known) or (f"known here: {', '.join(known)}" if known else None)
    column = f"{node.qualifier}.{node.name}"
    return checking.report("EXPR_013", node.place, hint=qualifier_hint, name=node.qualifier, column=column)


def _found(node: Column, columns: Mapping[str, ColumnType], alias: str | None, checking: Checking) -> Typed | None:
    name = node.name if node.name in columns else SYNONYMS.get(node.name, node.name)
    if name not in columns:
        return None
    grouping = checking.grouping
    if grouping is not None and checking.aggregate is None and name not in grouping.columns:
        hint = f"add it to group_by, or use an aggregate function such as MAX_AGG({node.name})"
        return checking.report("EXPR_042", node.place, hint=hint, name=node.name)
    use = ColumnUse(alias, name)
    checking.uses.add(use)
    return ColumnValue(use, columns[name])


def _unknown(node: Column, checking: Checking, may_be_text: bool) -> Typed:
    meant = _meant(node.name, checking.scope.columns)
    hints = [meant] if meant else []
    owners = [
        alias for alias in sorted(checking.scope.aliases) if node.name in checking.scope.qualifiers.get(alias, {})
    ]
    if owners:
        hints = [f"write {owners[0]}.{node.name}"]
    if may_be_text:
        hints.append(f'write "{node.name}" for the text')
    return checking.report("EXPR_012", node.place, hint="; or ".join(hints) or None, name=node.name)


def _meant(name: str, candidates: Mapping[str, ColumnType] | list[str], *, of: str = "") -> str | None:
    found = nearest(name, candidates)
    return f"did you mean {of}{found}?" if found else None


def check_selector(
    node: SelectorReference, checking: Checking, check_condition: Callable[[Node, Checking], Typed]
) -> Typed:
    """The named selector's own tree; its errors point into its own text."""
    name, selectors = node.name, checking.selectors
    if selectors is None:
        return checking.report("EXPR_052", node.place, name=name)
    if name not in selectors.names:
        known = sorted(selectors.names)
        hint = _meant(name, known) or (
            f"known: {', '.join(known)}" if known else "define it under selectors of the project"
        )
        return checking.report("EXPR_050", node.place, hint=hint, name=name)
    if name in checking.open_selectors:
        circle = (*checking.open_selectors[checking.open_selectors.index(name) :], name)
        return checking.report("EXPR_051", node.place, name=name, path=" → ".join(circle))
    try:
        tree = selectors.tree(name)
    except DaybookError as error:
        checking.keep(error)
        return Broken()
    if checking.level + tree.place.depth > MAX_DEPTH:
        return checking.report("EXPR_007", node.place, limit=MAX_DEPTH)
    if not checking.has_room_for(tree):
        found = f"more than {MAX_NODES:,} parts with its selectors"
        return checking.report("EXPR_008", node.place, found=found, limit=f"{MAX_NODES:,}")
    with checking.inside_selector(name, selectors.source(name)):
        return check_condition(tree, checking)
