"""Errors as JSON: for machines that read them, and to be kept with the run they ended."""

from collections.abc import Iterator, Mapping
from typing import Any

from daybook.errors.error import DaybookError, flatten

Data = Mapping[str, Any]

_NOTHING_MORE: Data = {
    "place": None,
    "file": None,
    "line": None,
    "column": None,
    "hint": None,
    "operation_seq": None,
    "causes": [],
}


def as_data(error: DaybookError) -> dict[str, Any]:
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
        "causes": [as_data(cause) for cause in error.causes],
    }


def to_keep(error: DaybookError) -> dict[str, Any]:
    """The first finding, with all others below `others`."""
    first, *others = (as_data(single) for single in flatten(error))
    return {**first, "others": others} if others else first


def kept_findings(kept: Data) -> list[dict[str, Any]]:
    """Every finding of what was kept, each with all keys of `as_data`, also where less is known."""
    first = {key: value for key, value in kept.items() if key != "others"}
    return [{**_NOTHING_MORE, **single} for single in (first, *kept.get("others", ()))]


def render_data(finding: Data) -> str:
    """A finding as one short block of text, as `render` writes it, without the excerpt."""
    return "\n".join(_block(finding, shown_hint=None, with_place=True))


def _block(finding: Data, *, shown_hint: str | None, with_place: bool) -> Iterator[str]:
    yield f"[{finding['code']}] {finding['message']}"
    place, hint = finding.get("place"), finding.get("hint")
    if place and with_place:
        yield f"  at {place}"
    for cause in _further_causes(finding):
        first, *rest = _block(cause, shown_hint=hint, with_place=with_place and not place)
        yield f"  because {first}"
        yield from (f"  {line}" for line in rest)
    if hint and hint != shown_hint:
        yield f"  hint: {hint}"


def _further_causes(finding: Data) -> Iterator[Data]:
    """The causes, those that only repeat the finding's sentence replaced by their own."""
    for cause in finding.get("causes", ()):
        if cause["message"] == finding["message"]:
            yield from _further_causes(cause)
        else:
            yield cause
