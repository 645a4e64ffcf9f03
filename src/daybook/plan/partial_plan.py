"""A plan that ends at one operation, whose output is the rows that the operation selects."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias, assert_never

from daybook.expression import ColumnUse, CompiledExpression, Grouping, Scope, compile_expression
from daybook.expression.functions.function_table import FUNCTIONS
from daybook.expression.typed_tree import (
    ColumnValue,
    LiteralValue,
    TypedCall,
    TypedCase,
    TypedComparison,
    TypedLogical,
    TypedMembership,
    TypedNode,
    TypedNot,
    TypedNullCheck,
    TypedWindow,
)
from daybook.model.operation import OutputArguments
from daybook.model.types import BOOLEAN, INTEGER, STRING, SYSTEM_COLUMNS, ColumnType
from daybook.model.types import Value as Literal
from daybook.plan.loads import INPUT_KEY
from daybook.plan.pruned_plan import prune_plan
from daybook.plan.steps import (
    AggregateStep,
    AppendStep,
    CheckStep,
    ComputedColumn,
    DeleteStep,
    LoadStep,
    OutputStep,
    Plan,
    Schema,
    Step,
    UpdateStep,
    working_columns,
)

# Where a row comes from; they close every row that is shown.
TRACE_COLUMNS = ("_source_table", "_operation_seq", "_row_id")

# No project can make a column of this name.
_PICKED_COLUMN = "__daybook_explained"

_NO_DESTINATION = OutputArguments.model_validate({"destination": {"location": "nowhere"}})


@dataclass(frozen=True, slots=True)
class RowKey:
    """A column and the value that rows must have there; None is NULL."""

    column: str
    value: Literal
    type: ColumnType


# Rows are meant that have all values of one of these; without any, all rows.
RowKeys: TypeAlias = Sequence[Sequence[RowKey]]


@dataclass(frozen=True, slots=True)
class PartialPlan:
    """A plan that ends in one output, its rows in `order`.

    It has only the loads it needs, so data that others read may be gone; `feeds` names those of the whole plan.
    """

    plan: Plan
    feeds: Mapping[str, str]
    order: tuple[str, ...]

    @property
    def output(self) -> OutputStep:
        (output,) = self.plan.outputs
        return output


def selectable_columns(plan: Plan, step: Step) -> Schema:
    """What the operation's selector can see: the working dataset before it, or the source of an append."""
    business = plan.load(step.load_key).types if isinstance(step, AppendStep) else _schema_before(plan, step)
    return {**business, **SYSTEM_COLUMNS}


def key_columns(plan: Plan, step: Step) -> Schema:
    """What rows can be named by. A sum over a part of a group would be no number of the run, so a group is whole."""
    seen = selectable_columns(plan, step)
    grouped = _group_by(step)
    return {name: seen[name] for name in grouped} if grouped else seen


def picked_rows(plan: Plan, step: Step, keys: RowKeys, more: Iterable[str] = ()) -> PartialPlan:
    """The rows that the operation picked, as they were when it came to them; `more` are further columns of them."""
    rows_plan = _picked_rows(plan, step, keys)
    seen = selectable_columns(plan, step)
    output = rows_plan.output
    added = {name: seen[name] for name in more if name in seen and name not in output.columns}
    shown = {name: type_ for name, type_ in output.columns.items() if name not in TRACE_COLUMNS}
    traced = {name: output.columns[name] for name in TRACE_COLUMNS}
    wider = replace(output, columns={**shown, **added, **traced})
    return replace(rows_plan, plan=replace(rows_plan.plan, steps=(*rows_plan.plan.steps[:-1], wider)))


def _picked_rows(plan: Plan, step: Step, keys: RowKeys) -> PartialPlan:
    match step:
        case UpdateStep():
            return _updated_rows_plan(plan, step, keys)
        case AppendStep():
            return _source_rows_plan(plan, step, keys)
        case AggregateStep():
            return _working_rows_plan(plan, step, step.selector, keys, _summarized_columns(step, plan.input))
        case DeleteStep():
            return _working_rows_plan(plan, step, step.selector, keys, _schema_before(plan, step))
        case CheckStep():
            return _working_rows_plan(plan, step, _failing_condition(step), keys, _checked_columns(plan, step, keys))
        case OutputStep():
            seen = {**selectable_columns(plan, step), **step.columns}
            written = step.columns if step.arguments.columns else _schema_before(plan, step)
            names = [*written, *step.order_by, *_system_columns(step.selector, keys)]
            if step.arguments.include_deleted:
                names.append("_deleted")
            columns = _shown_columns(names, seen)
            output = replace(step, selector=_restrict_to_keys(step.selector, keys), columns=columns, order_by=())
            return _partial_plan(plan, step, output, order=(*step.order_by, "_row_id"))
        case _:
            assert_never(step)


def summary_rows(plan: Plan, step: Step, keys: RowKeys, ids: Sequence[str] = ()) -> PartialPlan | None:
    """The rows that an operation made of groups, each with the number of rows in it; None where nothing is grouped.

    With `ids`, only rows that have one of them.
    """
    grouped = _group_by(step)
    if not isinstance(step, AggregateStep | AppendStep) or not grouped:
        return None
    rows = rows_column(step)
    schema = {**step.schema, rows: INTEGER}
    names = [*grouped, *(value.column for value in step.aggregations), rows, "_row_id"]
    types = {**schema, **SYSTEM_COLUMNS}
    counted = (*step.aggregations, ComputedColumn(rows, _row_count(), INTEGER))
    if isinstance(step, AggregateStep):
        selector = _restrict_to_keys(step.selector, keys)
        summary: Step = replace(step, selector=selector, aggregations=counted, schema=schema)
    else:
        selector = _restrict_to_keys(step.source_selector, keys)
        summary = replace(step, source_selector=selector, aggregations=counted, schema=schema)
    is_made: TypedNode = TypedComparison("=", _column_value("_operation_seq", INTEGER), LiteralValue(step.seq, INTEGER))
    if ids:
        choices = tuple(LiteralValue(id_, STRING) for id_ in ids)
        has_id = TypedMembership(_column_value("_row_id", STRING), choices, is_negated=False)
        is_made = TypedLogical("AND", (is_made, has_id))
    selected = _compiled_tree(is_made, "_operation_seq", "_row_id")
    output = _output_step(step, step.seq + 1, selected, {name: types[name] for name in names})
    return _partial_plan(plan, step, summary, replace(output, schema=schema), order=(*grouped, "_row_id"))


def rows_column(step: AggregateStep | AppendStep) -> str:
    """The column that says how many rows a summary row is made of."""
    return _unused_name("rows", {*step.schema, *SYSTEM_COLUMNS})


def pruned(cut: PartialPlan) -> PartialPlan:
    """The same rows by a plan with only what they need, for rows that were checked before."""
    plan = prune_plan(cut.plan)
    return replace(cut, plan=plan, feeds={load.key: cut.feeds[load.key] for load in plan.loads})


def detail_rows(
    plan: Plan, step: AggregateStep, columns: Sequence[str], computed: Sequence[ComputedColumn]
) -> PartialPlan:
    """The rows that an aggregate picked, group by group: what people know them by, `columns`, and what is computed."""
    before = _schema_before(plan, step)
    schema = {**before, **{value.column: value.type for value in computed}, _PICKED_COLUMN: BOOLEAN}
    picked = ComputedColumn(_PICKED_COLUMN, _compiled_tree(LiteralValue(True, BOOLEAN)), BOOLEAN)
    marked = UpdateStep(step.seq, step.operation_id, step.name, step.selector, (), (*computed, picked), schema)
    types = {**selectable_columns(plan, step), **schema}
    keys = [name for name in plan.input.version.dataset.natural_key_columns if name in before]
    own = [value.column for value in computed]
    identifying = keys or [name for name in before if name not in columns]
    names = dict.fromkeys((*step.group_by, *identifying, *columns, *own, "_row_id"))
    is_picked = _compiled_tree(_column_value(_PICKED_COLUMN, BOOLEAN), _PICKED_COLUMN)
    output = _output_step(step, step.seq + 1, is_picked, {name: types[name] for name in names})
    order = tuple(dict.fromkeys((*step.group_by, *keys, "_row_id")))
    return _partial_plan(plan, step, marked, replace(output, schema=schema), order=order)


def argument_column(column: str, tree: TypedNode) -> ComputedColumn:
    """What an aggregate function is given, as a column of the detail rows."""
    names = sorted({node.use.name for node in tree.walk() if isinstance(node, ColumnValue)})
    return ComputedColumn(column, _compiled_tree(tree, *names), tree.type)


def written_rows(plan: Plan, step: OutputStep, columns: Iterable[str], made_by: int | None = None) -> PartialPlan:
    """The rows that an output writes, with these columns, unsorted; without checks, which add no rows.

    `made_by` leaves only the rows of one operation, 0 being the loaded rows.
    """
    types = {**selectable_columns(plan, step), **step.columns}
    keys = [] if made_by is None else [[RowKey("_operation_seq", made_by, INTEGER)]]
    selector = _restrict_to_keys(step.selector, keys)
    output = replace(step, selector=selector, columns={name: types[name] for name in columns}, order_by=())
    rows_plan = _partial_plan(plan, step, output)
    steps = tuple(plan_step for plan_step in rows_plan.plan.steps if not isinstance(plan_step, CheckStep))
    return replace(rows_plan, plan=replace(rows_plan.plan, steps=steps))


def _working_rows_plan(
    plan: Plan, step: Step, selector: CompiledExpression | None, keys: RowKeys, names: Iterable[str]
) -> PartialPlan:
    """Rows of the working dataset as the operation found them."""
    shown = _shown_columns([*names, *_system_columns(selector, keys)], selectable_columns(plan, step))
    output = _output_step(step, step.seq, _restrict_to_keys(selector, keys), shown)
    return _partial_plan(plan, step, replace(output, schema=_schema_before(plan, step)))


def _failing_condition(step: CheckStep) -> CompiledExpression:
    """The rows that a check picks and that its condition does not hold for."""
    condition = step.condition
    fails = TypedLogical("OR", (TypedNot(condition.tree), TypedNullCheck(condition.tree, is_negated=False)))
    if step.selector is None:
        return CompiledExpression(condition.text, BOOLEAN, condition.uses, False, fails)
    tree = TypedLogical("AND", (step.selector.tree, fails))
    return CompiledExpression(condition.text, BOOLEAN, condition.uses | step.selector.uses, False, tree)


def _updated_rows_plan(plan: Plan, step: UpdateStep, keys: RowKeys) -> PartialPlan:
    """The update writes into new columns, so that a row shows what was there and what came of it side by side."""
    before = _schema_before(plan, step)
    new = {value.column: _unused_name(f"{value.column} (new)", before) for value in step.assignments}
    values = [replace(value, column=new[value.column]) for value in step.assignments]
    types = {**selectable_columns(plan, step), **{value.column: value.type for value in values}}
    # The update has already set it on the rows that are shown.
    system = [name for name in _system_columns(step.selector, keys) if name != "_updated_at"]
    names: list[str] = []
    for name in dict.fromkeys((*before, *new, *system)):
        names += [column for column in (name, new.get(name)) if column in types]
    is_shown = _is_shown(step, keys)
    read = sorted({node.use.name for node in is_shown.walk() if isinstance(node, ColumnValue)})
    picked = ComputedColumn(_PICKED_COLUMN, _compiled_tree(is_shown, *read), BOOLEAN)
    schema = {**before, **{value.column: value.type for value in values}, _PICKED_COLUMN: BOOLEAN}
    # A window has its value only among all rows that the operation picks.
    selector = step.selector if step.windows else _restrict_to_keys(step.selector, keys)
    changed = replace(step, selector=selector, assignments=(*values, picked), schema=schema)
    output = _output_step(
        step,
        step.seq + 1,
        _compiled_tree(_column_value(_PICKED_COLUMN, BOOLEAN), _PICKED_COLUMN),
        _shown_columns(names, types),
    )
    return _partial_plan(plan, step, changed, replace(output, schema=schema))


def _is_shown(step: UpdateStep, keys: RowKeys) -> TypedNode:
    """Whether a picked row is shown: with windows, every row in a group of one that has the keys."""
    groups = {window.partition for window in step.windows}
    if not keys or not groups or () in groups:
        return LiteralValue(True, BOOLEAN)
    marked = TypedCase(((_has_keys(keys), LiteralValue(1, INTEGER)),), LiteralValue(0, INTEGER), INTEGER)
    most = TypedCall(FUNCTIONS["MAX_AGG"], (marked,), INTEGER)
    conditions = tuple(
        TypedComparison("=", TypedWindow(most, group, (), INTEGER), LiteralValue(1, INTEGER))
        for group in sorted(groups, key=repr)
    )
    return TypedLogical("OR", conditions) if len(conditions) > 1 else conditions[0]


def _source_rows_plan(plan: Plan, step: AppendStep, keys: RowKeys) -> PartialPlan:
    """The source of an append as the input of a plan of its own."""
    load = plan.load(step.load_key)
    selector = step.source_selector
    names = _summarized_columns(step, load) if step.group_by else [*load.types, *_system_columns(selector, keys)]
    output = _output_step(
        step, step.seq, _restrict_to_keys(selector, keys), _shown_columns(names, selectable_columns(plan, step))
    )
    alone = replace(
        plan, loads=(LoadStep(INPUT_KEY, "input", 0, load.version),), steps=(replace(output, schema=load.types),)
    )
    return PartialPlan(alone, {INPUT_KEY: step.load_key}, _natural_order(load))


def _partial_plan(plan: Plan, step: Step, *last: Step, order: tuple[str, ...] = ()) -> PartialPlan:
    before = [earlier for earlier in _steps_before(plan, step) if not isinstance(earlier, OutputStep)]
    seqs = {step.seq, *(earlier.seq for earlier in before)}
    loads = tuple(load for load in plan.loads if load.key == INPUT_KEY or load.operation_seq in seqs)
    feeds = {load.key: load.key for load in loads}
    short = replace(plan, loads=loads, steps=(*before, *last))
    return PartialPlan(short, feeds, order or _natural_order(plan.input))


def _output_step(step: Step, seq: int, selector: CompiledExpression | None, columns: Schema) -> OutputStep:
    return OutputStep(seq, step.operation_id, step.name, selector, columns, (), _NO_DESTINATION, columns)


def _natural_order(load: LoadStep) -> tuple[str, ...]:
    """By what people know rows by, where that is declared; the same rows in every explanation."""
    return (*load.version.dataset.natural_key_columns, "_row_id")


def _steps_before(plan: Plan, step: Step) -> tuple[Step, ...]:
    return plan.steps[: plan.steps.index(step)]


def _schema_before(plan: Plan, step: Step) -> Schema:
    before = _steps_before(plan, step)
    return before[-1].schema if before else plan.input.types


def _group_by(step: Step) -> tuple[str, ...]:
    return step.group_by if isinstance(step, AggregateStep | AppendStep) else ()


def _summarized_columns(step: AggregateStep | AppendStep, load: LoadStep) -> list[str]:
    """What identifies the rows of a group for people, what they are grouped by, and what is computed of them."""
    read = working_columns(*(value.expression for value in step.aggregations))
    return [*load.version.dataset.natural_key_columns, *step.group_by, *sorted(read)]


def _checked_columns(plan: Plan, step: CheckStep, keys: RowKeys) -> list[str]:
    """What identifies rows for people, and what the check looks at; every column where rows have no key."""
    before = _schema_before(plan, step)
    groups = [name for earlier in _steps_before(plan, step) for name in _group_by(earlier)]
    identifying = [name for name in (*plan.input.version.dataset.natural_key_columns, *groups) if name in before]
    if not identifying:
        return list(before)
    read = working_columns(step.condition, step.selector) & before.keys()
    return [*identifying, *(name for name in _named_columns(keys) if name in before), *sorted(read)]


def _system_columns(selector: CompiledExpression | None, keys: RowKeys) -> list[str]:
    """System columns that decide about which rows are shown."""
    named = working_columns(selector) | {*_named_columns(keys)}
    return [name for name in SYSTEM_COLUMNS if name in named]


def _shown_columns(names: Iterable[str], types: Schema) -> Schema:
    return {
        name: types[name]
        for name in (*dict.fromkeys(name for name in names if name not in TRACE_COLUMNS), *TRACE_COLUMNS)
    }


def _restrict_to_keys(selector: CompiledExpression | None, keys: RowKeys) -> CompiledExpression | None:
    if not keys:
        return selector
    uses = (selector.uses if selector else frozenset()) | {ColumnUse(None, name) for name in _named_columns(keys)}
    tree = TypedLogical("AND", (selector.tree, _has_keys(keys))) if selector else _has_keys(keys)
    return CompiledExpression(selector.text if selector else "", BOOLEAN, uses, False, tree)


def _named_columns(keys: RowKeys) -> tuple[str, ...]:
    return tuple(dict.fromkeys(key.column for row in keys for key in row))


def _has_keys(keys: RowKeys) -> TypedNode:
    """Whether a row has all values of one of the keys.

    Values of one column are compared together: a condition with a comparison for each of thousands of rows takes Spark
    minutes to plan.
    """
    columns = list(_named_columns(keys))
    if any(len(row) != len(columns) for row in keys):
        return _any_of([_all_of([_key_condition(key) for key in row]) for row in keys])
    values = [{key.column: key for key in row} for row in keys]
    distinct = {name: {row[name].value for row in values} for name in columns}
    return _has_values(sorted(columns, key=lambda name: len(distinct[name])), values)


def _has_values(columns: Sequence[str], rows: Sequence[Mapping[str, RowKey]]) -> TypedNode:
    first, *others = columns
    by_value: dict[Literal, list[Mapping[str, RowKey]]] = {}
    for row in rows:
        by_value.setdefault(row[first].value, []).append(row)
    if others:
        parts = [(alike[0][first], _has_values(others, alike)) for alike in by_value.values()]
        return _any_of([_all_of([_key_condition(key), condition]) for key, condition in parts])
    keys = [alike[0][first] for alike in by_value.values()]
    valued = [key for key in keys if key.value is not None]
    conditions = [_key_condition(key) for key in keys if key.value is None]
    if len(valued) == 1:
        conditions.append(_key_condition(valued[0]))
    elif valued:
        choices = tuple(LiteralValue(key.value, key.type) for key in valued)
        conditions.append(TypedMembership(_column_value(first, valued[0].type), choices, is_negated=False))
    return _any_of(conditions)


def _any_of(conditions: Sequence[TypedNode]) -> TypedNode:
    return conditions[0] if len(conditions) == 1 else TypedLogical("OR", tuple(conditions))


def _all_of(conditions: Sequence[TypedNode]) -> TypedNode:
    return conditions[0] if len(conditions) == 1 else TypedLogical("AND", tuple(conditions))


def _key_condition(key: RowKey) -> TypedNode:
    column = _column_value(key.column, key.type)
    if key.value is None:
        return TypedNullCheck(column, is_negated=False)
    return TypedComparison("=", column, LiteralValue(key.value, key.type))


def _column_value(name: str, column_type: ColumnType) -> ColumnValue:
    return ColumnValue(ColumnUse(None, name), column_type)


def _compiled_tree(tree: TypedNode, *columns: str) -> CompiledExpression:
    return CompiledExpression("", tree.type, frozenset(ColumnUse(None, name) for name in columns), False, tree)


def _row_count() -> CompiledExpression:
    return compile_expression("COUNT(*)", Scope({}, {}), grouping=Grouping(()))


def _unused_name(name: str, taken: Iterable[str]) -> str:
    while name in taken:
        name += "_"
    return name
