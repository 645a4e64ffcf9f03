"""Takes away what the output of a plan does not need: columns, joins, operations, loads and checks.

It goes backwards through the steps and keeps, for the rows of every operation, the columns that later steps read. Rows
that no later step reads are not made at all. An update never changes the number of rows, so one whose values nobody
reads is left out with its joins. That holds for rows that were checked before: a join that matches twice fails a run.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias, assert_never

from daybook.expression import CompiledExpression
from daybook.expression.typed_tree import LiteralValue
from daybook.model.types import STRING, SYSTEM_COLUMNS
from daybook.plan.conditions import (
    are_joins_by_key,
    column_uses,
    excludes,
    excludes_known,
    holds_for,
    joined_aliases,
)
from daybook.plan.loads import INPUT_KEY
from daybook.plan.steps import (
    AggregateStep,
    AppendStep,
    CheckStep,
    ComputedColumn,
    DeleteStep,
    JoinStep,
    LoadStep,
    OutputStep,
    Plan,
    Schema,
    Step,
    UpdateStep,
)

_LOADED = 0


def prune_plan(plan: Plan) -> Plan:
    """The plan with only what its outputs need; it writes the same rows."""
    unread = _unread_makers(plan)
    # Nobody assigns these, so they hold for deleted rows, too, and for rows that come without them.
    sources = {seq: _source_of(load, seq) for seq, load in _makers(plan).items() if seq not in unread}
    walk = _BackwardWalk(plan, [sources] * len(plan.steps))
    steps = walk.steps()
    loaded = walk.needs.get(_LOADED, set[str]())
    walk.note_missing(loaded, plan.input.types)
    types = {name: type_ for step in plan.steps for name, type_ in step.schema.items()}
    empty = {name: type_ for name, type_ in types.items() if name in walk.missing}
    input_ = replace(plan.input, columns=frozenset(loaded - walk.missing), empty=empty)
    others = [walk.loads[load.key] for load in plan.loads if load.key in walk.loads]
    return replace(plan, loads=(input_, *others), steps=tuple(steps))


def _makers(plan: Plan) -> dict[int, LoadStep]:
    """The operations that make rows, each with the load that its rows are said to come from."""
    loads = {_LOADED: plan.input}
    for step in plan.steps:
        if isinstance(step, AggregateStep):
            loads[step.seq] = plan.input
        elif isinstance(step, AppendStep):
            loads[step.seq] = plan.load(step.load_key)
    return loads


def _unread_makers(plan: Plan) -> set[int]:
    """The operations all of whose rows every later step leaves out, by values that all of them are known to have.

    Such rows are then not made at all. Rows that are made for one step must still have these values for the others.
    """
    walk = _BackwardWalk(plan, _known_values(plan))
    walk.steps()
    return _makers(plan).keys() - walk.read - {_LOADED}


# The values that live rows are known to have, by column and by the operation that made them.
_KnownValues: TypeAlias = dict[int, dict[str, Any]]


def _known_values(plan: Plan) -> list[_KnownValues]:
    """Before each step: what was written as it stands there, and NULL where nobody has written anything."""
    values_by_maker: _KnownValues = {_LOADED: _source_of(plan.input, _LOADED)}
    values_before_steps: list[_KnownValues] = []
    before: Schema = plan.input.types
    for step in plan.steps:
        values_before_steps.append({seq: dict(values) for seq, values in values_by_maker.items()})
        for values in values_by_maker.values():
            values |= dict.fromkeys(step.schema.keys() - before.keys() - SYSTEM_COLUMNS.keys())
        match step:
            case UpdateStep():
                for values in values_by_maker.values():
                    _assign_known(values, step)
            case AggregateStep():
                made_columns = {*step.group_by, *(value.column for value in step.aggregations)}
                values_by_maker[step.seq] = _source_of(plan.input, step.seq) | dict.fromkeys(
                    step.schema.keys() - made_columns
                )
            case AppendStep():
                made_columns = {*step.group_by, *step.made_columns}
                source = _source_of(plan.load(step.load_key), step.seq)
                values_by_maker[step.seq] = source | dict.fromkeys(step.schema.keys() - made_columns)
            case DeleteStep() | CheckStep() | OutputStep():
                pass
            case _:
                assert_never(step)
        before = step.schema
    return values_before_steps


def _source_of(load: LoadStep, seq: int) -> dict[str, Any]:
    return {"_operation_seq": seq, "_source_dataset_id": load.dataset_id, "_source_table": load.table}


def _assign_known(values: dict[str, Any], step: UpdateStep) -> None:
    picks = True if step.selector is None else holds_for(step.selector.tree, values)
    if picks is False:
        return
    for value in step.assignments:
        match value.expression.tree:
            # Text is stored as it is written; a number may be rounded.
            case LiteralValue(value=str(text)) if picks and value.type == STRING:
                values[value.column] = text
            case _:
                values.pop(value.column, None)


@dataclass
class _BackwardWalk:
    """`known` has the values by which selectors exclude rows, before each step; operations not in it make no rows.

    `needs` has the columns that later steps read, by the operation that made the rows; 0 are loaded rows.
    Rows of an operation that is not in it are not read. `loads` are the pruned ones; `before` are the operations
    before the present step that make rows. `missing` are columns that are read, but made only by operations that are
    left out: NULL in all rows.
    """

    plan: Plan
    known: Sequence[_KnownValues]
    needs: dict[int, set[str]] = field(default_factory=dict)
    loads: dict[str, LoadStep] = field(default_factory=dict)
    before: tuple[int, ...] = ()
    missing: set[str] = field(default_factory=set)
    values: _KnownValues = field(default_factory=dict)
    # The operations whose rows any step reads.
    read: set[int] = field(default_factory=set)

    def steps(self) -> list[Step]:
        """The steps that are needed, in order."""
        steps: list[Step] = []
        for index, whole in reversed([*enumerate(self.plan.steps)]):
            self._enter(index)
            schema = self._schema(whole.schema)
            step = self._pruned(whole)
            if isinstance(step, OutputStep):
                steps.append(step)
            elif step is not None:
                steps.append(replace(step, schema=schema))
                before = self.plan.steps[index - 1].schema if index else self.plan.input.types
                self._forget(whole.schema.keys() - before.keys())
        return steps[::-1]

    def _enter(self, index: int) -> None:
        makers = (step.seq for step in self.plan.steps[:index] if isinstance(step, AggregateStep | AppendStep))
        self.values = self.known[index]
        self.before = tuple(seq for seq in (_LOADED, *makers) if seq in self.values)

    def _schema(self, whole: Schema) -> Schema:
        """The columns after the present step that any row needs."""
        needed = set[str]().union(*self.needs.values())
        return {name: type_ for name, type_ in whole.items() if name in needed}

    def _forget(self, made_columns: Iterable[str]) -> None:
        """Before the step that makes them, nobody reads these columns."""
        for columns in self.needs.values():
            columns.difference_update(made_columns)

    def note_missing(self, names: set[str], schema: Schema) -> None:
        self.missing |= names - schema.keys() - SYSTEM_COLUMNS.keys()

    def _pruned(self, step: Step) -> Step | None:
        match step:
            case OutputStep():
                # The columns must be there even where no row is.
                seqs = self._picked(step.selector, self.before, is_live=not step.arguments.include_deleted) or [_LOADED]
                self._need(seqs, {*step.columns, *step.order_by} | columns_read(step.selector))
                return step
            case CheckStep():
                return None
            case DeleteStep():
                return self._delete(step)
            case UpdateStep():
                return self._update(step)
            case AggregateStep():
                return self._aggregate(step)
            case AppendStep():
                return self._append(step)
            case _:
                assert_never(step)

    def _picked(self, selector: CompiledExpression | None, seqs: Iterable[int], *, is_live: bool = True) -> list[int]:
        """The operations some of whose rows a step may pick; what is known of rows holds as long as they are live."""
        if not is_live:
            return [seq for seq in seqs if not excludes(selector, seq)]
        return [seq for seq in seqs if not excludes_known(selector, self.values[seq])]

    def _need(self, seqs: Iterable[int], columns: set[str]) -> None:
        for seq in seqs:
            self.needs.setdefault(seq, set()).update(columns)
            self.read.add(seq)

    def _delete(self, step: DeleteStep) -> DeleteStep | None:
        seqs = self._picked(step.selector, self.needs)
        self._need(seqs, columns_read(step.selector))
        return step if seqs else None

    def _update(self, step: UpdateStep) -> UpdateStep | None:
        picked = self._picked(step.selector, self.needs)
        needed = set[str]().union(*(self.needs[seq] for seq in picked))
        # Every operation that picks a row sets the time of its last change, whatever it assigns.
        is_dated = "_updated_at" in needed
        values = tuple(value for value in step.assignments if is_dated or value.column in needed)
        if not values:
            return None
        short = replace(step, assignments=values, joins=_joins_read(step, values))
        read = columns_read(*short.expressions, *(join.on for join in short.joins))
        if short.windows:
            # Every row that it picks takes part in a window, whether it is read later or not.
            picked = self._picked(step.selector, self.before)
            read |= {*self.plan.input.version.dataset.natural_key_columns, "_row_id"}
        if _compares_row_ids(short):
            read.add("_row_id")
        self._need(picked, read)
        for join in short.joins:
            self._load(join.load_key, {*join.columns})
        return short

    def _aggregate(self, step: AggregateStep) -> AggregateStep | None:
        needed = self.needs.pop(step.seq, None)
        picked = self._picked(step.selector, self.before)
        if needed is None:
            return None
        if not picked:
            # It makes no rows, but a step that looks for them names their columns.
            self._need([_LOADED], needed)
            return None
        self.note_missing(needed, step.schema)
        values = tuple(value for value in step.aggregations if value.column in needed)
        read = columns_read(step.selector, *(value.expression for value in values))
        self._need(picked, {*step.group_by} | read)
        return replace(step, aggregations=values)

    def _append(self, step: AppendStep) -> AppendStep | None:
        needed = self.needs.pop(step.seq, None)
        if needed is None:
            return None
        self.note_missing(needed, step.schema)
        columns = tuple(name for name in step.columns if name in needed)
        mapped = tuple(value for value in step.mapped if value.column in needed)
        # An append without aggregations would copy rows.
        values = tuple(value for value in step.aggregations if value.column in needed) or step.aggregations[:1]
        read = columns_read(step.source_selector, *(value.expression for value in (*mapped, *values)))
        system = needed & SYSTEM_COLUMNS.keys()
        self._load(step.load_key, {*columns, *step.group_by} | read | system)
        return replace(step, columns=columns, mapped=mapped, aggregations=values)

    def _load(self, key: str, columns: set[str]) -> None:
        assert key != INPUT_KEY
        self.loads[key] = replace(self.plan.load(key), columns=frozenset(columns))


def columns_read(*expressions: CompiledExpression | None) -> set[str]:
    """The working columns that expressions read, those of trees that were put together later included."""
    compiled = [expression for expression in expressions if expression is not None]
    uses = {use for expression in compiled for use in (*expression.uses, *column_uses(expression.tree))}
    return {use.name for use in uses if use.qualifier is None}


def _joins_read(step: UpdateStep, values: Iterable[ComputedColumn]) -> tuple[JoinStep, ...]:
    """The joins that the selector or these values read, and those that such joins read, with the columns read."""
    read = [step.selector, *(value.expression for value in values)]
    kept: list[JoinStep] = []
    for join in reversed(step.joins):
        # A join sees only those before it, so all who read this one are known.
        if any(expression and join.alias in _aliases(expression) for expression in read):
            read.append(join.on)
            kept.insert(0, join)
    return tuple(
        replace(join, columns=tuple(name for name in join.columns if name in _joined_columns(join.alias, read)))
        for join in kept
    )


def _aliases(expression: CompiledExpression) -> frozenset[str]:
    return joined_aliases(expression.tree) | {use.qualifier for use in expression.uses if use.qualifier is not None}


def _joined_columns(alias: str, expressions: Iterable[CompiledExpression | None]) -> set[str]:
    uses = {
        use for expression in expressions if expression for use in (*expression.uses, *column_uses(expression.tree))
    }
    return {use.name for use in uses if use.qualifier == alias}


def _compares_row_ids(step: UpdateStep) -> bool:
    """Whether copies of a row are found by its id: the selector reads a join that has no key."""
    is_late = step.selector is not None and bool(joined_aliases(step.selector.tree))
    return is_late and not are_joins_by_key(step)
