"""Renders runs as HTML: the report file, and the output in notebooks; every text is escaped."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, assert_never

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from daybook.errors.render import printable
from daybook.io.pins import FilesPin, LandedPin, Pin, TablePin
from daybook.model.types import value_text
from daybook.pictures import shown_values
from daybook.pictures.graph import ColumnLine, TableColumns, draw_columns
from daybook.pictures.svg import style_sheet
from daybook.plan.lineage import ColumnLineage
from daybook.runs.run_result import OutputResult, RunResult, as_of_text, summarize_operations
from daybook.workspace.numbers import draw_bridge
from daybook.workspace.report import REPORT_MARK, MeasureBridge, RunReport, shown_columns
from daybook.workspace.totals_page import render_totals

if TYPE_CHECKING:
    from daybook.runs.explain.levels import OperationExplanation, ShownRows


_TEMPLATES = Path(__file__).parent / "templates"
_ROWS = "(which rows)"
# More columns than this are listed and not drawn.
_MOST_DRAWN = 60


@dataclass(frozen=True, slots=True)
class CheckLine:
    seq: int
    name: str
    condition: str
    selector: str | None
    outcome: str
    state: str


@dataclass(frozen=True, slots=True)
class ReportLineage:
    """The lineage of one output; `like` is an earlier output whose columns come from the same, drawn there."""

    output: OutputResult
    columns: tuple[ColumnLineage, ...]
    rows: ColumnLineage
    picture: Markup | None
    like: OutputResult | None = None


def render_report(report: RunReport) -> str:
    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_shown,
    )
    environment.filters |= {
        "moment": shown_values.format_moment,
        "duration": shown_values.format_duration,
        "plural": shown_values.plural,
        "is_number": shown_values.is_number,
    }
    record = report.record
    return environment.get_template("report.html").render(
        mark=Markup(REPORT_MARK) + f"{record.id} " + Markup("-->"),
        style=Markup(style_sheet()),
        report=report,
        totals=_totals(report),
        record=record,
        snapshot=report.snapshot,
        steps=tuple(summarize_operations(report.run.operations, report.run.operation_names)),
        checks=tuple(_checks(report)),
        bridges=tuple(_draw_bridges(report)),
        lineages=tuple(_lineages(report)),
        outputs={numbers.output.operation_seq: numbers.output for numbers in report.numbers},
        value=shown_values.format_value,
        shown_columns=shown_columns,
        pin_text=_pin_text,
    )


def _totals(report: RunReport) -> Markup | None:
    return render_totals(report.totals, str) if report.totals is not None else None


def _shown(value: Any) -> Any:
    """Text of data has no characters that hide or turn other text."""
    return printable(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _checks(report: RunReport) -> Iterator[CheckLine]:
    counted = {operation.seq: operation.rows_picked for operation in report.run.operations}
    failed = {seq for finding in report.run.errors for seq in _failed_operations(finding)}
    for operation in report.snapshot.project.operations:
        if operation.type != "check":
            continue
        rows = counted.get(operation.seq)
        if operation.seq in failed:
            outcome, state = "failed", "failed"
        elif rows is None:
            outcome, state = "not reached", "never"
        else:
            outcome, state = f"held for {shown_values.plural(rows, 'row')}", "fresh"
        yield CheckLine(
            operation.seq, operation.name, operation.arguments.condition, operation.selector, outcome, state
        )


def _draw_bridges(report: RunReport) -> Iterator[tuple[MeasureBridge, Markup | None]]:
    for number, bridge in enumerate(report.bridges):
        result = bridge.result
        has_moved = result is not None and bool(result.causes)
        yield bridge, Markup(draw_bridge(result, name=f"bridge-{number}")) if result is not None and has_moved else None


def _failed_operations(finding: Any) -> Iterator[int]:
    if finding.get("operation_seq") is not None:
        yield finding["operation_seq"]
    for cause in finding.get("causes", ()):
        yield from _failed_operations(cause)


def _lineages(report: RunReport) -> Iterator[ReportLineage]:
    """One for each output; outputs of the same columns are drawn once."""
    lineage = report.lineage
    drawn: dict[tuple[object, ...], OutputResult] = {}
    for numbers in report.numbers:
        output, seq = numbers.output, numbers.output.operation_seq
        names = [column for number, column in lineage.columns if number == seq]
        columns = tuple(lineage.column(seq, name) for name in names)
        direct = (tuple(input_ for input_ in column.inputs if input_.kind == "direct") for column in columns)
        like = drawn.setdefault((*names, *direct), output)
        picture = None
        if like is output and len(columns) <= _MOST_DRAWN:
            picture = Markup(_draw_lineage(output, columns, lineage.rows(seq)))
        yield ReportLineage(output, columns, lineage.rows(seq), picture, None if like is output else like)


def _draw_lineage(output: OutputResult, columns: tuple[ColumnLineage, ...], rows: ColumnLineage) -> str:
    """What decides about all rows of the output is drawn once, not to every column."""
    target = f"output {output.operation_seq}"
    shared = {(input_.dataset_id, input_.column) for input_ in rows.inputs}
    lines: list[ColumnLine] = []
    for column in columns:
        strongest: dict[tuple[str, str], ColumnLine] = {}
        for input_ in column.inputs:
            is_direct = input_.kind == "direct"
            source = (input_.dataset_id, input_.column)
            if not is_direct and source in shared:
                continue
            strongest_line = strongest.get(source)
            if strongest_line is None or (is_direct and not strongest_line.is_direct):
                strongest[source] = ColumnLine(source, (target, column.column), is_direct, input_.how)
        lines += strongest.values()
    if shared:
        hows = {(input_.dataset_id, input_.column): input_.how for input_ in rows.inputs}
        lines += [ColumnLine(source, (target, _ROWS), is_direct=False, how=hows[source]) for source in sorted(shared)]
    used: dict[str, list[str]] = {}
    for line in lines:
        names = used.setdefault(line.source[0], [])
        if line.source[1] not in names:
            names.append(line.source[1])
    written = (*(column.column for column in columns), *([_ROWS] if shared else []))
    tables = [TableColumns(name, name, tuple(sorted(names)), "dataset") for name, names in sorted(used.items())]
    tables.append(TableColumns(target, output.destination, written, target))
    title = f"Where the columns of {output.destination} come from"
    return draw_columns(tables, lines, title=title, name=f"lineage-{output.operation_seq}")


def _pin_text(pin: Pin) -> str:
    match pin:
        case TablePin(_, version, _):
            return f"{version.format} version {version.token}"
        case FilesPin(_, files):
            return f"{shown_values.plural(len(files), 'file')}, {_bytes(sum(file.size for file in files))}"
        case LandedPin(_, _, rows, files):
            content = f", content {', '.join(file.digest[:12] for file in files[:3])}" if files else ""
            return f"{shown_values.plural(rows, 'row')} landed{content}"
        case _:
            assert_never(pin)


def _bytes(size: int) -> str:
    return f"{size:,} bytes"


def run_html(result: RunResult) -> str:
    """What ran, what each operation did, what was written, warnings."""
    draft = f", draft in {result.sandbox}" if result.sandbox else ", draft" if result.is_draft else ""
    as_of = as_of_text(result.as_of, result.own_as_of)
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
        f"<div><p><b>{escape(head)}</b><br><small>run {escape(result.run_id)}, as of {escape(as_of)}</small></p>"
        + _table(("seq", "operation", "rows in", "did", "time"), operations)
        + _table(("output", "format", "rows", "registered as"), outputs)
        + (f"<ul>{notices}</ul>" if notices else "")
        + "</div>"
    )


def explanation_html(explanation: "OperationExplanation") -> str:
    """The summary rows of an operation and the rows behind them."""
    operation = f"operation {explanation.operation.seq} ({explanation.operation.name})"
    head = f"{operation} of run {explanation.run_id} · {explanation.project_id} · {explanation.period}"
    tables = [explanation.summary_rows] if explanation.summary_rows else []
    return f"<div><p><b>{escape(head)}</b></p>{''.join(map(_rows_html, (*tables, explanation.rows)))}</div>"


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
