"""`daybook parse`: the type and the SQL of one expression."""

from typing import TYPE_CHECKING, Annotated

import typer

from daybook.cli.parameters import AsJson
from daybook.cli.terminal import say, say_json

if TYPE_CHECKING:
    from daybook.errors import DaybookError


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
    from daybook.expression.columns import parse_columns
    from daybook.expression.compiling import compile_expression
    from daybook.expression.formatting import format_tree
    from daybook.expression.parsing import parse as parse_text
    from daybook.expression.scope import Constants, Grouping, Scope
    from daybook.model.period import Period

    known = parse_columns(columns)
    grouping = (
        None if group_by is None else Grouping(tuple(name.strip() for name in group_by.split(",") if name.strip()))
    )
    try:
        compiled = compile_expression(expression, Scope(known, {}), grouping=grouping)
    except DaybookError as error:
        raise_all(_told_of_columns(single) if not known else single for single in flatten(error))
        raise
    # Any moment will do: what is shown is the shape of the SQL.
    example = Period("2026-01", "month", date(2026, 1, 1), date(2026, 1, 31))
    sql = compiled.sql(Constants(datetime(2026, 1, 31, tzinfo=UTC), example))
    canonical = format_tree(parse_text(expression))
    uses = sorted(use.name for use in compiled.uses)
    if as_json:
        say_json({"expression": canonical, "type": str(compiled.type), "columns": uses, "sql": sql})
        return
    say(f"expression  {canonical}")
    say(f"type        {compiled.type}")
    say(f"columns     {', '.join(uses) or 'none'}")
    say(f"SQL         {sql}")


def _told_of_columns(error: "DaybookError") -> "DaybookError":
    """An unknown column where none were named: they can be."""
    from daybook.errors import DaybookError

    if error.code != "EXPR_012":
        return error
    name = error.parameters["name"]
    hint = f"name the columns and their types, as in --columns '{name} decimal(18,2)'"
    return DaybookError(error.code, span=error.span, hint=hint, name=name)
