"""The root options: anywhere on the line, and the same for every command."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import typer

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


@dataclass(frozen=True, slots=True)
class RootOptions:
    """`workspace` is what the user named; None means the nearest one around the current folder."""

    workspace: Path | None = None
    is_debug: bool = False
    is_quiet: bool = False
    is_verbose: bool = False


def root_options(context: typer.Context) -> RootOptions:
    options = context.obj
    return options if isinstance(options, RootOptions) else RootOptions()
