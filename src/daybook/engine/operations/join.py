"""Applies the joins of an update: left joins that detect when a row matches more than once.

Three ways to notice that a picked row matches twice, none of which reads the data a second time:

- The condition is equality of keys: the joined side is numbered by key beforehand, and a match with a key that
  occurs twice is a failed check on the row.
- Otherwise rows are counted below and above the join, and the counts are compared before the commit.
- When the selector itself looks at joined columns, which rows are picked shows only after the join. Rows that are
  not picked are then reduced to one copy, by the key's number or, without a key, by row id.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from daybook.engine.context import RunContext
from daybook.engine.counters import DoubleMatch, failed_check_sql, observe_rows, row_label_sql
from daybook.engine.failures import JOIN_ON, mark_sql
from daybook.engine.layer import guarded_condition
from daybook.engine.working_dataset import WorkingDataset
from daybook.expression import quote_identifier
from daybook.expression.sql import to_sql
from daybook.expression.typed_tree import ColumnValue, TypedNode
from daybook.plan.conditions import JoinParts, column_uses, conjuncts, joined_aliases, split_join_condition
from daybook.plan.steps import JoinStep, UpdateStep

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Observation

# How often the key of a joined row occurs, and which of the rows with that key this one is.
_MATCHES = "__matches"
_COPY = "__copy"
_ROW = "__row"

_IS_PICKED_HERE = "__daybook_picked_here"
_COPIES = "__daybook_copies"
_COPY_NUMBER = "__daybook_number"
_SAME_ID_NUMBER = "__daybook_twin"


@dataclass(frozen=True, slots=True)
class JoinRowCount:
    """Rows below and above a join: equal unless a row matched twice, or Spark executed a task twice."""

    seq: int
    alias: str
    below: "Observation"
    above: "Observation"
    # A frame with one row that matched twice, its key as text, if there is one.
    doubles: "Callable[[], DataFrame]"


@dataclass(frozen=True, slots=True)
class JoinedRows:
    """What is joined; if it is small, one task prepares it for all others."""

    df: "DataFrame"
    is_small: bool


@dataclass(frozen=True, slots=True)
class JoinedUpdate:
    """Rows with the columns of all joins, SQL of the checks they may fail, and what is counted to see the others."""

    df: "DataFrame"
    faults: tuple[str, ...]
    counts: tuple[JoinRowCount, ...]


class UpdateJoins:
    """The joins of one update on the working dataset."""

    def __init__(self, context: RunContext, working: WorkingDataset, step: UpdateStep) -> None:
        self._context = context
        self._working = working
        self._step = step
        self._selector = tuple(conjuncts(step.selector.tree)) if step.selector else ()
        self._is_picked_late = any(joined_aliases(part) for part in self._selector)
        # Rows that were checked before match once, and those that are not picked match nothing.
        self._is_plain = not context.is_checking and not self._is_picked_late

    def apply(self, df: "DataFrame", joined: Mapping[str, JoinedRows]) -> JoinedUpdate:
        """Join the rows of each alias to the working dataset, of which all but this update is in `df`."""
        from pyspark.sql import functions as F

        joined_before: set[str] = set()
        counts: list[JoinRowCount] = []
        faults: list[str] = []
        without_key: list[JoinStep] = []
        shapes = {join.alias: split_join_condition(join.on.tree, join.alias) for join in self._step.joins}
        if self._is_picked_late and not all(shape.is_by_key for shape in shapes.values()):
            df = _number_same_ids(df)
        for join in self._step.joins:
            shape = shapes[join.alias]
            joined_rows = joined[join.alias]
            rows = self._prepared(joined_rows.df.coalesce(1) if joined_rows.is_small else joined_rows.df, join, shape)
            rows = F.broadcast(rows) if joined_rows.is_small else rows
            condition = self._condition(join, shape, joined_before)
            if self._is_plain:
                df = df.join(rows, F.expr(condition), "left")
            elif shape.is_by_key:
                df = df.join(rows, F.expr(condition), "left")
                df = df if self._is_picked_late else self._taken(df, join)
                faults.append(
                    self._fault(
                        f"{_joined_column(join, _MATCHES)} > 1", join.alias, row_label_sql(self._own_keys(shape))
                    )
                )
            elif self._is_picked_late:
                df = df.join(rows, F.expr(condition), "left")
                without_key.append(join)
            else:
                df, count = self._counted(df, rows, join, condition)
                counts.append(count)
            joined_before.add(join.alias)
        if without_key:
            df, fault = self._one_copy_by_row_id(df, without_key)
            faults.append(fault)
        elif self._is_picked_late:
            df = self._one_copy_by_key(df)
        return JoinedUpdate(df, tuple(faults), tuple(counts))

    def _sql(self, tree: TypedNode) -> str:
        return to_sql(tree, self._context.constants)

    def _on(self, join: JoinStep, sql: str) -> str:
        return mark_sql(sql, self._step.seq, JOIN_ON, self._step.joins.index(join))

    def _picked(self) -> str | None:
        return self._working.layer.picked_by(self._step)

    def _prepared(self, rows: "DataFrame", join: JoinStep, shape: JoinParts) -> "DataFrame":
        """The columns that the operation reads under their alias; with keys, how often each key occurs."""
        from pyspark.sql import functions as F

        columns = [_joined_column(join, name) for name in join.columns]
        rows = rows.selectExpr(*(f"{quote_identifier(name)} AS {_joined_column(join, name)}" for name in join.columns))
        for part in shape.joined_only:
            rows = rows.where(F.expr(self._on(join, self._sql(part))))
        if not shape.is_by_key:
            return rows
        keys = {
            _key_column(join, number): self._on(join, self._sql(right)) for number, (_, right) in enumerate(shape.keys)
        }
        if self._is_picked_late:
            by_key = f"PARTITION BY {', '.join(keys.values())}"
            return rows.selectExpr(
                *columns,
                *(f"{sql} AS {key}" for key, sql in keys.items()),
                f"COUNT(1) OVER ({by_key}) AS {_joined_column(join, _MATCHES)}",
                f"ROW_NUMBER() OVER ({by_key} ORDER BY {', '.join(keys.values())}) AS {_joined_column(join, _COPY)}",
            )
        if self._is_plain:
            return rows.selectExpr(*columns, *(f"{sql} AS {key}" for key, sql in keys.items()))
        # One row a key is enough to see that there are more, and keeps a wrong join from exploding. Spark knows then
        # that the join adds no rows, and leaves it out of branches that read none of its columns.
        return rows.groupBy(*(F.expr(f"{sql} AS {key}") for key, sql in keys.items())).agg(
            F.expr(f"COUNT(1) AS {_joined_column(join, _MATCHES)}"),
            F.expr(f"ANY_VALUE(STRUCT({', '.join(columns)})) AS {_joined_column(join, _ROW)}"),
        )

    def _taken(self, df: "DataFrame", join: JoinStep) -> "DataFrame":
        """The joined columns out of the one row a key has.

        Every value depends on the number of matches, so that all branches of a plan ask the joined side for the same
        columns and Spark prepares it once.
        """
        matched, row = f"{_joined_column(join, _MATCHES)} = 1", _joined_column(join, _ROW)
        columns = [_joined_column(join, name) for name in join.columns]
        return df.selectExpr("*", *(f"IF({matched}, {row}.{column}, NULL) AS {column}" for column in columns))

    def _condition(self, join: JoinStep, shape: JoinParts, joined_before: set[str]) -> str:
        """The join's condition and as much of the selector as is known before it: other rows match nothing."""
        live = self._working.layer.live()
        own = [part for part in (*self._selector, *shape.own_only) if joined_aliases(part) <= joined_before]
        guard = guarded_condition(live, " AND ".join(f"({self._on(join, self._sql(part))})" for part in own) or None)
        parts = [guard] if guard else []
        for number, (left, right) in enumerate(shape.keys):
            key = self._on(join, self._sql(left))
            if guard and not isinstance(left, ColumnValue):
                # A key that is computed may fail on a row that is not picked.
                key = f"IF({guard}, {key}, NULL)"
            parts.append(f"({key}) = {_key_column(join, number) if shape.is_by_key else f'({self._sql(right)})'}")
        parts += [f"({self._on(join, self._sql(part))})" for part in shape.rest]
        return " AND ".join(parts) or "TRUE"

    def _own_keys(self, shape: JoinParts) -> dict[str, str]:
        """What the row is matched by: a label and SQL for each key."""
        return {
            left.use.name if isinstance(left, ColumnValue) else f"key {number + 1}": self._sql(left)
            for number, (left, _) in enumerate(shape.keys)
        }

    def _own_columns(self, join: JoinStep) -> dict[str, str]:
        names = sorted({use.name for use in column_uses(join.on.tree) if use.qualifier is None})
        return {name: quote_identifier(name) for name in names}

    def _fault(self, condition: str, alias: str, key: str) -> str:
        picked = self._picked() if self._is_picked_late else None
        guarded = guarded_condition(picked, condition)
        text = failed_check_sql(self._step.seq, DoubleMatch, {"seq": self._step.seq, "alias": alias}, {"key": key})
        return f"IF({guarded}, {text}, NULL)"

    def _counted(
        self, df: "DataFrame", rows: "DataFrame", join: JoinStep, condition: str
    ) -> "tuple[DataFrame, JoinRowCount]":
        from pyspark.sql import Observation
        from pyspark.sql import functions as F

        below, above = Observation(), Observation()
        key = row_label_sql(self._own_columns(join))

        def doubles() -> "DataFrame":
            matched = df.join(rows, F.expr(condition), "inner").selectExpr("`_row_id`", f"{key} AS __key")
            counted = matched.groupBy("_row_id").agg(
                F.expr("COUNT(1)").alias(_COPIES), F.expr("MIN(__key)").alias("__key")
            )
            return counted.where(F.expr(f"{_COPIES} > 1")).select("__key").limit(1)

        total = F.expr("COUNT(1)").alias("rows")
        joined = observe_rows(df, below, total).join(rows, F.expr(condition), "left")
        joined = observe_rows(joined, above, total)
        return joined, JoinRowCount(self._step.seq, join.alias, below, above, doubles)

    def _one_copy_by_key(self, df: "DataFrame") -> "DataFrame":
        """Rows that turn out not to be picked keep their first match only."""
        from pyspark.sql import functions as F

        first = " AND ".join(f"COALESCE({_joined_column(join, _COPY)}, 1) = 1" for join in self._step.joins)
        picked = f"COALESCE({self._picked()}, FALSE)"
        return df.where(F.expr(f"{picked} OR ({first})"))

    def _one_copy_by_row_id(self, df: "DataFrame", joins: list[JoinStep]) -> "tuple[DataFrame, str]":
        """One copy of every row, a picked one if there is any, with the number of copies there were."""
        from pyspark.sql import functions as F

        df = df.selectExpr("*", f"COALESCE({self._picked()}, FALSE) AS {_IS_PICKED_HERE}")
        same_row = f"PARTITION BY `_row_id`, {_SAME_ID_NUMBER}"
        df = df.selectExpr(
            "*",
            f"COUNT(1) OVER ({same_row}) AS {_COPIES}",
            f"ROW_NUMBER() OVER ({same_row} ORDER BY {_IS_PICKED_HERE} DESC) AS {_COPY_NUMBER}",
        ).where(F.expr(f"{_COPY_NUMBER} = 1"))
        aliases = ", ".join(join.alias for join in joins)
        columns = {name: sql for join in joins for name, sql in self._own_columns(join).items()}
        return df, self._fault(f"{_COPIES} > 1", aliases, row_label_sql(columns))


def _number_same_ids(df: "DataFrame") -> "DataFrame":
    """Rows that carry the same id from their source get different numbers, so that none counts as a copy."""
    return df.selectExpr("*", f"ROW_NUMBER() OVER (PARTITION BY `_row_id` ORDER BY `_row_id`) AS {_SAME_ID_NUMBER}")


def _joined_column(join: JoinStep, name: str) -> str:
    return quote_identifier(f"{join.alias}.{name}")


def _key_column(join: JoinStep, number: int) -> str:
    return _joined_column(join, f"__key_{number}")
