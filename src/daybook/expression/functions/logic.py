"""Functions for conditions and NULL."""

from daybook.expression.functions.declaration import Arguments, Example, Function, Parameter, ParameterKind
from daybook.expression.typed_tree import TypedLogical, TypedNot, TypedNullCheck
from daybook.model.types import BOOLEAN, ColumnType


def _type_of_second(arguments: Arguments) -> ColumnType:
    return arguments[1].type


def _type_of_first(arguments: Arguments) -> ColumnType:
    return arguments[0].type


_CONDITIONS = (
    Parameter("condition", ParameterKind.BOOLEAN),
    Parameter("condition", ParameterKind.BOOLEAN, is_repeated=True),
)

FUNCTIONS = (
    Function(
        name="IF",
        parameters=(
            Parameter("condition", ParameterKind.BOOLEAN),
            Parameter("then", ParameterKind.ANY),
            Parameter("else", ParameterKind.ANY),
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
        parameters=(Parameter("condition", ParameterKind.BOOLEAN),),
        returns=BOOLEAN,
        sql="",
        rewrite=lambda conditions: TypedNot(conditions[0]),
        sentence="True where the condition is false; the operator NOT with parentheses.",
        example=Example("NOT(1 > 2)", True),
    ),
    Function(
        name="ISNULL",
        parameters=(Parameter("value", ParameterKind.ANY),),
        returns=BOOLEAN,
        sql="",
        rewrite=lambda values: TypedNullCheck(values[0], False),
        sentence="True where the value is NULL, otherwise false.",
        example=Example("ISNULL(NULL)", True),
    ),
    Function(
        name="COALESCE",
        parameters=(Parameter("value", ParameterKind.ANY), Parameter("value", ParameterKind.ANY, is_repeated=True)),
        returns=_type_of_first,
        result="common type of the values",
        sql=lambda arguments: f"COALESCE({', '.join(argument.sql for argument in arguments)})",
        is_common=True,
        sentence="The first value that is not NULL.",
        example=Example("COALESCE(NULL, 3, 4)", 3),
    ),
    Function(
        name="NULLIF",
        parameters=(Parameter("value", ParameterKind.ANY), Parameter("other", ParameterKind.ANY)),
        returns=_type_of_first,
        result="type of the first value",
        sql="",
        is_common=True,
        sentence="NULL where both values are equal, otherwise the first.",
        example=Example('NULLIF("n/a", "n/a")', None),
    ),
)
