"""Functions for conditions and NULL."""

from daybook.expression.functions.function import Arguments, Example, Function, FunctionParameter, ParameterKind
from daybook.expression.typed_tree import TypedLogical, TypedNot, TypedNullCheck
from daybook.model.types import BOOLEAN, ColumnType


def _type_of_second(arguments: Arguments) -> ColumnType:
    return arguments[1].type


def _type_of_first(arguments: Arguments) -> ColumnType:
    return arguments[0].type


_CONDITIONS = (
    FunctionParameter("condition", ParameterKind.BOOLEAN),
    FunctionParameter("condition", ParameterKind.BOOLEAN, is_repeated=True),
)

FUNCTIONS = (
    Function(
        name="IF",
        parameters=(
            FunctionParameter("condition", ParameterKind.BOOLEAN),
            FunctionParameter("then", ParameterKind.ANY),
            FunctionParameter("else", ParameterKind.ANY),
        ),
        returns=_type_of_second,
        result="common type of then and else",
        sql="IF({0}, {1}, {2})",
        is_common=True,
        sentence="The second argument where the condition is true, the third where it is false or NULL.",
        example=Example('IF(2 > 1, "yes", "no")', "yes"),
    ),
    Function(
        name="AND",
        parameters=_CONDITIONS,
        returns=BOOLEAN,
        sql="",
        rewrite=lambda conditions: TypedLogical("AND", conditions),
        sentence="True when all conditions are true; the operator AND as a function.",
        example=Example("AND(2 > 1, 3 > 2)", True),
    ),
    Function(
        name="OR",
        parameters=_CONDITIONS,
        returns=BOOLEAN,
        sql="",
        rewrite=lambda conditions: TypedLogical("OR", conditions),
        sentence="True when at least one condition is true; the operator OR as a function.",
        example=Example("OR(1 > 2, 3 > 2)", True),
    ),
    Function(
        name="NOT",
        parameters=(FunctionParameter("condition", ParameterKind.BOOLEAN),),
        returns=BOOLEAN,
        sql="",
        rewrite=lambda conditions: TypedNot(conditions[0]),
        sentence="True where the condition is false; the operator NOT with parentheses.",
        example=Example("NOT(1 > 2)", True),
    ),
    Function(
        name="ISNULL",
        parameters=(FunctionParameter("value", ParameterKind.ANY),),
        returns=BOOLEAN,
        sql="",
        rewrite=lambda values: TypedNullCheck(values[0], False),
        sentence="True where the value is NULL, otherwise false.",
        example=Example("ISNULL(NULL)", True),
    ),
    Function(
        name="COALESCE",
        parameters=(
            FunctionParameter("value", ParameterKind.ANY),
            FunctionParameter("value", ParameterKind.ANY, is_repeated=True),
        ),
        returns=_type_of_first,
        result="common type of the values",
        sql=lambda arguments: f"COALESCE({', '.join(argument.sql for argument in arguments)})",
        is_common=True,
        sentence="The first value that is not NULL.",
        example=Example("COALESCE(NULL, 3, 4)", 3),
    ),
    Function(
        name="NULLIF",
        parameters=(FunctionParameter("value", ParameterKind.ANY), FunctionParameter("other", ParameterKind.ANY)),
        returns=_type_of_first,
        result="type of the first value",
        sql="",
        is_common=True,
        sentence="NULL where both values are equal, otherwise the first.",
        example=Example('NULLIF("n/a", "n/a")', None),
    ),
)
