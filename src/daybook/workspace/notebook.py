"""Runs and explanations as small HTML pages, which a notebook shows; every text is escaped."""

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

from daybook.model.types import value_text

if TYPE_CHECKING:
    from daybook.runs.explain.operation import OperationExplanation, ShownRows
    from daybook.runs.result import RunResult


def run_html(result: "RunResult") -> str:
    """What ran, what each operation did, what was written, warnings."""
    from daybook.runs.result import summarize_operations

    draft = f", draft in {result.sandbox}" if result.sandbox else ", draft" if result.is_draft else ""
    head = f"{result.project_id} · {result.period} · {result.status}{draft} · {_format_seconds(result.duration_ms)}"
    operations = [
        (
            str(effect.seq or ""),
            effect.name,
            _format_count(effect.rows_in),
            f"{_format_count(effect.rows)} {effect.did}".strip(),
            "" if effect.duration_ms is None else _format_seconds(effect.duration_ms),
        )
        for effect in summarize_operations(result.operations, result.names)
    ]
    outputs = [
        (output.destination, output.format, f"{output.rows_written:,}", output.dataset_id or "")
        for output in result.outputs
    ]
    notices = "".join(f"<li><b>{escape(notice.code)}</b> {escape(notice.message)}</li>" for notice in result.notices)
    return (
        f"<div><p><b>{escape(head)}</b><br><small>run {escape(result.run_id)}, as of {result.as_of}</small></p>"
        + _table(("seq", "operation", "rows in", "did", "time"), operations)
        + _table(("output", "format", "rows", "registered as"), outputs)
        + (f"<ul>{notices}</ul>" if notices else "")
        + "</div>"
    )


def explanation_html(found: "OperationExplanation") -> str:
    """The summary rows of an operation and the rows behind them."""
    head = f"operation {found.seq} ({found.name}) of run {found.run_id} · {found.project_id} · {found.period}"
    tables = [found.summary_rows] if found.summary_rows else []
    return f"<div><p><b>{escape(head)}</b></p>{''.join(map(_rows_html, (*tables, found.rows)))}</div>"


def _rows_html(shown: "ShownRows") -> str:
    rows = [tuple(value_text(row[name]) for name in shown.columns) for row in shown.rows]
    return f"<p>{len(rows):,} of {shown.count:,} rows</p>{_table(shown.columns, rows)}"


def _table(header: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    head = "".join(f"<th>{escape(name)}</th>" for name in header)
    body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _format_seconds(milliseconds: int) -> str:
    return f"{milliseconds / 1000:.1f} s"


def _format_count(count: int | None) -> str:
    return "" if count is None else f"{count:,}"
