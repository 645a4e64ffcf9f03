"""The tutorial as a program: its files, its changes and its commands, in order."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

_FENCE = re.compile(r'^```(\w+)(?: title="([^"]+)")?\n(.*?)^```$', re.MULTILINE | re.DOTALL)
_COMMAND = re.compile(r"\$ (?P<words>.*?)(?:\s+# exit code (?P<code>\d+))?$")
_RUN_ID = re.compile(r"\d{8}-\d{6}-[0-9a-f]{6}")
_SECONDS = re.compile(r"\d+\.\d s\b")
_ANYTHING = "..."


@dataclass(frozen=True, slots=True)
class File:
    path: str
    text: str


@dataclass(frozen=True, slots=True)
class Change:
    path: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Command:
    """`expected` are lines in order; a line or its end may be left open by three dots."""

    words: str
    exit_code: int
    expected: tuple[str, ...]


Step: TypeAlias = File | Change | Command


def steps(page: str) -> list[Step]:
    found: list[Step] = []
    for kind, path, text in _FENCE.findall(page):
        if kind == "console":
            found += _commands(text)
        elif kind == "diff":
            lines = text.splitlines()
            before = "\n".join(line[1:] for line in lines if line[:1] in "- ")
            after = "\n".join(line[1:] for line in lines if line[:1] in "+ ")
            found.append(Change(path, before, after))
        elif path:
            found.append(File(path, text))
    return found


def _commands(text: str) -> list[Command]:
    found: list[tuple[re.Match[str], list[str]]] = []
    for line in text.splitlines():
        if (command := _COMMAND.match(line)) is not None:
            found.append((command, []))
        else:
            found[-1][1].append(line)
    return [Command(match["words"], int(match["code"] or 0), tuple(lines)) for match, lines in found]


class Ids:
    """The ids of runs on the page and those of this execution."""

    def __init__(self) -> None:
        self._actual: dict[str, str] = {}

    def in_command(self, words: str) -> str:
        return _RUN_ID.sub(lambda match: self._actual[match[0]], words)

    def differences(self, expected: tuple[str, ...], shown: str) -> str | None:
        """What of the expected lines is not there, in order; ids seen for the first time are learnt."""
        lines = [_squeezed(line) for line in shown.splitlines()]
        position = 0
        is_open = True
        for wanted in (_squeezed(line) for line in expected):
            if wanted == _ANYTHING:
                is_open = True
                continue
            if not wanted:
                continue
            while position < len(lines) and not self._is_shown(wanted, lines[position]):
                if lines[position] and not is_open:
                    return f"expected {wanted!r}, shown was {lines[position]!r}"
                position += 1
            if position == len(lines):
                return f"{wanted!r} is missing"
            position, is_open = position + 1, False
        return None

    def _is_shown(self, wanted: str, line: str) -> bool:
        wanted = _SECONDS.sub("0.0 s", wanted)
        line = _SECONDS.sub("0.0 s", line)
        page_ids, ids = _RUN_ID.findall(wanted), _RUN_ID.findall(line)
        if len(page_ids) != len(ids):
            return False
        if any(self._actual.get(page_id, id_) != id_ for page_id, id_ in zip(page_ids, ids, strict=True)):
            return False
        wanted, line = _RUN_ID.sub("RUN", wanted), _RUN_ID.sub("RUN", line)
        is_same = line.startswith(wanted[:-3].rstrip()) if wanted.endswith(_ANYTHING) else line == wanted
        if is_same:
            self._actual |= dict(zip(page_ids, ids, strict=True))
        return is_same


def apply(step: File | Change, folder: Path) -> None:
    path = folder / step.path
    match step:
        case File():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(step.text, encoding="utf-8")
        case Change():
            text = path.read_text(encoding="utf-8")
            assert text.count(step.before) == 1, f"{step.before!r} is not once in {step.path}"
            path.write_text(text.replace(step.before, step.after), encoding="utf-8")


def _squeezed(line: str) -> str:
    """Columns of tables are as wide as what is in them, so blanks do not count."""
    return " ".join(line.split())
