"""The options of every command may stand before or after its name."""

from collections.abc import Iterator, Sequence

_FLAGS = frozenset({"--debug", "--quiet", "-q", "--verbose", "-v"})
_WITH_VALUE = frozenset({"--workspace", "-w"})


def root_options_first(arguments: Sequence[str]) -> list[str]:
    """The line with its root options in front; what follows `--` is left alone."""
    end = arguments.index("--") if "--" in arguments else len(arguments)
    root: list[str] = []
    others: list[str] = []
    words = iter(arguments[:end])
    for word in words:
        if word in _FLAGS or word.startswith("--workspace="):
            root.append(word)
        elif word in _WITH_VALUE:
            root += [word, *_next(words)]
        else:
            others.append(word)
    return [*root, *others, *arguments[end:]]


def named_workspace(arguments: Sequence[str]) -> str | None:
    """The folder that `--workspace` names on a line, wherever it stands."""
    for index, word in enumerate(arguments):
        if word.startswith("--workspace="):
            return word.partition("=")[2]
        if word in _WITH_VALUE and index + 1 < len(arguments):
            return arguments[index + 1]
    return None


def _next(words: Iterator[str]) -> list[str]:
    return [word] if (word := next(words, None)) is not None else []
