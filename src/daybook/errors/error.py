"""The root class of all errors of users, spans in texts, and the closest match of a name."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from daybook.errors.codes import CODES


@dataclass(frozen=True, slots=True)
class Span:
    """Characters `start` to `end` of `text`, which begins at `line`, `column` of `file`.

    `text` is what is shown to the user with a caret: an expression, or a whole file. `positions` says line and column
    of every character where they do not follow from the beginning: escapes, folded and indented lines. `used_for` is
    what the text stands for there: an element of `for_each`, or an alias.
    """

    text: str
    start: int
    end: int
    file: str | None = None
    base_line: int = 1
    base_column: int = 1
    positions: tuple[tuple[int, int], ...] | None = None
    used_for: str | None = None

    @property
    def line(self) -> int:
        if self.positions:
            return self.positions[min(self.start, len(self.positions) - 1)][0]
        return self.base_line + self.text.count("\n", 0, self.start)

    @property
    def column(self) -> int:
        if self.positions:
            return self.positions[min(self.start, len(self.positions) - 1)][1]
        line_start = self.text.rfind("\n", 0, self.start) + 1
        offset = self.start - line_start
        return offset + (self.base_column if line_start == 0 else 1)

    def within(self, start: int, end: int) -> "Span":
        """The part `start` to `end` of the text this span points at."""
        return replace(self, start=self.start + start, end=self.start + end)

    def __str__(self) -> str:
        position = f"{self.line}:{self.column}"
        place = f"{self.file}:{position}" if self.file else position
        return f"{place} ({self.used_for})" if self.used_for else place


# What a message shows of one value, and of a list that a user has to see as a whole.
_MAX_VALUE, _MAX_LIST = 1_000, 10_000
_LISTS = frozenset(
    {"answers", "columns", "datasets", "difference", "expected", "files", "ids", "keys", "known", "locations"}
    | {"makers", "missing", "names", "operations", "reasons", "settings", "slices", "summary", "tables", "versions"}
)


def _shown(parameters: Mapping[str, object]) -> dict[str, object]:
    """The parameters as messages show them: a value of kilobytes is cut."""
    return {
        name: shorten(value, _MAX_LIST if name in _LISTS else _MAX_VALUE) if isinstance(value, str) else value
        for name, value in parameters.items()
    }


def shorten(text: str, limit: int) -> str:
    """The beginning of a text that is longer than a limit, and how long it is."""
    return text if len(text) <= limit else f"{text[: limit - 100]}… ({len(text):,} characters)"


class DaybookError(Exception):
    """One error: what is wrong, where, and a hint.

    `message` comes from the code's template and `parameters`; tests assert on `code`
    and `parameters`, never on prose. Without a hint of its own, that of its only cause is the way out.
    `used_as` is the named expression whose text `span` points into, and where the name is used.
    """

    def __init__(
        self,
        code: str,
        *,
        span: Span | None = None,
        hint: str | None = None,
        operation_seq: int | None = None,
        causes: Iterable["DaybookError"] = (),
        used_as: str | None = None,
        **parameters: object,
    ) -> None:
        entry = CODES[code]
        self.code = code
        self.parameters: Mapping[str, object] = parameters
        shown = _shown(parameters)
        self.message = entry.message.format(**shown)
        self.span = span
        self.operation_seq = operation_seq
        self.causes: tuple[DaybookError, ...] = tuple(causes)
        self.used_as = used_as
        own = shorten(hint, _MAX_LIST) if hint is not None else entry.format_hint(shown)
        self.hint: str | None = self.causes[0].hint if own is None and len(self.causes) == 1 else own
        super().__init__(f"[{code}] {self.message}")

    def _render_traceback_(self) -> list[str]:
        """What a notebook shows instead of a traceback: the block that the command line shows."""
        from daybook.errors.render import render

        return render(self).split("\n")


class DaybookErrors(DaybookError):
    """Several findings of one check, reported together; never empty."""

    def __init__(self, errors: Iterable[DaybookError]) -> None:
        self.errors = tuple(errors)
        first = self.errors[0]
        self.code = first.code
        self.parameters = first.parameters
        self.message = first.message
        self.hint = first.hint
        self.span = first.span
        self.operation_seq = first.operation_seq
        self.causes = first.causes
        self.used_as = first.used_as
        Exception.__init__(self, "\n".join(str(error) for error in self.errors))


@dataclass(frozen=True, slots=True)
class Notice:
    """A warning: something a user should know that does not stop anything."""

    code: str
    message: str
    hint: str | None = None
    span: Span | None = None
    operation_seq: int | None = None


def notice(
    code: str,
    *,
    span: Span | None = None,
    hint: str | None = None,
    operation_seq: int | None = None,
    **parameters: object,
) -> Notice:
    """A notice worded by its code's template, like an error."""
    entry = CODES[code]
    shown = _shown(parameters)
    message = entry.message.format(**shown)
    shown_hint = shorten(hint, _MAX_LIST) if hint is not None else entry.format_hint(shown)
    return Notice(code, message, shown_hint, span, operation_seq)


def flatten(error: DaybookError) -> tuple[DaybookError, ...]:
    """The single findings of an error."""
    return error.errors if isinstance(error, DaybookErrors) else (error,)


def raise_all(errors: Iterable[DaybookError]) -> None:
    """Raise what was collected, if anything was."""
    findings = tuple(single for error in errors for single in flatten(error))
    if len(findings) == 1:
        raise findings[0]
    if findings:
        raise DaybookErrors(findings)


# Of longer names no more letters may differ than of these.
_LONGEST = 30


def closest_match(name: str, candidates: Iterable[str]) -> str | None:
    """The candidate with the fewest edits from a mistyped name, in any case; at most a third of the letters may differ.

    Of equally close ones it is the first in order.
    """
    best: tuple[int, str] | None = None
    for candidate in sorted(set(candidates)):
        allowed = max(1, min(max(len(name), len(candidate)), _LONGEST) // 3)
        if abs(len(candidate) - len(name)) <= allowed:
            edits = _edit_distance(name.casefold(), candidate.casefold())
            if edits <= allowed and (best is None or edits < best[0]):
                best = (edits, candidate)
    return best[1] if best else None


def did_you_mean(name: str, candidates: Iterable[str]) -> str | None:
    """A hint, or the list of candidates when it is short and nothing is close."""
    names = sorted(candidates)
    if nearest := closest_match(name, names):
        return f"did you mean {nearest}?"
    return f"known: {', '.join(names)}" if 0 < len(names) <= 12 else None


def _edit_distance(left: str, right: str) -> int:
    """Insertions, deletions, substitutions and swaps of neighbours that turn one text into the other."""
    before: list[int] = []
    previous = list(range(len(right) + 1))
    for row, letter in enumerate(left, start=1):
        current = [row]
        for column, other in enumerate(right, start=1):
            cost = min(previous[column] + 1, current[-1] + 1, previous[column - 1] + (letter != other))
            if row > 1 and column > 1 and letter == right[column - 2] and left[row - 2] == other:
                cost = min(cost, before[column - 2] + 1)
            current.append(cost)
        before, previous = previous, current
    return previous[-1]
