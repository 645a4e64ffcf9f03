"""SQL of the sums of measures, taken while rows are counted, each by the operation that made the rows.

A row carries the value that a measure had before each update that assigns it. One aggregate over the rows therefore
gives every measure before and after each operation, and what the operation changed or deleted.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Literal, TypeAlias, get_args

from daybook.expression import cast_sql, quote_identifier, spark_type
from daybook.model.measures import EXACT, Amount, is_numeric, zero_of
from daybook.model.types import INTEGER, ColumnType, DecimalType, FloatType
from daybook.plan.conditions import excludes, picks_all
from daybook.plan.steps import AppendStep, DeleteStep, LoadStep, OutputStep, Plan, RowStep, Schema, UpdateStep

# `before` and `after` are of live rows, `changed` and `deleted` of the rows that an operation picked. `size` is of the
# absolute values, which bound the rounding errors of sums of floats.
SumKind: TypeAlias = Literal[
    "loaded",
    "source",
    "before",
    "changed",
    "deleted",
    "after",
    "added",
    "written",
    "left_out",
    "written_deleted",
    "size",
]
SUM_KINDS: tuple[SumKind, ...] = get_args(SumKind)

_SUM_PREFIX = "__daybook_sum"
_TOP_PREFIX = "__daybook_top"
_HIGH_PREFIX = "__daybook_high"
_LOW_PREFIX = "__daybook_low"
_UNITS_PREFIX = "__daybook_units"
_ABOVE_PREFIX = "__daybook_above"
_DOUBLE_PREFIX = "__daybook_double"
_ROWS_PREFIX = "__daybook_live_rows"
_BEFORE_PREFIX = "__daybook_before"
# Spark keeps a sum of decimals in a group as a number of any length, which costs many times a sum of 64 bits. So a
# value is counted in the smallest unit of its column, as a number of 64 bits, and what is above that in longer ones; a
# number of 64 bits is summed in halves, of which no sum becomes too large.
_MOST_DIGITS_IN_UNITS = 18
_MOST_SCALE_IN_UNITS = 8
_HALF_BITS = 32
_LOW_HALF = (1 << _HALF_BITS) - 1
_ABOVE = 10**_MOST_DIGITS_IN_UNITS
_WEIGHTS = {_TOP_PREFIX: _ABOVE, _HIGH_PREFIX: 1 << _HALF_BITS, _LOW_PREFIX: 1}
# Of fewer units, a double times the units in one is nearer to their number than to any other: two roundings of at most
# 2^-53 each make less than 0.26 of 2^50.
_EXACT_IN_DOUBLES = 2**50
# Less than half of what 64 bits hold, and more than `_ABOVE`.
_MOST_UNITS = 4 * 10**18
# Holds the sum of ten billion integers of 64 bits.
_INTEGER_SQL = "DECIMAL(19,0)"


@dataclass(frozen=True, slots=True, order=True)
class MeasureSum:
    """A sum of a measure at an operation, over rows that another operation made."""

    seq: int
    kind: SumKind
    column: str
    maker: int


@dataclass(frozen=True, slots=True)
class Measures:
    """The measures of a plan with their types, and which of them each update assigns.

    `carried` are those of the assigned ones that a row may have before the update: the others are nothing there.
    """

    types: Mapping[str, ColumnType] = field(default_factory=dict)
    assigned: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    carried: Mapping[int, tuple[str, ...]] = field(default_factory=dict)

    @classmethod
    def of(cls, plan: Plan) -> "Measures":
        types = {column: plan.types[column] for column in plan.measures}
        assigned = {
            step.seq: tuple(value.column for value in step.assignments if value.column in types)
            for step in plan.steps
            if isinstance(step, UpdateStep)
        }
        schemas: list[Schema] = [{**plan.input.types, **plan.input.empty}, *(step.schema for step in plan.steps)]
        before = {step.seq: schema for step, schema in zip(plan.steps, schemas, strict=False)}
        carried = {seq: tuple(name for name in columns if name in before[seq]) for seq, columns in assigned.items()}
        return cls(types, {seq: columns for seq, columns in assigned.items() if columns}, carried)

    @property
    def hidden(self) -> dict[str, ColumnType]:
        """The columns in which rows carry what a measure was before an update, with their types."""
        return {
            self.before(seq, column): self.types[column] for seq, columns in self.carried.items() for column in columns
        }

    def before(self, seq: int, column: str) -> str:
        return f"{_BEFORE_PREFIX}_{seq}_{self._number(column)}"

    def initial_columns(self, values: Mapping[str, str], schema: Schema) -> dict[str, str]:
        """The carried columns of a new row, by name and SQL: the values that it is made with."""
        return {
            self.before(seq, column): self._fitted(values.get(column), schema, column)
            for seq, columns in self.carried.items()
            for column in columns
        }

    def has_units(self, column: str) -> bool:
        """Whether values are summed as numbers of 64 bits; with many decimals most would be too long for it."""
        column_type = self.types[column]
        is_short = isinstance(column_type, DecimalType) and column_type.scale <= _MOST_SCALE_IN_UNITS
        return column_type == INTEGER or is_short

    def is_long(self, column: str) -> bool:
        """Whether units may be more than 64 bits hold."""
        column_type = self.types[column]
        return isinstance(column_type, DecimalType) and column_type.precision > _MOST_DIGITS_IN_UNITS

    def units_sql(self, column: str, sql: str, double: str) -> str:
        """How many units a value is, which is this `double`; of a long one without the part that `above_sql` counts."""
        digits = f"REPLACE(CAST({sql} AS STRING), '.', '')"
        cases = (
            f"WHEN ABS({double}) < {self._doubles(_EXACT_IN_DOUBLES, column)} THEN {self._from_double(column, double)}"
        )
        if not self.is_long(column):
            return f"CASE {cases} ELSE CAST({digits} AS BIGINT) END"
        cases += f" WHEN ABS({double}) < {self._doubles(_MOST_UNITS, column)} THEN CAST({digits} AS BIGINT)"
        last = f"CONCAT(IF({double} < 0D, '-', ''), RIGHT({digits}, {_MOST_DIGITS_IN_UNITS}))"
        return f"CASE {cases} ELSE CAST({last} AS BIGINT) END"

    def above_sql(self, column: str, sql: str, double: str) -> str:
        """The digits of the units of a long value above the last 18, where these alone do not hold it."""
        digits = f"REPLACE(CAST({sql} AS STRING), '.', '')"
        first = f"LEFT({digits}, LENGTH({digits}) - {_MOST_DIGITS_IN_UNITS})"
        return (
            f"CASE WHEN ABS({double}) < {self._doubles(_MOST_UNITS, column)} THEN 0L ELSE CAST({first} AS BIGINT) END"
        )

    def _doubles(self, units: int, column: str) -> str:
        """So many units as a double."""
        return f"{units // 10 ** self._scale(column)}E0D"

    def _from_double(self, column: str, double: str) -> str:
        scale = self._scale(column)
        return f"CAST(RINT({double} * {10**scale}E0D) AS BIGINT)" if scale else f"CAST({double} AS BIGINT)"

    def _scale(self, column: str) -> int:
        column_type = self.types[column]
        return column_type.scale if isinstance(column_type, DecimalType) else 0

    def name(self, key: MeasureSum, prefix: str = _SUM_PREFIX) -> str:
        return f"{prefix}_{key.kind}_{key.seq}_{key.maker}_{self._number(key.column)}"

    def read(self, metrics: Mapping[str, Any]) -> dict[MeasureSum, Amount]:
        """The sums in the metrics of a job; zero where no row was summed."""
        sums: dict[MeasureSum, Amount] = {}
        units: dict[MeasureSum, int] = {}
        for name, value in metrics.items():
            for prefix, weight in ((_SUM_PREFIX, 0), *_WEIGHTS.items()):
                if not name.startswith(f"{prefix}_"):
                    continue
                key = self._key(name.removeprefix(f"{prefix}_"))
                if weight:
                    units[key] = units.get(key, 0) + weight * (value or 0)
                else:
                    column_type = self.types[key.column]
                    sums[key] = _amount(value, column_type) if value else zero_of(column_type)
        return {
            **sums,
            **{key: Decimal(number).scaleb(-self._scale(key.column), EXACT) for key, number in units.items()},
        }

    def _key(self, text: str) -> MeasureSum:
        kind, seq, maker, number = text.rsplit("_", 3)
        return MeasureSum(int(seq), SUM_KINDS[SUM_KINDS.index(kind)], list(self.types)[int(number)], int(maker))

    def _number(self, column: str) -> int:
        return list(self.types).index(column)

    def _fitted(self, sql: str | None, schema: Schema, column: str) -> str:
        target = self.types[column]
        if sql is None or column not in schema:
            return f"CAST(NULL AS {spark_type(target)})"
        return cast_sql(sql, schema[column], target)

    def fitted(self, column: str, schema: Schema) -> str | None:
        """SQL of a measure of a row in its own type, NULL as it is; None where the rows have no such column yet."""
        return self._fitted(quote_identifier(column), schema, column) if column in schema else None

    def summable(self, column: str, sql: str) -> str:
        return f"CAST({sql} AS {wide_type_sql(INTEGER)})" if self.types[column] == INTEGER else sql

    def is_float(self, column: str) -> bool:
        return isinstance(self.types[column], FloatType)


def _amount(value: Any, column_type: ColumnType) -> Amount:
    return float(value) if isinstance(column_type, FloatType) else Decimal(str(value))


def column_in_source(measure: str, load: LoadStep, step: AppendStep) -> str | None:
    """The column that a measure has in the source of an append; None where the rows are given another value."""
    column = measure if step.aggregations else step.carried.get(measure)
    return column if column is not None and column in load.types and is_numeric(load.types[column]) else None


def live_rows_metric(seq: int) -> str:
    """How many live rows a source has that an operation loads, 0 being the input."""
    return f"{_ROWS_PREFIX}_{seq}"


def read_live_rows(metrics: Mapping[str, Any]) -> dict[int, int]:
    prefix = f"{_ROWS_PREFIX}_"
    return {int(name.removeprefix(prefix)): value or 0 for name, value in metrics.items() if name.startswith(prefix)}


@dataclass(frozen=True, slots=True)
class _Sum:
    """What a sum is of: SQL of a value, None being nothing, and of the rows; a change has another value before it."""

    key: MeasureSum
    value: str | None
    condition: str | None
    minus: str | None = None
    is_change: bool = False


def _difference(value: str | None, minus: str | None) -> str:
    """SQL of a value without another; NULL is nothing."""
    parts = [f"COALESCE({sql or 'NULL'}, 0)" for sql in (value, minus)]
    return parts[0] if minus is None else " - ".join(parts)


@dataclass(frozen=True, slots=True)
class UnitColumns:
    """Columns that sums in units read, by name and SQL; those of `units` read those of `doubles`."""

    doubles: dict[str, str] = field(default_factory=dict)
    units: dict[str, str] = field(default_factory=dict)

    def of(self, measures: Measures, column: str, sql: str) -> tuple[str, str | None]:
        """What counts the units of a value, and what is above them where a value may be that long."""
        if measures.types[column] == INTEGER:
            return sql, None
        double = _named(self.doubles, _DOUBLE_PREFIX, f"CAST({sql} AS DOUBLE)")
        units = _named(self.units, _UNITS_PREFIX, measures.units_sql(column, sql, double))
        if not measures.is_long(column):
            return units, None
        return units, _named(self.units, _ABOVE_PREFIX, measures.above_sql(column, sql, double))


def _named(columns: dict[str, str], prefix: str, sql: str) -> str:
    """The name of the column that has this SQL."""
    name = next((name for name, text in columns.items() if text == sql), f"{prefix}_{len(columns)}")
    columns[name] = sql
    return name


@dataclass(frozen=True, slots=True)
class PassingRows:
    """Rows that one aggregate sees: the operations that made them, and their columns.

    `marks` are SQL of each step's mark; `is_alone` says that the aggregate sees no other rows.
    """

    measures: Measures
    makers: frozenset[int]
    schema: Schema
    steps: Sequence[RowStep]
    marks: Mapping[int, str]
    is_alone: bool
    # Where sums are taken in groups: what they read, computed beforehand.
    units: "UnitColumns | None" = None

    def sums(self, *, with_loaded: bool) -> dict[str, str]:
        """What to sum for the steps, by name and SQL; `with_loaded` also what the input loaded."""
        sums: dict[str, str] = {}
        for column in self.measures.types:
            for maker in sorted(self.makers):
                is_loaded = with_loaded and maker == 0
                for one in self._sums_of(column, maker, is_loaded=is_loaded):
                    sums |= self._taken(one)
        if with_loaded and 0 in self.makers and self.measures.types:
            sums[live_rows_metric(0)] = self._rows(self._condition(0, self._live_after(-1)))
        return sums

    def _taken(self, one: "_Sum") -> dict[str, str]:
        """A sum by name and SQL; in units, each part of the number has a sum of its own."""
        column, condition = one.key.column, one.condition
        if not self._is_in_units(column):
            measures = self.measures
            value, minus = (sql and measures.summable(column, sql) for sql in (one.value, one.minus))
            return {measures.name(one.key): sum_sql(_difference(value, minus) if one.is_change else value, condition)}
        if one.value is None and one.minus is None:
            return {self.measures.name(one.key, _LOW_PREFIX): "SUM(0L)"}
        values, minuses = ({} if sql is None else self._parts(column, sql) for sql in (one.value, one.minus))
        parts = {
            prefix: _difference(values.get(prefix), minuses.get(prefix)) if one.is_change else values[prefix]
            for prefix in values | minuses
        }
        return {self.measures.name(one.key, prefix): sum_sql(part, condition) for prefix, part in parts.items()}

    def _parts(self, column: str, sql: str) -> dict[str, str]:
        """The parts of a value, each a number of 64 bits, by the prefix that has their weight."""
        assert self.units is not None
        units, above = self.units.of(self.measures, column, sql)
        parts = {_HIGH_PREFIX: f"SHIFTRIGHT({units}, {_HALF_BITS})", _LOW_PREFIX: f"({units} & {_LOW_HALF}L)"}
        return parts if above is None else {**parts, _TOP_PREFIX: above}

    def _is_in_units(self, column: str) -> bool:
        return self.units is not None and self.measures.has_units(column)

    def _sums_of(self, column: str, maker: int, *, is_loaded: bool) -> Iterator["_Sum"]:
        steps = [step for step in self.steps if self._concerns(step, column, maker)]
        if not steps and not is_loaded:
            return
        begin = steps[0].seq if steps else max((step.seq for step in self.steps), default=0) + 1
        start = self._value(column, begin)
        if start is None and not steps:
            return
        kind: SumKind = "loaded" if is_loaded else "before"
        key = MeasureSum(0 if is_loaded else begin, kind, column, maker)
        yield _Sum(key, start, self._condition(maker, self._live_after(begin - 1)))
        values = [start]
        for step in steps:
            before, after = self._value(column, step.seq), self._value(column, step.seq + 1)
            values.append(after)
            picked = self._condition(maker, self.marks[step.seq])
            if isinstance(step, DeleteStep):
                yield _Sum(MeasureSum(step.seq, "deleted", column, maker), after, picked)
            else:
                yield _Sum(MeasureSum(step.seq, "changed", column, maker), after, picked, before, is_change=True)
            live = self._condition(maker, self._live_after(step.seq))
            yield _Sum(MeasureSum(step.seq, "after", column, maker), after, live)
        if self.measures.is_float(column):
            sizes = " + ".join(f"ABS(COALESCE({value}, 0D))" for value in dict.fromkeys(values) if value is not None)
            yield _Sum(MeasureSum(begin, "size", column, maker), sizes or None, self._condition(maker, None))

    def _concerns(self, step: RowStep, column: str, maker: int) -> bool:
        is_changing = isinstance(step, DeleteStep) or column in self.measures.assigned.get(step.seq, ())
        return step.seq > maker and is_changing and not excludes(step.selector, maker)

    def _value(self, column: str, seq: int) -> str | None:
        """What a measure was before the operations from this seq on."""
        later = (step.seq for step in self.steps if step.seq >= seq)
        for changing in later:
            if column in self.measures.carried.get(changing, ()):
                return quote_identifier(self.measures.before(changing, column))
            if column in self.measures.assigned.get(changing, ()):
                return None
        return self.measures.fitted(column, self.schema)

    def _live_after(self, seq: int) -> str:
        """SQL that is true on rows that no operation up to this one has deleted."""
        later = [self.marks[step.seq] for step in self.steps if isinstance(step, DeleteStep) and step.seq > seq]
        return " OR ".join(("NOT `_deleted`", *later))

    def _condition(self, maker: int, condition: str | None) -> str | None:
        parts = [] if self.is_alone and self.makers == {maker} else [f"`_operation_seq` = {maker}L"]
        parts += [f"({condition})"] if condition else []
        return " AND ".join(parts) or None

    @staticmethod
    def _rows(condition: str | None) -> str:
        return f"COUNT(IF({condition}, 1, NULL))" if condition else "COUNT(1)"


def wide_type_sql(column_type: ColumnType) -> str:
    """The type in which values are summed: the sum of integers may be none."""
    return _INTEGER_SQL if column_type == INTEGER else spark_type(column_type)


def sum_sql(value: str | None, condition: str | None) -> str:
    if value is None:
        return "SUM(0BD)"
    return f"SUM(IF({condition}, {value}, NULL))" if condition else f"SUM({value})"


@dataclass(frozen=True, slots=True)
class OutputSums:
    """What to sum of the rows that an output may write; rows of `makers` pass.

    `picked` is SQL of the rows that it selects, `live` of rows that are not deleted, None where that is all of them.
    """

    measures: Measures
    step: OutputStep
    makers: frozenset[int]
    schema: Schema
    picked: str | None
    live: str | None

    @property
    def selected(self) -> tuple[int, ...]:
        """The operations of whose rows the output may write some."""
        return tuple(maker for maker in sorted(self.makers) if not excludes(self.step.selector, maker))

    @property
    def divided(self) -> tuple[int, ...]:
        """The operations of whose rows the output may write some and leave out others."""
        return tuple(maker for maker in self.selected if not picks_all(self.step.selector, maker))

    def written(self, *, of_all: bool = False) -> dict[str, str]:
        """Of rows that are selected already, or `of_all` rows."""
        sums = {}
        selected = [f"COALESCE({self.picked}, FALSE)"] if of_all and self.picked else []
        for column, maker, value in self._values(self.selected):
            own = [*selected, *([f"`_operation_seq` = {maker}L"] if of_all or len(self.selected) > 1 else [])]
            live = [f"({self.live})"] if self.live and self.step.arguments.include_deleted else []
            sums[self._name("written", column, maker)] = sum_sql(value, " AND ".join((*own, *live)) or None)
            if live:
                condition = " AND ".join((*own, f"NOT ({self.live})"))
                sums[self._name("written_deleted", column, maker)] = sum_sql(value, condition)
        return sums

    def left_out(self) -> dict[str, str]:
        """Of all rows, before any are selected."""
        live = f"({self.live})" if self.live else "TRUE"
        condition = f"{live} AND NOT COALESCE({self.picked}, FALSE)"
        return {
            self._name("left_out", column, maker): sum_sql(value, f"`_operation_seq` = {maker}L AND {condition}")
            for column, maker, value in self._values(self.divided)
        }

    def _values(self, makers: Iterable[int]) -> Iterator[tuple[str, int, str]]:
        for column in self.measures.types:
            if (value := self.measures.fitted(column, self.schema)) is not None:
                yield from ((column, maker, self.measures.summable(column, value)) for maker in makers)

    def _name(self, kind: SumKind, column: str, maker: int) -> str:
        return self.measures.name(MeasureSum(self.step.seq, kind, column, maker))
