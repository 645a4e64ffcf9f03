"""Where something stands in a text."""

from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Span:
    """Characters `start` to `end` of `text`, which begins at `line`, `column` of `file`.

    `text` is what is shown to the user with a caret: an expression, or a whole file. `places` says line and column
    of every character where they do not follow from the beginning: escapes, folded and indented lines.
    """

    text: str
    start: int
    end: int
    file: str | None = None
    base_line: int = 1
    base_column: int = 1
    places: tuple[tuple[int, int], ...] | None = None

    @property
    def line(self) -> int:
        if self.places:
            return self.places[min(self.start, len(self.places) - 1)][0]
        return self.base_line + self.text.count("\n", 0, self.start)

    @property
    def column(self) -> int:
        if self.places:
            return self.places[min(self.start, len(self.places) - 1)][1]
        line_start = self.text.rfind("\n", 0, self.start) + 1
        offset = self.start - line_start
        return offset + (self.base_column if line_start == 0 else 1)

    def within(self, start: int, end: int) -> "Span":
        """The part `start` to `end` of the text this span points at."""
        return replace(self, start=self.start + start, end=self.start + end)

    def __str__(self) -> str:
        place = f"{self.line}:{self.column}"
        return f"{self.file}:{place}" if self.file else place
