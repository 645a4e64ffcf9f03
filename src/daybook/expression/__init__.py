"""The expression language: text → tree → typed tree → Spark SQL text."""

from daybook.expression.compiling import Compiled, compile_expression
from daybook.expression.fitting import fit, label_of
from daybook.expression.kinds import common_type, fits, spark_type
from daybook.expression.quoting import quote_identifier, quote_literal
from daybook.expression.scope import ColumnUse, Constants, Grouping, Scope
from daybook.expression.selectors import Selectors

__all__ = [
    "ColumnUse",
    "Compiled",
    "Constants",
    "Grouping",
    "Scope",
    "Selectors",
    "common_type",
    "compile_expression",
    "fit",
    "fits",
    "label_of",
    "quote_identifier",
    "quote_literal",
    "spark_type",
]
