"""Reads the cases of tests/golden/loader."""

import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent / "loader"

_PROJECT = "project:\n  name: Golden\n  input: {dataset_id: orders}\n  operations:\n"
_MARK = re.compile(r"⟦(\w+)⟧")


@dataclass(frozen=True, slots=True)
class Case:
    """`expected` holds code, line and column of every finding, in the order of the text."""

    title: str
    file: str
    text: str
    expected: tuple[tuple[str, int, int], ...]


def cases() -> Iterator[Case]:
    for path in sorted(FOLDER.glob("*.txt")):
        for block in path.read_text(encoding="utf-8").split("=== ")[1:]:
            title, _, text = block.partition("\n")
            title, _, file = title.partition(" @file ")
            if title.endswith(" @operations"):
                text = _PROJECT + textwrap.indent(text, "    ")
            yield _case(f"{path.stem}: {title}", file or "case.yaml", text)


def _case(title: str, file: str, marked: str) -> Case:
    expected: list[tuple[str, int, int]] = []
    text = ""
    position = 0
    for mark in _MARK.finditer(marked):
        text += marked[position : mark.start()]
        position = mark.end()
        expected.append((mark[1], text.count("\n") + 1, len(text) - (text.rfind("\n") + 1) + 1))
    return Case(title, file, text + marked[position:], tuple(expected))
