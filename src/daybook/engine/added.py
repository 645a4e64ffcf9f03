"""Rows that operations added and that no operation has changed since."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from pyspark.sql import DataFrame

from daybook.engine.context import null
from daybook.expression import fit, quote_identifier
from daybook.model.types import ColumnType


@dataclass(frozen=True, slots=True)
class Added:
    """`schema` are the business columns of the moment they were added; the rows are asked for when they are used."""

    seqs: tuple[int, ...]
    schema: Mapping[str, ColumnType]
    rows: Callable[[], DataFrame]

    def aligned(self, schema: Mapping[str, ColumnType]) -> DataFrame:
        """The rows with the business columns of a later moment: more of them, or wider ones."""
        df = self.rows()
        if list(self.schema.items()) == list(schema.items()):
            return df
        others = [quote_identifier(name) for name in df.columns if name not in self.schema]
        return df.selectExpr(*(self._column(name, target) for name, target in schema.items()), *others)

    def _column(self, name: str, target: ColumnType) -> str:
        quoted = quote_identifier(name)
        value = fit(quoted, self.schema[name], target) if name in self.schema else null(target)
        return f"{value} AS {quoted}"
