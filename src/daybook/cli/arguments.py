"""Arguments and options that several commands have, with their help texts."""

from typing import Annotated, Any

import typer

from daybook.cli.completion import parameter_names, period_identifiers, project_ids, run_ids


def json_option(text: str) -> Any:
    """`--json`, with what it prints."""
    return typer.Option("--json", help=text)


def period_option(text: str) -> Any:
    """`--period`, with what it chooses."""
    return typer.Option("--period", "-p", metavar="PERIOD", help=text, autocompletion=period_identifiers)


AsJson = Annotated[bool, json_option("The result as JSON.")]
ReasonOption = Annotated[
    str | None, typer.Option("--reason", metavar="TEXT", help="The reason; it is recorded permanently.")
]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="A value for a parameter of the project; may be repeated.",
        autocompletion=parameter_names,
    ),
]

CompletedRunArgument = Annotated[
    str,
    typer.Argument(
        metavar="RUN",
        help="The id of a run, or PROJECT@PERIOD for its last completed one.",
        autocompletion=run_ids("completed"),
    ),
]

ProjectArgument = Annotated[
    str,
    typer.Argument(metavar="PROJECT", help="A project's id, or the file that defines it.", autocompletion=project_ids),
]
