"""Projects written as YAML, executed on rows written as Python."""

import datetime
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession

from daybook.definitions.value import Definitions
from daybook.engine.context import ORDINAL_COLUMN, ORIGIN_COLUMN, SourceFrame, SourceRows
from daybook.engine.counters import GroupCounts
from daybook.engine.java.session_conf import temporary_settings
from daybook.engine.pipeline import Pipeline
from daybook.io.column_types import arrow_frame, arrow_type
from daybook.model.types import RUN_PERIOD_COLUMN, STRING, SYSTEM_COLUMNS
from daybook.plan.steps import LoadStep, Plan
from tests.unit.plan.planned import JANUARY, WORLD, plan_of

Row = Mapping[str, Any]
JANUARY_ID = JANUARY.identifier

OUTPUT = "- {type: output, arguments: {destination: {location: out.csv}}}\n"


def order(order_id: str, **values: Any) -> dict[str, Any]:
    """An order of January; amounts are written as text, to be decimals."""
    given: dict[str, Any] = {
        "customer_id": None,
        "region": None,
        "status": None,
        "amount": None,
        "quantity": None,
        "day": None,
    }
    given |= {"order_id": order_id, "_period": JANUARY_ID} | values
    if isinstance(given["amount"], str):
        given["amount"] = Decimal(given["amount"])
    return given


def customer(id_: str | None, tier: str | None = None, discount: str | None = None) -> dict[str, Any]:
    return {"id": id_, "tier": tier, "discount": Decimal(discount) if discount else None}


def budget(region: str | None, amount: str | None, quantity: int | None = None, **values: Any) -> dict[str, Any]:
    value = Decimal(amount) if amount else None
    return {"region": region, "amount": value, "quantity": quantity, "_period": JANUARY_ID} | values


def source(spark: SparkSession, load: LoadStep, rows: Sequence[Row], partitions: int | None = None) -> SourceFrame:
    """Rows as if they were read from one file; system columns that rows have are carried."""
    carried = {name for row in rows for name in row if name not in load.types}
    if not rows and load.temporal_mode == "period":
        carried = {"_period"}
    known = {**SYSTEM_COLUMNS, RUN_PERIOD_COLUMN: STRING}
    types = {**load.types, **{name: known[name] for name in sorted(carried)}}
    columns = {name: pa.array([row.get(name) for row in rows], arrow_type(each)) for name, each in types.items()}
    columns[ORIGIN_COLUMN] = pa.array(["part-0"] * len(rows), pa.string())
    columns[ORDINAL_COLUMN] = pa.array(range(len(rows)), pa.int64())
    # Rows that Spark knows while it plans would be computed then.
    with temporary_settings(spark, {"spark.sql.execution.arrow.localRelationThreshold": "0"}):
        df = arrow_frame(spark, pa.table(columns))
    return SourceFrame(SourceRows.of(df.repartition(partitions) if partitions else df), frozenset(carried))


@dataclass
class Executed:
    """Rows of each output by seq, sorted by no rule, and what was counted."""

    plan: Plan
    outputs: dict[int, list[dict[str, Any]]] = field(default_factory=dict)
    columns: dict[int, list[str]] = field(default_factory=dict)
    counts: list[GroupCounts] = field(default_factory=list)

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The rows of the last output."""
        return self.outputs[max(self.outputs)]

    def picked(self) -> dict[int, tuple[int, int]]:
        return {each.seq: (each.picked, each.added) for counts in self.counts for each in counts.operations}

    def by_id(self) -> dict[str, dict[str, Any]]:
        return {row["order_id"]: row for row in self.rows if row["order_id"]}

    def summaries(self) -> list[dict[str, Any]]:
        return [row for row in self.rows if row["order_id"] is None]


class World:
    """Executes projects over orders, customers and budgets in one session."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self.spark = spark
        self._folder = folder

    def run(
        self,
        operations: str,
        orders: Sequence[Row],
        *,
        customers: Sequence[Row] = (),
        budgets: Sequence[Row] = (),
        definitions: Definitions = WORLD,
        head: str = "",
        partitions: int | None = None,
        as_of: datetime.date | None = None,
        more: Mapping[str, Sequence[Row]] | None = None,
    ) -> Executed:
        """Every output written by its own action, then verified as a group."""
        plan = plan_of(operations, definitions=definitions, head=head)
        data = {"orders": orders, "customers": customers, "budget": budgets, **(more or {})}
        sources = {load.key: source(self.spark, load, data[load.dataset_id], partitions) for load in plan.loads}
        executed = Executed(plan)
        with self.pipeline(plan, sources, as_of=as_of) as pipeline:
            for group in pipeline.groups():
                collected = {output.step.seq: output.df.toArrow() for output in group.outputs}
                group.verify()
                executed.counts.append(group.counts())
                for seq, table in collected.items():
                    executed.outputs[seq] = table.to_pylist()
                    executed.columns[seq] = table.column_names
        return executed

    def pipeline(
        self, plan: Plan, sources: Mapping[str, SourceFrame], *, as_of: datetime.date | None = None
    ) -> Pipeline:
        return Pipeline(self.spark, plan, sources, staging=str(self._folder / uuid.uuid4().hex), as_of=as_of)
