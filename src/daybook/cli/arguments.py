"""What commands share: help texts, root options, arguments, and the workspace they use."""

import inspect
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperArgument, TyperCommand

from daybook.cli import completion

if TYPE_CHECKING:
    from daybook.workspace.open_workspace import OpenedWorkspace
    from daybook.workspace.spark_session import BackgroundSession


class CommandWithExamples(TyperCommand):
    """A command whose help ends with examples; `epilog` holds one a line."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        arguments = [parameter for parameter in self.get_params(ctx) if isinstance(parameter, TyperArgument)]
        return ["[OPTIONS]", *(_usage_name(argument) for argument in arguments)]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        arguments: list[tuple[str, str]] = []
        options: list[tuple[str, str]] = []
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is None:
                continue
            if isinstance(parameter, TyperArgument):
                arguments.append((parameter.display_name_raw, _choices_text(parameter) + record[1]))
            else:
                options.append(record)
        for title, records in (("Arguments", arguments), ("Options", options)):
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        if self.epilog:
            with formatter.section("Examples"):
                # A paragraph that begins with \b is not wrapped.
                formatter.write_text("\b\n" + self.epilog)


def add_command(app: typer.Typer, name: str, function: Callable[..., Any], *examples: str) -> None:
    """A command with its examples; the list of commands shows the first line of its docstring."""
    summary = inspect.cleandoc(function.__doc__ or "").partition("\n")[0].rstrip(".")
    app.command(name, cls=CommandWithExamples, short_help=summary, epilog="\n".join(examples))(function)


def _usage_name(argument: TyperArgument) -> str:
    name = argument.display_name_raw
    if argument.nargs != 1:
        name += "..."
    return name if argument.required else f"[{name}]"


def _choices_text(argument: TyperArgument) -> str:
    descriptor = argument.type_descriptor
    return f"{', '.join(map(str, descriptor.choices or ()))}. " if descriptor.is_choice else ""


_ROOT_FLAGS = frozenset({"--debug", "--quiet", "-q", "--verbose", "-v"})
_ROOT_OPTIONS_WITH_VALUE = frozenset({"--workspace", "-w"})


def move_root_options_first(arguments: Sequence[str]) -> list[str]:
    """The line with its root options in front; what follows `--` is left alone."""
    end = arguments.index("--") if "--" in arguments else len(arguments)
    root: list[str] = []
    others: list[str] = []
    words = iter(arguments[:end])
    for word in words:
        if word in _ROOT_FLAGS or word.startswith("--workspace="):
            root.append(word)
        elif word in _ROOT_OPTIONS_WITH_VALUE:
            root += [word, *_option_value(words)]
        else:
            others.append(word)
    return [*root, *others, *arguments[end:]]


def workspace_option(arguments: Sequence[str]) -> str | None:
    """The folder after `--workspace`, at any position of the command line."""
    for index, word in enumerate(arguments):
        if word.startswith("--workspace="):
            return word.partition("=")[2]
        if word in _ROOT_OPTIONS_WITH_VALUE and index + 1 < len(arguments):
            return arguments[index + 1]
    return None


def _option_value(words: Iterator[str]) -> list[str]:
    return [word] if (word := next(words, None)) is not None else []


def json_option(text: str) -> Any:
    """`--json`, with what it prints."""
    return typer.Option("--json", help=text)


def period_option(text: str) -> Any:
    """`--period`, with what it chooses."""
    return typer.Option("--period", "-p", metavar="PERIOD", help=text, autocompletion=completion.period_identifiers)


AsJson = Annotated[bool, json_option("The result as JSON.")]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="A value for a parameter of the project; may be repeated.",
        autocompletion=completion.parameter_names,
    ),
]
ProjectArgument = Annotated[
    str,
    typer.Argument(
        metavar="PROJECT", help="A project's id, or the file that defines it.", autocompletion=completion.project_ids
    ),
]


@dataclass(frozen=True, slots=True)
class RootOptions:
    """`workspace` is what the user named; None means the nearest one around the current folder."""

    workspace: Path | None = None
    is_debug: bool = False
    is_quiet: bool = False
    is_verbose: bool = False


def root_options(context: typer.Context) -> RootOptions:
    found = context.obj
    return found if isinstance(found, RootOptions) else RootOptions()


def open_workspace(context: typer.Context) -> "OpenedWorkspace":
    """The workspace of this call: the one named, or the nearest one from here upwards."""
    from daybook.workspace.open_workspace import open_workspace

    return open_workspace(root_options(context).workspace)


@contextmanager
def open_workspace_with_spark(context: typer.Context) -> "Iterator[OpenedWorkspace]":
    """The workspace of this call with a Spark session that starts when it is needed, and ends with the command."""
    from dataclasses import replace

    workspace = open_workspace(context)
    with workspace_session(context, workspace) as session:
        yield replace(workspace, session=session)


@contextmanager
def workspace_session(context: typer.Context, workspace: "OpenedWorkspace") -> "Iterator[BackgroundSession]":
    """The Spark session of this call: on the warm engine where one fits, else started when it is needed."""
    from daybook.cli.terminal import echo_note, is_attended
    from daybook.workspace.spark_session import background_session
    from daybook.workspace.warm_engine import engines_of

    is_verbose = root_options(context).is_verbose
    with background_session(
        workspace.settings.engine,
        show_log=is_verbose,
        engines=engines_of(workspace),
        on_note=echo_note if is_verbose else lambda text: None,
        may_start_engine=is_attended(),
    ) as session:
        yield session
