"""Commands whose help has examples."""

import inspect
from collections.abc import Callable
from typing import Any

import typer
from typer.core import TyperArgument, TyperCommand


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
