"""Markdown from data."""

from collections.abc import Iterable, Iterator, Sequence


def cell(text: str) -> str:
    """Text that does not break its table."""
    return " ".join(text.split()).replace("|", "\\|")


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(header)} |"
    yield "|" + "---|" * len(header)
    for row in rows:
        yield f"| {' | '.join(cell(value) for value in row)} |"
    yield ""


def page(lines: Iterable[str]) -> str:
    return "\n".join(lines).rstrip() + "\n"
