"""Combines consecutive updates, deletes and checks into as few projections as their dependencies allow.

Every operation of a layer sees the columns as they were before the layer. So an operation may join a layer as long
as it reads nothing that the layer writes; what it writes replaces, where it picks, what earlier operations wrote.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import assert_never

from daybook.engine.context import FAULT_COLUMN, RunContext, null_sql
from daybook.engine.counters import BrokenCondition, failed_check_sql, row_label_sql
from daybook.engine.failures import CONDITION, VALUE, mark_sql
from daybook.expression import cast_sql, quote_identifier
from daybook.model.types import SYSTEM_COLUMNS, ColumnType
from daybook.plan.steps import CheckStep, ComputedColumn, DeleteStep, RowStep, UpdateStep, working_columns

# Each delete of a layer is repeated in the condition of every later operation of that layer.
_MAX_DELETES = 3

# Parsing, optimising and compiling one projection stays quick up to about so much text.
_MAX_SQL_LENGTH = 40_000


@dataclass(frozen=True, slots=True)
class ConditionalValue:
    """A value that a column takes where `condition` holds; None is everywhere."""

    condition: str | None
    value: str
    type: ColumnType


@dataclass
class Layer:
    """One projection in the making, from the business columns `before` it to those `after` it."""

    context: RunContext
    before: Mapping[str, ColumnType]
    may_be_deleted: bool
    after: dict[str, ColumnType] = field(init=False)
    branches: dict[str, list[ConditionalValue]] = field(default_factory=dict)
    bits: dict[str, list[tuple[str | None, int]]] = field(default_factory=dict)
    deletes: list[str | None] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    # The measures that updates assign, by the columns in which rows carry what these were before.
    carried: dict[str, str] = field(default_factory=dict)
    length: int = 0

    def __post_init__(self) -> None:
        self.after = dict(self.before)

    def accepts(self, step: RowStep) -> bool:
        """Whether a step reads nothing that this layer writes."""
        read = working_columns(*step.expressions)
        if isinstance(step, CheckStep):
            read |= {*step.columns}
        if self.deletes and ("_deleted" in read or len(self.deletes) >= _MAX_DELETES):
            return False
        if "_updated_at" in read and self.bits:
            return False
        if self.branches.keys() & {*self.context.measures.assigned.get(step.seq, ())}:
            # Rows carry what a measure was before each update.
            return False
        return self.length < _MAX_SQL_LENGTH and not read & self.branches.keys()

    def add(self, step: RowStep) -> None:
        condition = self.picked_by(step)
        if step.seq in self.context.bits:
            word, bit = self.context.bit_position(step.seq)
            self.bits.setdefault(word, []).append((condition, 1 << bit))
            self.length += 2 * len(condition or "")
        match step:
            case UpdateStep():
                self.carried.update(
                    {
                        self.context.measures.before(step.seq, column): column
                        for column in self.context.measures.carried.get(step.seq, ())
                    }
                )
                for number, value in enumerate(step.assignments):
                    self._assign(value, condition, mark_sql(self.context.fitted(value), step.seq, VALUE, number))
            case DeleteStep():
                self.deletes.append(condition)
            case CheckStep():
                self.faults.append(self._failed(step, condition))
            case _:
                assert_never(step)

    def extend(self, schema: Mapping[str, ColumnType]) -> None:
        """Columns that the next step adds or widens get their place and their type."""
        self.after.update(schema)

    def picked_by(self, step: RowStep) -> str | None:
        """SQL that is true exactly on the rows a step picks; None when it picks all."""
        return guarded_condition(self.live(), self.context.selector(step))

    def live(self) -> str | None:
        """SQL that is true on the rows that are not deleted at this point; None when no row is."""
        conditions = ["NOT `_deleted`"] if self.may_be_deleted else []
        conditions += ["FALSE" if deletion is None else f"NOT COALESCE({deletion}, FALSE)" for deletion in self.deletes]
        return " AND ".join(conditions) if conditions else None

    def columns(self) -> dict[str, str]:
        """What the layer changes, as SQL."""
        changed = {name: self._value(name) for name in self.after if self._is_changed(name)}
        changed |= {name: self._value(name) for name in self.branches if name in SYSTEM_COLUMNS}
        if self.deletes:
            conditions = [
                "`_deleted`",
                *("TRUE" if deletion is None else f"COALESCE({deletion}, FALSE)" for deletion in self.deletes),
            ]
            changed["_deleted"] = " OR ".join(conditions)
        for word, marks in self.bits.items():
            terms = [f"{bit}L" if condition is None else f"IF({condition}, {bit}L, 0L)" for condition, bit in marks]
            changed[word] = " | ".join((quote_identifier(word), *terms))
        for name, measure in self.carried.items():
            if measure in self.before:
                target = self.context.measures.types[measure]
                changed[name] = cast_sql(quote_identifier(measure), self.before[measure], target)
        if self.faults:
            changed[FAULT_COLUMN] = f"COALESCE({', '.join((quote_identifier(FAULT_COLUMN), *self.faults))})"
        return changed

    def _failed(self, step: CheckStep, picked: str | None) -> str:
        """SQL of the text of a failed check; NULL where its condition holds."""
        condition = mark_sql(self.context.sql(step.condition), step.seq, CONDITION)
        row = row_label_sql({name: quote_identifier(name) for name in step.columns})
        text = failed_check_sql(step.seq, BrokenCondition, {"seq": step.seq}, {"row": row})
        fault = f"IF({condition}, NULL, {text})"
        return f"CASE WHEN {picked} THEN {fault} END" if picked else fault

    def _assign(self, value: ComputedColumn, condition: str | None, sql: str) -> None:
        if value.column == "_labels":
            # No row is without labels: it has none of them.
            sql = f"COALESCE({sql}, '')"
        self.branches.setdefault(value.column, []).insert(0, ConditionalValue(condition, sql, value.type))
        if value.column not in SYSTEM_COLUMNS:
            self.after[value.column] = value.type
        self.length += len(sql) + len(condition or "")

    def _is_changed(self, name: str) -> bool:
        return name in self.branches or self.before.get(name) != self.after[name]

    def _value(self, name: str) -> str:
        target = SYSTEM_COLUMNS.get(name) or self.after[name]
        cases = []
        otherwise = quote_identifier(name)
        if name in self.before:
            otherwise = cast_sql(otherwise, self.before[name], target)
        elif name not in SYSTEM_COLUMNS:
            otherwise = null_sql(target)
        for branch in self.branches.get(name, ()):
            value = cast_sql(branch.value, branch.type, target)
            if branch.condition is None:
                otherwise = value
                break
            cases.append(f"WHEN {branch.condition} THEN {value}")
        return f"CASE {' '.join(cases)} ELSE {otherwise} END" if cases else otherwise


def guarded_condition(live: str | None, selector: str | None) -> str | None:
    """SQL of two conditions; IF keeps a selector from failing on a deleted row, which AND would not."""
    if live is None or selector is None:
        return live or selector
    return f"IF({live}, {selector}, FALSE)"


def updated_at_sql(context: RunContext) -> str:
    """SQL of `_updated_at`: all operations set the same time, so it follows from whether any changed the row."""
    changed = context.is_changed()
    if not changed:
        return "`_updated_at`"
    timestamp = context.timestamp_in(f"{quote_identifier(context.words[0])} = 0L")
    return f"IF({changed}, {timestamp}, `_updated_at`)"
