"""An error as one short block of text: code, what, where, how to fix."""

from daybook.errors.error import DaybookError, Notice, flatten
from daybook.errors.span import Span

_EXCERPT_WIDTH = 110


def render(error: DaybookError) -> str:
    """One block per finding, a blank line between blocks."""
    return "\n\n".join("\n".join(_block(single, shown_hint=None, with_place=True)) for single in flatten(error))


def render_all(errors: tuple[DaybookError, ...]) -> str:
    return "\n\n".join(render(error) for error in errors)


def render_notice(notice: Notice) -> str:
    return "\n".join([f"[{notice.code}] {notice.message}", *_place(notice.span), *_hint(notice.hint)])


def _block(error: DaybookError, *, shown_hint: str | None, with_place: bool) -> list[str]:
    """A cause that says the same in the same words is not said again, nor is a hint that both have."""
    causes = _further_causes(error)
    span = error.span or next((cause.span for cause in error.causes if cause not in causes), None)
    lines = [f"[{error.code}] {error.message}", *(_place(span) if with_place else ())]
    for cause in causes:
        first, *rest = _block(cause, shown_hint=error.hint, with_place=with_place and span is None)
        lines += [f"  because {first}", *(f"  {line}" for line in rest)]
    return lines + (_hint(error.hint) if error.hint != shown_hint else [])


def _further_causes(error: DaybookError) -> list[DaybookError]:
    """The causes, those that only repeat the error's sentence replaced by their own."""
    found: list[DaybookError] = []
    for cause in error.causes:
        found += [cause] if cause.message != error.message else _further_causes(cause)
    return found


def _hint(hint: str | None) -> list[str]:
    return [f"  hint: {hint}"] if hint else []


def _place(span: Span | None) -> list[str]:
    return _excerpt(span) if span is not None else []


def _excerpt(span: Span) -> list[str]:
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
