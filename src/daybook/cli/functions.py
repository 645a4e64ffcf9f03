"""`daybook functions`: what can be called in an expression."""

from typing import TYPE_CHECKING, Annotated

import typer

from daybook.cli import completion
from daybook.cli.parameters import json_option
from daybook.cli.terminal import say, say_json, show_table

if TYPE_CHECKING:
    from daybook.expression.functions.declaration import Function


def functions(
    name: Annotated[
        str | None,
        typer.Argument(metavar="NAME", help="One function; otherwise all.", autocompletion=completion.functions),
    ] = None,
    as_json: Annotated[bool, json_option("The table as JSON.")] = False,
) -> None:
    """List the functions of the expression language."""
    from daybook.errors import DaybookError
    from daybook.expression.functions.table import FAMILIES, FUNCTIONS
    from daybook.expression.nearest import nearest
    from daybook.expression.reference import result_of, shown

    if name is not None and name.upper() not in FUNCTIONS:
        meant = nearest(name.upper(), FUNCTIONS)
        raise DaybookError("EXPR_014", hint=f"did you mean {meant}?" if meant else None, name=name)
    chosen = {
        title: [function for function in family if name is None or function.name == name.upper()]
        for title, family in FAMILIES.items()
    }
    if as_json:
        say_json(
            [
                {
                    "name": function.name,
                    "family": title,
                    "signature": function.signature,
                    "result": result_of(function),
                    "is_aggregate": function.is_aggregate,
                    "description": function.sentence,
                    "example": function.example.text,
                    "value": shown(function.example.value),
                }
                for title, family in chosen.items()
                for function in family
            ]
        )
        return
    if name is not None:
        (function,) = (each for family in chosen.values() for each in family)
        over = f"   over {', '.join(map(shown, function.example.rows))}" if function.example.rows else ""
        say(f"{function.signature} → {result_of(function)}\n  {function.sentence}")
        say(f"  {function.example.text} = {shown(function.example.value)}{over}")
        return
    _show_table(chosen)


def _show_table(chosen: "dict[str, list[Function]]") -> None:
    from rich.table import Table
    from rich.text import Text

    for title, family in chosen.items():
        table = Table(title=title, title_justify="left", box=None, pad_edge=False, show_header=False)
        table.add_column(no_wrap=True)
        table.add_column()
        for function in family:
            table.add_row(Text(function.signature), Text(function.sentence))
        show_table(table)
        say("")
