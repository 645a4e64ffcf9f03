"""Arguments and options that several commands have."""

from typing import Annotated, Any

import typer

from daybook.cli import completion


def json_option(text: str) -> Any:
    """`--json`, with what it prints."""
    return typer.Option("--json", help=text)


def period_option(text: str) -> Any:
    """`--period`, with what it chooses."""
    return typer.Option("--period", "-p", metavar="PERIOD", help=text, autocompletion=completion.periods)


AsJson = Annotated[bool, json_option("The result as JSON.")]
ProjectArgument = Annotated[
    str,
    typer.Argument(
        metavar="PROJECT", help="A project's id, or the file that defines it.", autocompletion=completion.projects
    ),
]
