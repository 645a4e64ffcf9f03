"""The expression language: text → tree → typed tree → Spark SQL text."""

from daybook.expression.compiler import CompiledExpression, compile_expression
from daybook.expression.quoting import quote_identifier, quote_literal
from daybook.expression.type_rules import cast_sql, common_type, fits, spark_type
from daybook.expression.typed_tree import ColumnUse, Constants, Grouping, NamedExpressions, Scope

__all__ = [
    "ColumnUse",
    "CompiledExpression",
    "Constants",
    "Grouping",
    "NamedExpressions",
    "Scope",
    "cast_sql",
    "common_type",
    "compile_expression",
    "fits",
    "quote_identifier",
    "quote_literal",
    "spark_type",
]
