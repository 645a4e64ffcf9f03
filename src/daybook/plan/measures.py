"""Which numeric columns of a row can be added up over rows: those that are neither keys nor ratios.

A key is a column of a natural key, of a grouping, of an equality with a joined column, or of the partition of a window.
A ratio is an average, a quotient of two columns, or a rate: a value that was looked up and that others are multiplied
with or divided by. A quotient by a rate is an amount in another unit.

A project, or a dataset that it reads, may name its measures. Their totals are followed through the whole run.
"""

from collections.abc import Iterator

from daybook.errors import DaybookError
from daybook.errors.error import did_you_mean
from daybook.expression.typed_tree import (
    Arithmetic,
    ColumnValue,
    Conversion,
    LiteralValue,
    ParameterValue,
    TypedCall,
    TypedCase,
    TypedNegation,
    TypedNode,
    TypedWindow,
)
from daybook.model.measures import is_numeric
from daybook.plan.conditions import column_uses, excludes, split_join_condition, total_columns
from daybook.plan.steps import AggregateStep, AppendStep, Plan, Step, UpdateStep
from daybook.plan.walk import Walk

# Functions whose value is of the same kind as their first argument.
_SAME_KIND = frozenset({"ROUND", "ABS", "FLOOR", "CEIL", "SUM", "MIN", "MAX", "MIN_AGG", "MAX_AGG", "COALESCE"})


def followed_measures(walk: Walk) -> tuple[str, ...]:
    """The measures of a project: its own, and those of the datasets whose rows become rows of the working dataset."""
    of_datasets = (column for load in walk.loads if load.role != "join" for column in load.version.dataset.measures)
    present = (column for column in of_datasets if column in walk.columns and is_numeric(walk.columns[column]))
    return tuple(dict.fromkeys((*walk.project.measures, *present)))


def check_measures(walk: Walk) -> Iterator[DaybookError]:
    """Measures of a project are numeric columns that it has at its end."""
    for index, column in enumerate(walk.project.measures if not walk.errors else ()):
        span = walk.source.span("measures", index)
        if column not in walk.columns:
            yield DaybookError("TOTALS_001", span=span, hint=did_you_mean(column, walk.columns), column=column)
        elif not is_numeric(walk.columns[column]):
            yield DaybookError("TOTALS_002", span=span, column=column, type=walk.columns[column])


def columns_not_summed(plan: Plan, before: int, maker: int) -> frozenset[str]:
    """The keys and ratios among the columns of the rows of an operation, as they are before another one.

    `maker` is the seq of the operation that made the rows, 0 for the rows of the input.
    """
    return _keys(plan) | _ratios(plan, before, maker)


def summed_totals(plan: Plan, step: AggregateStep | AppendStep) -> tuple[str, ...]:
    """The totals of an operation that can be added up over its groups."""
    left_out = columns_not_summed(plan, step.seq + 1, step.seq)
    return tuple(name for name in total_columns(step) if name not in left_out)


def _keys(plan: Plan) -> frozenset[str]:
    return frozenset(_key_columns(plan))


def _key_columns(plan: Plan) -> Iterator[str]:
    yield from plan.input.version.dataset.natural_key_columns
    for step in plan.steps:
        match step:
            case AggregateStep():
                yield from step.group_by
            case AppendStep():
                yield from step.group_by
                natural = plan.load(step.load_key).version.dataset.natural_key_columns
                yield from (name for name, source in step.carried.items() if source in natural)
            case UpdateStep():
                for join in step.joins:
                    pairs = split_join_condition(join.on.tree, join.alias).keys
                    yield from (own.use.name for own, _ in pairs if isinstance(own, ColumnValue))
                for window in step.windows:
                    yield from (part.use.name for part in window.partition if isinstance(part, ColumnValue))
            case _:
                pass


def _ratios(plan: Plan, before: int, maker: int) -> frozenset[str]:
    rates = _rates(plan)
    ratios: set[str] = set(rates)
    for step in plan.steps:
        if step.seq >= before:
            break
        match step:
            case AggregateStep() | AppendStep() if step.seq == maker:
                # What a summary row has, it was given here.
                own = {value.column: _is_ratio(value.expression.tree, ratios, rates) for value in step.aggregations}
                ratios = {column for column, is_ratio in own.items() if is_ratio} | (rates - own.keys())
            case UpdateStep() if step.seq > maker and not excludes(step.selector, maker):
                assigned = [value for value in step.assignments if _is_ratio(value.expression.tree, ratios, rates)]
                ratios.update(value.column for value in assigned)
            case _:
                pass
    return frozenset(ratios)


def _rates(plan: Plan) -> frozenset[str]:
    """Columns of joined values that other columns are multiplied with or divided by, but never added to."""
    looked_up = {
        value.column
        for step in plan.steps
        if isinstance(step, UpdateStep)
        for value in step.assignments
        if _is_looked_up(value.expression.tree)
    }
    factors: set[str] = set()
    added: set[str] = set()
    for node in (node for step in plan.steps for tree in _value_trees(step) for node in tree.walk()):
        match node:
            case Arithmetic(operator="*", left=left, right=right):
                factors |= _own_columns(left) | _own_columns(right)
            case Arithmetic(operator="/", right=right):
                factors |= _own_columns(right)
            case Arithmetic(operator="+" | "-", left=left, right=right):
                added |= _own_columns(left) | _own_columns(right)
            case TypedCall(function=function, arguments=(argument,)) if function.name == "SUM":
                added |= _own_columns(argument)
            case _:
                pass
    return frozenset((looked_up & factors) - added)


def _own_columns(node: TypedNode) -> set[str]:
    """The column of the row that an operand is; none where it is something else."""
    inner = node.operand if isinstance(node, Conversion | TypedNegation) else node
    return {inner.use.name} if isinstance(inner, ColumnValue) and inner.use.qualifier is None else set()


def _value_trees(step: Step) -> Iterator[TypedNode]:
    match step:
        case UpdateStep():
            yield from (value.expression.tree for value in step.assignments)
        case AggregateStep() | AppendStep():
            yield from (value.expression.tree for value in step.aggregations)
        case _:
            pass


def _is_looked_up(node: TypedNode) -> bool:
    """Whether a value comes from joined rows alone."""
    uses = list(column_uses(node))
    return bool(uses) and all(use.qualifier is not None for use in uses)


def _is_ratio(node: TypedNode, ratios: set[str], rates: frozenset[str]) -> bool:
    match node:
        case ColumnValue(use=use):
            return use.qualifier is None and use.name in ratios
        case Conversion(operand=operand) | TypedNegation(operand=operand):
            return _is_ratio(operand, ratios, rates)
        case TypedWindow(call=call):
            return _is_ratio(call, ratios, rates)
        case TypedCase(branches=branches, otherwise=otherwise):
            values = [value for _, value in branches] + ([otherwise] if otherwise is not None else [])
            return any(_is_ratio(value, ratios, rates) for value in values)
        case TypedCall(function=function) if function.name == "AVG":
            return True
        case TypedCall(function=function, arguments=(first, *_)) if function.name in _SAME_KIND:
            return _is_ratio(first, ratios, rates)
        case TypedCall(function=function, arguments=(_, *values)) if function.name == "IF":
            return any(_is_ratio(value, ratios, rates) for value in values)
        case Arithmetic(operator="/", left=left, right=right):
            is_quotient = bool(list(column_uses(left))) and _is_amount(right, rates)
            return is_quotient or _is_ratio(left, ratios, rates)
        case Arithmetic(operator="*", left=left, right=right):
            return all(_is_constant(side) or _is_ratio(side, ratios, rates) for side in (left, right)) and (
                _is_ratio(left, ratios, rates) or _is_ratio(right, ratios, rates)
            )
        case Arithmetic(left=left, right=right):
            return _is_ratio(left, ratios, rates) or _is_ratio(right, ratios, rates)
        case _:
            return False


def _is_constant(node: TypedNode) -> bool:
    inner = node.operand if isinstance(node, Conversion) else node
    return isinstance(inner, LiteralValue | ParameterValue)


def _is_amount(node: TypedNode, rates: frozenset[str]) -> bool:
    """Whether a divisor is made of the row's own columns: a divisor that was looked up converts an amount."""
    uses = [use for use in column_uses(node) if use.qualifier is None]
    return any(use.name not in rates for use in uses) or any(
        isinstance(part, TypedCall) and part.function.is_aggregate for part in node.walk()
    )
