"""The working dataset while steps are applied to it."""

from collections.abc import Mapping

from pyspark.sql import DataFrame

from daybook.engine.context import RunContext
from daybook.engine.folding import Layer, settled_update_time
from daybook.expression import Compiled, quote_identifier
from daybook.model.system_columns import SYSTEM_COLUMNS
from daybook.model.types import ColumnType
from daybook.plan.steps import DeleteStep, UpdateStep
from daybook.plan.usage import working_columns


class Working:
    """All rows, live and deleted: a frame and the projection on it that is still being folded."""

    def __init__(
        self, context: RunContext, df: DataFrame, schema: Mapping[str, ColumnType], *, may_be_deleted: bool
    ) -> None:
        self._context = context
        self._df = df
        self._layer = Layer(context, dict(schema), may_be_deleted)
        # Projections since the data was last read, which Spark analyses anew with every one that is added.
        self.depth = 0

    @property
    def schema(self) -> Mapping[str, ColumnType]:
        return self._layer.after

    @property
    def columns(self) -> tuple[str, ...]:
        """Every column in order: business, system, hidden."""
        return (*self.schema, *SYSTEM_COLUMNS, *self._context.hidden)

    @property
    def layer(self) -> Layer:
        return self._layer

    @property
    def df(self) -> DataFrame:
        """The frame with everything folded so far."""
        self._flush()
        return self._df

    def add(self, step: UpdateStep | DeleteStep) -> None:
        if not self._layer.accepts(step):
            self._flush()
        self.settle_for(*step.expressions)
        self._layer.add(step)

    def settle_for(self, *expressions: Compiled | None) -> None:
        """Write `_updated_at` down when expressions are going to read it."""
        if self._context.words and "_updated_at" in working_columns(*expressions):
            self._flush()
            self._project({"_updated_at": settled_update_time(self._context)})

    def extend(self, schema: Mapping[str, ColumnType]) -> None:
        """Give columns that the next step adds or widens their place and type."""
        self._layer.extend(schema)

    def continue_from(self, df: DataFrame) -> None:
        """The same dataset from another frame; columns it has beyond ours go with the next projection."""
        self._flush()
        self._df = df

    def _flush(self) -> None:
        changed = self._layer.columns()
        may_be_deleted = self._layer.may_be_deleted or bool(self._layer.deletes)
        if changed:
            self._project(changed)
        self._layer = Layer(self._context, dict(self._layer.after), may_be_deleted)

    def _project(self, changed: Mapping[str, str]) -> None:
        names = {name: quote_identifier(name) for name in self.columns}
        texts = [f"{changed[name]} AS {quoted}" if name in changed else quoted for name, quoted in names.items()]
        self._df = self._df.selectExpr(*texts)
        self.depth += 1
