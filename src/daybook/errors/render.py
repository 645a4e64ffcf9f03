"""Renders errors and notices as JSON, and that JSON as one short block of text: code, message, span, hint.

The JSON is what machines read and what is kept with the run that an error ended; the text is always made of it, so
that an error reads the same when it happens and when it is looked up. In all text for people, characters that steer a
terminal or hide text are written as escapes.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any
from unicodedata import category

from daybook.errors.error import DaybookError, Notice, Span, flatten

_EXCERPT_WIDTH = 110

FindingJson = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong: where, and the way out; `excerpt` is its line with a caret below."""

    code: str
    message: str
    place: str | None = None
    file: str | None = None
    line: int | None = None
    column: int | None = None
    excerpt: list[str] | None = None
    used_as: str | None = None
    hint: str | None = None
    operation_seq: int | None = None
    causes: list[dict[str, Any]] = field(default_factory=list)


def render(error: DaybookError) -> str:
    """One block per finding, a blank line between blocks."""
    return "\n\n".join(render_finding(error_to_json(single)) for single in flatten(error))


def render_notice(notice: Notice) -> str:
    return render_finding(error_to_json(notice))


def error_to_json(error: DaybookError | Notice) -> dict[str, Any]:
    """One error with its causes."""
    return asdict(_finding(error))


def findings_of(errors: Iterable[DaybookError]) -> list[Finding]:
    """Every single finding of several errors."""
    return [_finding(single) for error in errors for single in flatten(error)]


def _finding(error: DaybookError | Notice) -> Finding:
    span = error.span
    causes = error.causes if isinstance(error, DaybookError) else ()
    return Finding(
        code=error.code,
        message=error.message,
        place=str(span) if span else None,
        file=span.file if span else None,
        line=span.line if span else None,
        column=span.column if span else None,
        excerpt=_excerpt_lines(span) if span else None,
        used_as=error.used_as if isinstance(error, DaybookError) else None,
        hint=error.hint,
        operation_seq=error.operation_seq,
        causes=[error_to_json(cause) for cause in causes],
    )


def error_to_record(error: DaybookError) -> dict[str, Any]:
    """The first finding, with all others below `others`."""
    first, *others = (error_to_json(single) for single in flatten(error))
    return {**first, "others": others} if others else first


def findings_of_record(kept: FindingJson) -> list[dict[str, Any]]:
    """Every finding of what was kept, each with all keys of `error_to_json`, also where less is known."""
    nothing = {name: value for name, value in asdict(Finding("", "")).items() if name not in ("code", "message")}
    first = {key: value for key, value in kept.items() if key != "others"}
    return [{**nothing, **single} for single in (first, *kept.get("others", ()))]


def render_finding(finding: FindingJson) -> str:
    """A finding as one short block of text that steers no terminal."""
    return printable("\n".join(_finding_lines(finding, shown_hint=None, with_position=True)))


def _finding_lines(finding: FindingJson, *, shown_hint: str | None, with_position: bool) -> Iterator[str]:
    """A cause that says the same in the same words is not said again, nor is a hint that both have."""
    yield f"[{finding['code']}] {_indented(finding['message'])}"
    hint = finding.get("hint")
    causes = list(_distinct_causes(finding))
    repeating = (cause for cause in finding.get("causes", ()) if cause not in causes)
    position = next(filter(None, map(_position_lines, (finding, *repeating))), [])
    if with_position:
        yield from position
    for cause in causes:
        first, *rest = _finding_lines(
            cause, shown_hint=finding.get("hint"), with_position=with_position and not position
        )
        yield f"  because {first}"
        yield from (f"  {line}" for line in rest)
    if hint and hint != shown_hint:
        yield f"  hint: {_indented(hint)}"


def _indented(text: str) -> str:
    """Further lines of a text are indented below its first, so that data cannot imitate another error."""
    return text.replace("\n", "\n    ")


def _distinct_causes(finding: FindingJson) -> Iterator[FindingJson]:
    """The causes, those that only repeat the finding's sentence replaced by their own."""
    for cause in finding.get("causes", ()):
        if cause["message"] == finding["message"]:
            yield from _distinct_causes(cause)
        else:
            yield cause


def _position_lines(finding: FindingJson) -> list[str]:
    """The position of the error; older records have no excerpt."""
    where = [f"  at {finding['place']}"] if finding.get("file") else []
    used = [f"  used as {finding['used_as']}"] if finding.get("used_as") else []
    return [*where, *(f"    {line}" for line in finding.get("excerpt") or ()), *used]


def _excerpt_lines(span: Span) -> list[str]:
    """The line a span begins on and a caret under it; long lines are cut around the caret."""
    line_start = span.text.rfind("\n", 0, span.start) + 1
    line_end = span.text.find("\n", span.start)
    line = span.text[line_start:] if line_end < 0 else span.text[line_start:line_end]
    offset = span.start - line_start
    width = max(1, min(span.end, line_start + len(line)) - span.start)
    if len(line) > _EXCERPT_WIDTH:
        cut = max(0, min(offset - _EXCERPT_WIDTH // 3, len(line) - _EXCERPT_WIDTH))
        line, offset = line[cut : cut + _EXCERPT_WIDTH], offset - cut
        width = max(1, min(width, _EXCERPT_WIDTH - offset))
    # A blank for every other character, so that the caret is below its character.
    shown = "".join(character if character.isprintable() else " " for character in line)
    return [shown, f"{' ' * offset}{'^' * width}"]


# Controls, formats such as changes of direction, halves of characters, and separators of lines and paragraphs.
_ESCAPED_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
# Joiners belong to the spelling of words in several languages.
_KEPT = frozenset("\n\t\u200c\u200d")
_BLANKS = re.compile(r"[\n\r\t]+")


# Of ASCII texts: control characters but for tabs and line ends.
_ASCII_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")


def printable(text: str) -> str:
    """The text on its lines, without characters that a terminal would obey."""
    if text.isascii() and not _ASCII_CONTROLS.search(text):
        return text
    return "".join(_escape(character) if _is_escaped(character) else character for character in text)


def one_line(text: str) -> str:
    """The text on one line."""
    return printable(_BLANKS.sub(" ", text))


def escape_json(text: str) -> str:
    """JSON text whose strings have escapes for the same characters; it means what it meant."""
    if text.isascii():
        return text.replace("\x7f", "\\u007f")
    return "".join(_json_escape(character) if _is_escaped(character) else character for character in text)


def _is_escaped(character: str) -> bool:
    return category(character) in _ESCAPED_CATEGORIES and character not in _KEPT


def _escape(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")


def _json_escape(character: str) -> str:
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[index] << 8 | units[index + 1]:04x}" for index in range(0, len(units), 2))
