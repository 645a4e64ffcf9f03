"""An error as one short block of text: code, what, where, how to fix.

Errors as JSON: for machines that read them, and to be kept with the run they ended.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from daybook.errors.error import DaybookError, Notice, Span, flatten

_EXCERPT_WIDTH = 110


def render(error: DaybookError) -> str:
    """One block per finding, a blank line between blocks."""
    return "\n\n".join("\n".join(_error_lines(single, shown_hint=None, with_place=True)) for single in flatten(error))


def render_all(errors: tuple[DaybookError, ...]) -> str:
    return "\n\n".join(render(error) for error in errors)


def render_notice(notice: Notice) -> str:
    return "\n".join([f"[{notice.code}] {notice.message}", *_span_lines(notice.span), *_hint_lines(notice.hint)])


def _error_lines(error: DaybookError, *, shown_hint: str | None, with_place: bool) -> list[str]:
    """A cause that says the same in the same words is not said again, nor is a hint that both have."""
    causes = _error_causes(error)
    span = error.span or next((cause.span for cause in error.causes if cause not in causes), None)
    lines = [f"[{error.code}] {error.message}", *(_span_lines(span) if with_place else ())]
    for cause in causes:
        first, *rest = _error_lines(cause, shown_hint=error.hint, with_place=with_place and span is None)
        lines += [f"  because {first}", *(f"  {line}" for line in rest)]
    return lines + (_hint_lines(error.hint) if error.hint != shown_hint else [])


def _error_causes(error: DaybookError) -> list[DaybookError]:
    """The causes, those that only repeat the error's sentence replaced by their own."""
    found: list[DaybookError] = []
    for cause in error.causes:
        found += [cause] if cause.message != error.message else _error_causes(cause)
    return found


def _hint_lines(hint: str | None) -> list[str]:
    return [f"  hint: {hint}"] if hint else []


def _span_lines(span: Span | None) -> list[str]:
    return _excerpt_lines(span) if span is not None else []


def _excerpt_lines(span: Span) -> list[str]:
    """The place, the line it stands on and a caret under it; long lines are cut around the caret."""
    line_start = span.text.rfind("\n", 0, span.start) + 1
    line_end = span.text.find("\n", span.start)
    line = span.text[line_start:] if line_end < 0 else span.text[line_start:line_end]
    offset = span.start - line_start
    width = max(1, min(span.end, line_start + len(line)) - span.start)
    if len(line) > _EXCERPT_WIDTH:
        cut = max(0, min(offset - _EXCERPT_WIDTH // 3, len(line) - _EXCERPT_WIDTH))
        line, offset = line[cut : cut + _EXCERPT_WIDTH], offset - cut
        width = max(1, min(width, _EXCERPT_WIDTH - offset))
    printable = "".join(character if character.isprintable() else " " for character in line)
    place = [f"  at {span}"] if span.file else []
    return [*place, f"    {printable}", f"    {' ' * offset}{'^' * width}"]


ErrorJson = Mapping[str, Any]

_EMPTY_FINDING: ErrorJson = {
    "place": None,
    "file": None,
    "line": None,
    "column": None,
    "hint": None,
    "operation_seq": None,
    "causes": [],
}


def error_to_json(error: DaybookError) -> dict[str, Any]:
    """One finding with its causes."""
    span = error.span
    return {
        "code": error.code,
        "message": error.message,
        "place": str(span) if span else None,
        "file": span.file if span else None,
        "line": span.line if span else None,
        "column": span.column if span else None,
        "hint": error.hint,
        "operation_seq": error.operation_seq,
        "causes": [error_to_json(cause) for cause in error.causes],
    }


def error_to_record(error: DaybookError) -> dict[str, Any]:
    """The first finding, with all others below `others`."""
    first, *others = (error_to_json(single) for single in flatten(error))
    return {**first, "others": others} if others else first


def findings_of_record(kept: ErrorJson) -> list[dict[str, Any]]:
    """Every finding of what was kept, each with all keys of `as_data`, also where less is known."""
    first = {key: value for key, value in kept.items() if key != "others"}
    return [{**_EMPTY_FINDING, **single} for single in (first, *kept.get("others", ()))]


def render_finding(finding: ErrorJson) -> str:
    """A finding as one short block of text, as `render` writes it, without the excerpt."""
    return "\n".join(_finding_lines(finding, shown_hint=None, with_place=True))


def _finding_lines(finding: ErrorJson, *, shown_hint: str | None, with_place: bool) -> Iterator[str]:
    yield f"[{finding['code']}] {finding['message']}"
    place, hint = finding.get("place"), finding.get("hint")
    if place and with_place:
        yield f"  at {place}"
    for cause in _finding_causes(finding):
        first, *rest = _finding_lines(cause, shown_hint=hint, with_place=with_place and not place)
        yield f"  because {first}"
        yield from (f"  {line}" for line in rest)
    if hint and hint != shown_hint:
        yield f"  hint: {hint}"


def _finding_causes(finding: ErrorJson) -> Iterator[ErrorJson]:
    """The causes, those that only repeat the finding's sentence replaced by their own."""
    for cause in finding.get("causes", ()):
        if cause["message"] == finding["message"]:
            yield from _finding_causes(cause)
        else:
            yield cause
