"""`daybook functions` and `parse`: the expression language."""

from typing import TYPE_CHECKING, Annotated

import typer

from daybook.cli import completion
from daybook.cli.arguments import (
    AsJson,
    json_option,
)
from daybook.cli.terminal import echo, echo_json, show_table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from daybook.errors import DaybookError
    from daybook.workspace.reference import FunctionEntry


def functions(
    name: Annotated[
        str | None,
        typer.Argument(metavar="NAME", help="One function; by default all.", autocompletion=completion.function_names),
    ] = None,
    as_json: Annotated[bool, json_option("The table as JSON.")] = False,
) -> None:
    """List the functions of the expression language."""
    from daybook.workspace.reference import list_functions

    listing = list_functions(name)
    if as_json:
        echo_json(listing)
        return
    if name is None:
        _show_families(listing)
        return
    (function,) = listing
    over = f"   over {', '.join(function.over)}" if function.over else ""
    echo(f"{function.signature} → {function.result}\n  {function.description}")
    echo(f"  {function.example} = {function.value}{over}")


def _show_families(functions: "Sequence[FunctionEntry]") -> None:
    from itertools import groupby

    for title, family in groupby(functions, key=lambda function: function.family):
        rows = [(function.signature, function.description) for function in family]
        show_table(("", ""), rows, fixed=(0,), heading=title)
        echo("")


def parse(
    expression: Annotated[
        str, typer.Argument(metavar="EXPRESSION", help="An expression of a selector or an assignment.")
    ],
    columns: Annotated[
        str, typer.Option(metavar="COLUMNS", help='Columns and their types: "amount decimal, status string".')
    ] = "",
    group_by: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMNS", help="Check it as an aggregation grouped by these columns, separated by commas."
        ),
    ] = None,
    named: Annotated[
        list[str] | None,
        typer.Option("--named", metavar="NAME=EXPRESSION", help="The expression named {{NAME}}; may be repeated."),
    ] = None,
    parameters: Annotated[
        str,
        typer.Option(
            metavar="PARAMETERS", help='Parameters and their types: "threshold decimal", used as param.threshold.'
        ),
    ] = "",
    as_json: AsJson = False,
) -> None:
    """Check an expression and show its type and its Spark SQL.

    Spark is not started. Windows are allowed, as in an assignment of an update.
    """
    from daybook.errors import DaybookError, flatten, raise_all
    from daybook.model.parameter import parse_settings
    from daybook.workspace.reference import check_expression

    groups = None if group_by is None else [name.strip() for name in group_by.split(",") if name.strip()]
    try:
        names = parse_settings(named or (), "NAME=EXPRESSION", option="--named")
        checked = check_expression(expression, columns=columns, group_by=groups, names=names, parameters=parameters)
    except DaybookError as error:
        raise_all(_with_columns_hint(single) if not columns.strip() else single for single in flatten(error))
        raise
    if as_json:
        echo_json(checked)
        return
    echo(f"expression  {checked.expression}")
    echo(f"type        {checked.type}")
    echo(f"columns     {', '.join(checked.columns) or 'none'}")
    echo(f"SQL         {checked.sql}")


def _with_columns_hint(error: "DaybookError") -> "DaybookError":
    """An unknown column where none were named: they can be."""
    from daybook.errors import DaybookError

    if error.code != "EXPR_012":
        return error
    name = error.parameters["name"]
    hint = f"name the columns and their types, as in --columns '{name} decimal(18,2)'"
    return DaybookError(error.code, span=error.span, hint=hint, name=name)
