"""The page of all commands, from the command line itself."""

import inspect
from collections.abc import Iterator
from typing import Any

import typer
from typer.core import TyperArgument, TyperGroup

from daybook.cli.app import app
from tools.reference.markdown import page, table

_HEAD = """# Commands

`daybook COMMAND --help` shows the same help. A typo in a command, an option, a project, a period or a column is
answered with the nearest name that exists."""

_TAIL = """## What all commands share

- **Results** go to standard output, everything else (progress, warnings, errors, advice) to standard error. Colours and
  the line of progress are for terminals only; a pipe or a file gets plain text without wrapped lines.
- **`--json`** prints the result as one JSON document. Wrong input gives `{"errors": [...]}` instead, with the same exit
  code. `run` prints a list of runs, in order; a failed run is the last one and has its `errors`.
- **`--quiet`** shows only results and errors, **`--verbose`** adds Spark's own log, **`--debug`** the traceback
  of an error.
- **The workspace** is the nearest folder with a `daybook.yaml` in this folder or above, or `--workspace FOLDER`.
- **Ctrl-C** asks the run to stop: it cancels its Spark jobs, writes nothing incomplete, and can be continued with
  `daybook retry`. A second Ctrl-C ends it at once; `daybook doctor --fix` then removes what is left.

## Exit codes

| code | meaning |
|---|---|
| 0 | done |
| 1 | a run failed or was cancelled, a test or a check failed |
| 2 | the input is wrong: an argument, a definition, a period, a project that may not run |
| 3 | an internal error of Daybook; `--debug` shows more |
| 130 | stopped by Ctrl-C, with no run to cancel |

## Shell completion

`daybook --install-completion` sets it up for bash, zsh, fish and PowerShell; `daybook --show-completion` prints the
script instead. Commands, options, kinds, ids, projects, periods, calendars, runs, their operations, functions and codes
are completed."""


def commands_page() -> str:
    return page(_lines())


def _lines() -> Iterator[str]:
    root = typer.main.get_command(app)
    context = typer.Context(root, info_name="daybook")
    yield f"{_HEAD}\n"
    yield from table(("command", "does"), _overview(root, context, "daybook"))
    yield "## Options of every command\n"
    yield from _options(root, context)
    yield "They may stand before or after the command.\n"
    yield f"{_TAIL}\n"
    for name, command in _commands(root):
        yield from _section(name, command, context)


def _commands(group: Any) -> Iterator[tuple[str, Any]]:
    """Every command by its full name, groups before what is in them."""
    for name, command in group.commands.items():
        yield name, command
        if isinstance(command, TyperGroup):
            for inner, each in command.commands.items():
                yield f"{name} {inner}", each


def _overview(root: Any, context: typer.Context, program: str) -> Iterator[tuple[str, str]]:
    for name, command in _commands(root):
        anchor = f"{program} {name}".replace(" ", "-")
        yield f"[`{program} {name}`](#{anchor})", command.get_short_help_str(limit=200).rstrip(".")


def _section(name: str, command: Any, parent: typer.Context) -> Iterator[str]:
    context = typer.Context(command, info_name=name, parent=parent)
    yield f"## daybook {name}\n"
    yield f"{inspect.cleandoc(command.help or '')}\n"
    yield f"```\n{command.get_usage(context).removeprefix('Usage: ')}\n```\n"
    arguments = [each for each in command.get_params(context) if isinstance(each, TyperArgument)]
    if arguments:
        yield from table(("argument", "meaning"), [_argument(each, context) for each in arguments])
    yield from _options(command, context)
    if command.epilog:
        examples = inspect.cleandoc(command.epilog.replace("\b\nExamples:\n", "").replace("\b\n", ""))
        yield f"```sh\n{examples}\n```\n"


def _argument(argument: TyperArgument, context: typer.Context) -> tuple[str, str]:
    choices = argument.type_descriptor.choices if argument.type_descriptor.is_choice else None
    listed = f" One of {', '.join(f'`{choice}`' for choice in choices)}." if choices else ""
    record = argument.get_help_record(context)
    return f"`{argument.display_name_raw}`", _plain(record[1] if record else "") + listed


def _options(command: Any, context: typer.Context) -> Iterator[str]:
    rows = [
        (f"`{record[0]}`", _plain(record[1]))
        for each in command.get_params(context)
        if not isinstance(each, TyperArgument) and (record := each.get_help_record(context)) is not None
        if each.name != "help"
    ]
    if rows:
        yield from table(("option", "meaning"), rows)


def _plain(text: str) -> str:
    """`[required]` and the like as words."""
    return text.replace("  [", " [").replace("<", "&lt;")
