"""Computes the windows of an update over the selected rows, and ALLOCATE.

All windows with the same group share one shuffle. Rows that are not picked pass by in groups of their own, one each,
so that they neither count nor gather in one task. An aggregate over all rows needs no shuffle: it is computed once
and joined to every row.

ALLOCATE gives every row the whole units of its share; the units left over go to the rows with the largest remainders.
Each number on the way is an exact decimal without places, so the result is the same however Spark divides the rows.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import TYPE_CHECKING

from daybook.engine.context import RunContext, aliased_sql, quote_identifiers
from daybook.engine.counters import BadAllocation, failed_check_sql, row_label_sql
from daybook.engine.failures import VALUE, mark_sql
from daybook.expression import ColumnUse, quote_identifier, spark_type
from daybook.expression.check_calls import to_arguments
from daybook.expression.functions.function import Arguments
from daybook.expression.functions.windows import AllocationTypes, allocation_types
from daybook.expression.sql import over_sql, to_sql
from daybook.expression.typed_tree import AllRows, ColumnValue, TypedNode, TypedWindow
from daybook.model.types import DecimalType, IntegerType
from daybook.plan.steps import ComputedColumn, UpdateStep

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True, slots=True)
class Allocation:
    """One ALLOCATE: `amount` and `weight` are SQL, `partition` that of its group, `ties` that of its last order."""

    window: TypedWindow
    name: str
    amount: str
    weight: str
    partition: Sequence[str]
    ties: Sequence[str]

    @property
    def types(self) -> AllocationTypes:
        return allocation_types(to_arguments(self.window.call.arguments, (self.amount, self.weight)))

    def totals(self) -> dict[str, str]:
        """Of the group: what the shares are in proportion to, and what all of its rows must agree on."""
        over = self._over()
        return {
            self._column("total"): f"SUM({self._weight}) {over}",
            self._column("least_weight"): f"MIN({self.weight}) {over}",
            self._column("least"): f"MIN({self.amount}) {over}",
            self._column("most"): f"MAX({self.amount}) {over}",
            self._column("amounts"): f"COUNT({self.amount}) {over}",
            self._column("rows"): f"COUNT(1) {over}",
        }

    def shares(self) -> dict[str, str]:
        """Whole units of the row, and the remainder."""
        total, product = self._column("total"), f"{self._units} * {self._weight}"
        remainder = f"({product}) % {total}"
        share = f"CAST((({product}) - {remainder}) / {total} AS {spark_type(self.types.units)})"
        return {
            self._column("remainder"): f"IF({self._is_sound}, {remainder}, NULL)",
            self._column("share"): f"IF({self._is_sound}, {share}, NULL)",
        }

    def positions(self) -> dict[str, str]:
        """How many units are left over in the group, and which rows get one."""
        order = ", ".join((f"{self._column('remainder')} DESC NULLS LAST", *(f"{tie} NULLS LAST" for tie in self.ties)))
        return {
            self._column("left"): f"{self._units} - SUM({self._column('share')}) {self._over()}",
            self._column("position"): f"ROW_NUMBER() {self._over(f'ORDER BY {order}')}",
        }

    def result(self) -> dict[str, str]:
        """The share in the type of the amount; zero of nothing."""
        units = f"{self._column('share')} + IF({self._column('position')} <= {self._column('left')}, 1BD, 0BD)"
        signed = f"IF({self.amount} < 0, 0BD - ({units}), {units})"
        value = f"COALESCE({self._in_type(signed)}, {self._in_type('0BD')})"
        return {self.name: f"IF({self.amount} IS NULL, NULL, {value})"}

    def fault(self, seq: int, column: str, group: str) -> str:
        """SQL of the text of a failed check; NULL where the group can be allocated."""
        amounts, rows = self._column("amounts"), self._column("rows")
        least, most = self._column("least"), self._column("most")
        problems = {
            f"{self._column('least_weight')} < 0": "a weight is negative",
            f"{least} <> {most}": "the amount is not the same in all rows",
            f"{amounts} > 0 AND {amounts} < {rows}": "the amount is NULL in some rows",
            f"{self._column('total')} = 0 AND {most} <> 0": "all weights are zero",
        }
        whens = " ".join(
            f"WHEN {condition} THEN "
            + failed_check_sql(seq, BadAllocation, {"seq": seq, "column": column, "problem": problem}, {"group": group})
            for condition, problem in problems.items()
        )
        return f"CASE {whens} END"

    @property
    def _is_sound(self) -> str:
        least, most = self._column("least"), self._column("most")
        return f"{self._column('total')} > 0 AND {self._column('least_weight')} >= 0 AND {least} = {most}"

    @property
    def _weight(self) -> str:
        return f"CAST(COALESCE({self.weight}, 0) AS {spark_type(self.types.weight)})"

    @property
    def _units(self) -> str:
        """The amount without sign and point."""
        types = self.types
        amount = f"ABS(CAST({self.amount} AS {spark_type(types.amount)}))"
        scaled = f"{amount} * {10**types.amount.scale}BD" if types.amount.scale else amount
        return f"CAST({scaled} AS {spark_type(types.units)})"

    def _in_type(self, units: str) -> str:
        kind = self.window.type
        whole = f"CAST({units} AS {spark_type(self.types.units)})"
        if isinstance(kind, DecimalType) and kind.scale:
            whole = f"{whole} * {Decimal(1).scaleb(-kind.scale):f}BD"
        return f"CAST({whole} AS {'BIGINT' if isinstance(kind, IntegerType) else spark_type(kind)})"

    def _over(self, order: str = "") -> str:
        partition = f"PARTITION BY {', '.join(self.partition)}" if self.partition else ""
        return f"OVER ({' '.join(part for part in (partition, order) if part)})"

    def _column(self, what: str) -> str:
        return f"{self.name}_{what}"


_IS_PICKED = "__daybook_in_window"
_OWN_GROUP = "__daybook_own_group"


@dataclass(frozen=True, slots=True)
class WindowedRows:
    """Rows with a column for every window, the update that reads these columns, and SQL of the checks they may fail."""

    df: "DataFrame"
    step: UpdateStep
    faults: tuple[str, ...]
    shuffles: int


@dataclass
class UpdateWindows:
    """The windows of one update; `picked` is SQL of the rows it picks, None for all.

    `natural_key` decides between rows that are equal in an order, and after it `_row_id`.
    """

    context: RunContext
    step: UpdateStep
    picked: str | None
    natural_key: Sequence[str]
    # What windows are computed of, each once: the column that holds it, and its SQL.
    _operands: dict[TypedNode, str] = field(default_factory=dict, init=False)
    _prepared: dict[str, str] = field(default_factory=dict, init=False)

    def apply(self, df: "DataFrame") -> WindowedRows:
        from pyspark.sql import functions as F

        windows = {window: f"__daybook_window_{number}" for number, window in enumerate(self.step.windows)}
        summed: dict[str, str] = {}
        grouped: dict[str, str] = {}
        allocations: list[Allocation] = []
        for window, name in windows.items():
            if window.call.function.name == "ALLOCATE":
                allocations.append(self._allocation(window, name))
            elif _is_total(window):
                summed[name] = self._marked(window, window.call.function.to_sql(self._arguments(window)))
            else:
                grouped[name] = self._window_sql(window)
        if self.picked is not None:
            df = _with_columns(df, {_IS_PICKED: f"COALESCE({self.picked}, FALSE)"})
            # Spark shares a shuffle between windows only where they are grouped by columns, not by expressions.
            self._prepared[_OWN_GROUP] = f"IF({_IS_PICKED}, NULL, `_row_id`)"
        df = _with_columns(df, self._prepared)
        if summed:
            rows = df if self.picked is None else df.where(F.expr(_IS_PICKED))
            df = df.crossJoin(F.broadcast(rows.agg(*(F.expr(text) for text in aliased_sql(summed)))))
        df = _with_columns(df, grouped, *(allocation.totals() for allocation in allocations))
        df = _with_columns(df, *(allocation.shares() for allocation in allocations))
        df = _with_columns(df, *(allocation.positions() for allocation in allocations))
        df = _with_columns(df, *(allocation.result() for allocation in allocations))
        shuffles = len({window.partition for window in windows if not _is_total(window)})
        faults = tuple(self._fault(allocation) for allocation in allocations)
        return WindowedRows(df, self._reading_step(windows), faults, shuffles)

    def _reading_step(self, windows: Mapping[TypedWindow, str]) -> UpdateStep:
        def read(node: TypedNode) -> TypedNode:
            if isinstance(node, TypedWindow):
                return ColumnValue(ColumnUse(None, windows[node]), node.type)
            return node.map(read)

        def reading(value: ComputedColumn) -> ComputedColumn:
            return replace(value, expression=replace(value.expression, tree=read(value.expression.tree)))

        return replace(self.step, assignments=tuple(map(reading, self.step.assignments)))

    def _allocation(self, window: TypedWindow, name: str) -> Allocation:
        amount, weight = (self._column(window, argument) for argument in window.call.arguments)
        ties = quote_identifiers(*self.natural_key, "_row_id")
        return Allocation(window, name, amount, weight, self._partition(window), ties)

    def _fault(self, allocation: Allocation) -> str:
        """The text of a failed check, which names the group by what it is written as."""
        window = allocation.window
        labels = [
            part.use.name if isinstance(part, ColumnValue) else f"key {number}"
            for number, part in enumerate(window.partition, start=1)
        ]
        keys = dict(zip(labels, (self._column(window, part) for part in window.partition), strict=True))
        group = row_label_sql(keys) if keys else "'all rows'"
        return allocation.fault(self.step.seq, self.step.assignments[self._number(window)].column, group)

    def _window_sql(self, window: TypedWindow) -> str:
        function = window.call.function
        over = over_sql(function, self._partition(window), self._order(window))
        return self._marked(window, function.to_window_sql(self._arguments(window), over))

    def _partition(self, window: TypedWindow) -> list[str]:
        keys = [self._column(window, part) for part in window.partition]
        return [*keys, _IS_PICKED, _OWN_GROUP] if self.picked is not None else keys

    def _order(self, window: TypedWindow) -> list[tuple[str, bool]]:
        written = [(self._column(window, part), is_descending) for part, is_descending in window.order]
        function = window.call.function
        if function.name == "RANK" or (function.is_aggregate and not written):
            return written
        return [*written, *((key, False) for key in quote_identifiers(*self.natural_key, "_row_id"))]

    def _arguments(self, window: TypedWindow) -> Arguments:
        arguments = window.call.arguments
        texts = ("*" if isinstance(argument, AllRows) else self._column(window, argument) for argument in arguments)
        return to_arguments(arguments, tuple(texts))

    def _column(self, window: TypedWindow, node: TypedNode) -> str:
        """SQL of a column that holds a value on picked rows, NULL on others: there it might even fail."""
        match node:
            case ColumnValue(ColumnUse(None, name)) if self.picked is None:
                return quote_identifier(name)
            case _ if node in self._operands:
                return self._operands[node]
            case _:
                self._operands[node] = name = f"__daybook_operand_{len(self._operands)}"
                sql = self._marked(window, to_sql(node, self.context.constants))
                self._prepared[name] = sql if self.picked is None else f"CASE WHEN {_IS_PICKED} THEN {sql} END"
                return name

    def _marked(self, window: TypedWindow, sql: str) -> str:
        """Marks the first value of the window, so that a failure can be named."""
        return mark_sql(sql, self.step.seq, VALUE, self._number(window))

    def _number(self, window: TypedWindow) -> int:
        """Which assignment has the window first."""
        trees = [value.expression.tree for value in self.step.assignments]
        return next(number for number, tree in enumerate(trees) if window in tree.walk())


def _is_total(window: TypedWindow) -> bool:
    return window.call.function.is_aggregate and not window.partition and not window.order


def _with_columns(df: "DataFrame", *columns: Mapping[str, str]) -> "DataFrame":
    added = [f"{sql} AS {name}" for column_group in columns for name, sql in column_group.items()]
    return df.selectExpr("*", *added) if added else df
