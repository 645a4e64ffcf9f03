"""A run as a small HTML page for notebooks."""

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from daybook.runs.result import RunResult


def run_page(result: "RunResult") -> str:
    """What ran, what each operation did, what was written; every text is escaped."""
    from daybook.runs.effects import effects

    draft = f", draft in {result.sandbox}" if result.sandbox else ", draft" if result.is_draft else ""
    head = f"{result.project_id} · {result.period} · {result.status}{draft} · {_seconds(result.duration_ms)}"
    operations = [
        (
            str(effect.seq or ""),
            effect.name,
            _count(effect.rows_in),
            f"{_count(effect.rows)} {effect.did}".strip(),
            "" if effect.duration_ms is None else _seconds(effect.duration_ms),
        )
        for effect in effects(result.operations, result.names)
    ]
    outputs = [
        (output.destination, output.format, f"{output.rows_written:,}", output.dataset_id or "")
        for output in result.outputs
    ]
    notices = "".join(f"<li><b>{escape(notice.code)}</b> {escape(notice.message)}</li>" for notice in result.notices)
    return (
        f"<div><p><b>{escape(head)}</b><br><small>run {escape(result.run_id)}, as of {result.as_of}</small></p>"
        + html_table(("seq", "operation", "rows in", "did", "time"), operations)
        + html_table(("output", "format", "rows", "registered as"), outputs)
        + (f"<ul>{notices}</ul>" if notices else "")
        + "</div>"
    )


def _seconds(milliseconds: int) -> str:
    return f"{milliseconds / 1000:.1f} s"


def _count(count: int | None) -> str:
    return "" if count is None else f"{count:,}"


def html_table(header: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    head = "".join(f"<th>{escape(name)}</th>" for name in header)
    body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
