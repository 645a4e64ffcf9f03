"""An error as one short block of text: code, what, where, how to fix."""

from daybook.errors.error import DaybookError, Notice, flatten
from daybook.errors.span import Span

_EXCERPT_WIDTH = 110


def render(error: DaybookError) -> str:
    """One block per finding, a blank line between blocks."""
    return "\n\n".join(
        _block(single.code, single.message, single.span, single.hint, single) for single in flatten(error)
    )


def render_all(errors: tuple[DaybookError, ...]) -> str:
    return "\n\n".join(render(error) for error in errors)


def render_notice(notice: Notice) -> str:
    return _block(notice.code, notice.message, notice.span, notice.hint, None)


def _block(code: str, message: str, span: Span | None, hint: str | None, error: DaybookError | None) -> str:
    lines = [f"[{code}] {message}"]
    if span is not None:
        lines += _excerpt(span)
    for cause in error.causes if error else ():
        cause_lines = _block(cause.code, cause.message, cause.span if span is None else None, cause.hint, cause)
        lines += [
            f"  because {line}" if index == 0 else f"  {line}" for index, line in enumerate(cause_lines.split("\n"))
        ]
    if hint:
        lines.append(f"  hint: {hint}")
    return "\n".join(lines)


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
