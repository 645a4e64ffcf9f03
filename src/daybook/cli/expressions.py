"""`daybook functions`: what can be called in an expression.

`daybook parse`: the type and the SQL of one expression.
"""

from typing import TYPE_CHECKING, Annotated

import typer

from daybook.cli import completion
from daybook.cli.arguments import AsJson, json_option
from daybook.cli.terminal import echo, echo_json, show_table

if TYPE_CHECKING:
    from daybook.errors import DaybookError
    from daybook.expression.functions.declaration import Function


def functions(
    name: Annotated[
        str | None,
        typer.Argument(metavar="NAME", help="One function; otherwise all.", autocompletion=completion.function_names),
    ] = None,
    as_json: Annotated[bool, json_option("The table as JSON.")] = False,
) -> None:
    """List the functions of the expression language."""
    from daybook.errors import DaybookError
    from daybook.errors.suggestion import closest_match
    from daybook.expression.functions.reference import describe_result, format_value
    from daybook.expression.functions.table import FUNCTION_FAMILIES, FUNCTIONS

    if name is not None and name.upper() not in FUNCTIONS:
        meant = closest_match(name.upper(), FUNCTIONS)
        raise DaybookError("EXPR_014", hint=f"did you mean {meant}?" if meant else None, name=name)
    chosen = {
        title: [function for function in family if name is None or function.name == name.upper()]
        for title, family in FUNCTION_FAMILIES.items()
    }
    if as_json:
        echo_json(
            [
                {
                    "name": function.name,
                    "family": title,
                    "signature": function.signature,
                    "result": describe_result(function),
                    "is_aggregate": function.is_aggregate,
                    "description": function.sentence,
                    "example": function.example.text,
                    "value": format_value(function.example.value),
                }
                for title, family in chosen.items()
                for function in family
            ]
        )
        return
    if name is not None:
        (function,) = (each for family in chosen.values() for each in family)
        over = f"   over {', '.join(map(format_value, function.example.rows))}" if function.example.rows else ""
        echo(f"{function.signature} → {describe_result(function)}\n  {function.sentence}")
        echo(f"  {function.example.text} = {format_value(function.example.value)}{over}")
        return
    _show_families(chosen)


def _show_families(chosen: "dict[str, list[Function]]") -> None:
    from rich.table import Table
    from rich.text import Text

    for title, family in chosen.items():
        table = Table(title=title, title_justify="left", box=None, pad_edge=False, show_header=False)
        table.add_column(no_wrap=True)
        table.add_column()
        for function in family:
            table.add_row(Text(function.signature), Text(function.sentence))
        show_table(table)
        echo("")


def parse(
    expression: Annotated[
        str, typer.Argument(metavar="EXPRESSION", help="What stands in a selector or an assignment.")
    ],
    columns: Annotated[
        str, typer.Option(metavar="COLUMNS", help='With their types: "amount decimal, status string".')
    ] = "",
    group_by: Annotated[
        str | None, typer.Option(metavar="COLUMNS", help="Read it as an aggregation by these, separated by commas.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Check an expression and show its type and its Spark SQL.

    Spark is not started.
    """
    from datetime import UTC, date, datetime

    from daybook.errors import DaybookError, flatten, raise_all
    from daybook.expression.compiler import compile_expression
    from daybook.expression.parser import parse_expression as parse_text
    from daybook.expression.scope import Constants, Grouping, Scope
    from daybook.expression.syntax_tree import format_tree
    from daybook.model.period import Period
    from daybook.model.types import parse_columns

    known = parse_columns(columns)
    grouping = (
        None if group_by is None else Grouping(tuple(name.strip() for name in group_by.split(",") if name.strip()))
    )
    try:
        compiled = compile_expression(expression, Scope(known, {}), grouping=grouping)
    except DaybookError as error:
        raise_all(_with_columns_hint(single) if not known else single for single in flatten(error))
        raise
    # Any moment will do: what is shown is the shape of the SQL.
    example = Period("2026-01", "month", date(2026, 1, 1), date(2026, 1, 31))
    sql = compiled.sql(Constants(datetime(2026, 1, 31, tzinfo=UTC), example))
    canonical = format_tree(parse_text(expression))
    uses = sorted(use.name for use in compiled.uses)
    if as_json:
        echo_json({"expression": canonical, "type": str(compiled.type), "columns": uses, "sql": sql})
        return
    echo(f"expression  {canonical}")
    echo(f"type        {compiled.type}")
    echo(f"columns     {', '.join(uses) or 'none'}")
    echo(f"SQL         {sql}")


def _with_columns_hint(error: "DaybookError") -> "DaybookError":
    """An unknown column where none were named: they can be."""
    from daybook.errors import DaybookError

    if error.code != "EXPR_012":
        return error
    name = error.parameters["name"]
    hint = f"name the columns and their types, as in --columns '{name} decimal(18,2)'"
    return DaybookError(error.code, span=error.span, hint=hint, name=name)
