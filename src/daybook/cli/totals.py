"""`daybook totals`: where every amount of a run came from and where it went."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from daybook.cli.arguments import AsJson, CompletedRunArgument
from daybook.cli.open_workspace import open_workspace
from daybook.cli.root_options import root_options
from daybook.cli.terminal import console, echo, echo_json, shorten_path, show_table
from daybook.pictures.shown_values import plural

if TYPE_CHECKING:
    from collections.abc import Sequence

    from daybook.runs.totals import ControlOutcome, MadeBy, MeasureTotals, OperationTotals, OutputTotals, SourceTotals
    from daybook.workspace.totals import ProducedInformation

_UNKNOWN = "?"


def totals(
    context: typer.Context,
    run_id: CompletedRunArgument,
    measure: Annotated[
        str | None, typer.Option("--measure", "-m", metavar="COLUMN", help="Only this measure; by default all.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show where every amount of a run came from and where it went.

    For each measure: what the sources had, what each operation added, changed and deleted, and what each output wrote
    and left out. Rows that different operations made are never added up. Then the facts that an auditor asks for.
    """
    from daybook.workspace.totals import run_totals

    workspace = open_workspace(context)
    recorded = run_totals(workspace, run_id, measure=measure)
    if as_json:
        echo_json(recorded)
        return
    information = recorded.information
    echo(f"{information.project} for {information.period}, run {recorded.totals.run}")
    echo("")
    _show_sources(recorded.totals.sources)
    for measure_totals in recorded.totals.measures:
        echo("")
        _show_measure(measure_totals, is_whole=root_options(context).is_verbose)
    if not root_options(context).is_quiet:
        echo("")
        _show_information(information)


def _show_sources(sources: "Sequence[SourceTotals]") -> None:
    rows = [
        (
            source.dataset,
            shorten_path(source.location),
            _count(source.rows.read),
            _count(source.rows.other_periods),
            _count(source.rows.loaded),
            ", ".join(f"{column} {_amount(total)}" for column, total in source.totals.items()),
            _control(source.control),
        )
        for source in sources
    ]
    titles = ("source", "location", "read", "other periods", "loaded", "totals", "control")
    show_table(titles, rows, right=(2, 3, 4), is_uncut=True)


def _control(control: "ControlOutcome | None") -> str:
    if control is None:
        return ""
    parts = [f"{control.rows:,} rows"] if control.rows is not None else []
    parts += [f"{column} {_amount(total)}" for column, total in control.totals.items()]
    return f"{', '.join(parts)}: {'holds' if control.holds else 'DIFFERS'}"


def _show_measure(measure: "MeasureTotals", *, is_whole: bool) -> None:
    about = " (floats: sums to 12 digits)" if measure.is_approximate else ""
    rows = [row for operation in measure.operations for row in _operation_rows(operation, is_whole=is_whole)]
    titles = ("seq", "operation", "rows of", "before", "added", "changed", "deleted", "after")
    heading = f"{measure.column}{about}"
    if rows:
        show_table(titles, rows, right=(0, 3, 4, 5, 6, 7), heading=heading, is_uncut=True)
    else:
        console().print(heading, highlight=False)
    written = [row for output in measure.outputs for row in _output_rows(output)]
    if written:
        echo("")
        output_titles = ("seq", "output", "rows of", "written", "left out", "deleted rows")
        show_table(output_titles, written, right=(0, 3, 4, 5), is_uncut=True)


def _operation_rows(operation: "OperationTotals", *, is_whole: bool) -> Iterator[tuple[str, ...]]:
    """A line for each operation whose rows were touched; operations without an effect only with `--verbose`."""
    touched = {figure.made_by for figure in (*operation.added, *operation.changed, *operation.deleted)}
    makers = {figure.made_by for figure in operation.after} if is_whole else touched
    for maker in sorted(makers):
        yield (
            str(operation.seq),
            operation.name,
            _maker(maker),
            *(
                _amount_of(figure, maker)
                for figure in (
                    operation.before,
                    operation.added,
                    operation.changed,
                    operation.deleted,
                    operation.after,
                )
            ),
        )


def _output_rows(output: "OutputTotals") -> Iterator[tuple[str, ...]]:
    makers = {figure.made_by for figure in (*output.written, *output.left_out, *output.deleted)}
    for maker in sorted(makers):
        figures = (output.written, output.left_out, output.deleted)
        yield str(output.seq), output.label, _maker(maker), *(_amount_of(figure, maker) for figure in figures)


def _maker(seq: int) -> str:
    return "the input" if seq == 0 else f"operation {seq}"


def _amount_of(figures: "Sequence[MadeBy]", maker: int) -> str:
    return next((_amount(figure.total) for figure in figures if figure.made_by == maker), "")


def _amount(text: str) -> str:
    """An exact number with thousands apart."""
    from decimal import Decimal

    number = Decimal(text)
    return f"{number:,f}" if number.is_finite() else text


def _count(rows: int | None) -> str:
    return _UNKNOWN if rows is None else f"{rows:,}"


def _show_information(information: "ProducedInformation") -> None:
    """What an auditor asks of information that the company's own system produced (IPE)."""
    commit = "none"
    if information.commit is not None:
        commit = information.commit + ("" if information.is_clean else ", with changes that are not committed")
    checks = ", ".join(f"{check.name} ({plural(check.rows, 'row')})" for check in information.checks) or "none"
    parameters = ", ".join(f"{name} = {text}" for name, text in information.parameters.items()) or "none"
    rows = [
        ("definition", f"{information.project}, version {information.version}, SHA-256 {information.digest}"),
        ("period", f"{information.period}, as of {information.as_of}"),
        ("parameters", parameters),
        ("checks", checks),
        ("run by", f"{information.run_by} on {information.host}, {information.run_at}"),
        ("git commit", commit),
        ("program", f"daybook {information.daybook}"),
    ]
    show_table(("", ""), rows, heading="Information produced by the entity (IPE)", is_uncut=True)
