"""ALLOCATE: shares of an amount by weights, in whole units of its last digit, that add up to it exactly.

Every row gets the whole units of its share; the units left over go to the rows with the largest remainders. Each
number on the way is an exact decimal without places, so the result is the same however Spark divides the rows.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from daybook.engine.failed_checks import BadAllocation, failed_check_sql
from daybook.expression import spark_type
from daybook.expression.check_calls import to_arguments
from daybook.expression.functions.windows import AllocationTypes, allocation_types
from daybook.expression.typed_tree import TypedWindow
from daybook.model.types import DecimalType, IntegerType


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
            f"{least} <> {most}": "the amount is not the same on all rows",
            f"{amounts} > 0 AND {amounts} < {rows}": "the amount is NULL on some rows",
            f"{self._column('total')} = 0 AND {most} <> 0": "all weights are zero",
        }
        whens = " ".join(
            f"WHEN {condition} THEN "
            + failed_check_sql(BadAllocation, {"seq": seq, "column": column, "problem": problem}, {"group": group})
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
