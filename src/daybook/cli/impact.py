"""`daybook impact`: what changed definitions would do to the last closes."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from daybook.cli.arguments import AsJson
from daybook.cli.exit_codes import FAILED
from daybook.cli.open_workspace import open_workspace_with_spark
from daybook.cli.root_options import root_options
from daybook.cli.terminal import Cell, echo, echo_json, echo_note, run_listener, show_notice, show_table
from daybook.cli.waterfall import number_text, sign_colour, signed_text

if TYPE_CHECKING:
    from daybook.compare.impact import ImpactResult, MeasureImpact


def impact(
    context: typer.Context,
    projects: Annotated[
        list[str] | None,
        typer.Argument(metavar="[PROJECT]...", help="Only the changes of these projects; by default of all."),
    ] = None,
    against: Annotated[
        str,
        typer.Option("--against", metavar="active|GITREF", help="What the files are compared with."),
    ] = "active",
    period: Annotated[
        str | None,
        typer.Option(
            "--period", "-p", metavar="P|A..B", help="The closes to look at; by default the last one of each project."
        ),
    ] = None,
    markdown: Annotated[
        Path | None,
        typer.Option("--markdown", metavar="FILE", help="Also write a comment for a pull request.", dir_okay=False),
    ] = None,
    fail_over: Annotated[
        list[str] | None,
        typer.Option(
            "--fail-over",
            metavar="OUTPUT.COLUMN=AMOUNT",
            help="End with 1 if this total moves by more than the amount; may be repeated.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show what changed definitions would do to the last closes.

    The last completed runs of every changed project, and of all projects that read its results, are computed again on
    the inputs that they pinned, with the definitions as the files have them now. Nothing is written, nothing applied.
    """
    from daybook.workspace.impact import ImpactLimit, ImpactRequest, exceeded_limits, find_impact, impact_markdown

    limits = [ImpactLimit.parse(text) for text in fail_over or ()]
    request = ImpactRequest(tuple(projects or ()), against, period)
    is_quiet = root_options(context).is_quiet or as_json
    with open_workspace_with_spark(context) as workspace, run_listener(is_quiet=is_quiet) as listener:
        result = find_impact(workspace, request, listener=listener)
    if markdown is not None:
        markdown.parent.mkdir(parents=True, exist_ok=True)
        markdown.write_text(impact_markdown(result), encoding="utf-8")
    if as_json:
        echo_json(result)
    else:
        show_impact(result)
    exceeded = exceeded_limits(result, limits)
    if not as_json:
        for limit, measure in exceeded:
            total = f"{measure.measure} of {measure.output} for {measure.period}"
            echo_note(f"{total} moves by {signed_text(measure.difference)}, more than {number_text(limit.amount)}")
    if exceeded:
        raise typer.Exit(FAILED)


def show_impact(result: "ImpactResult") -> None:
    against = "the active versions" if result.against == "active" else result.against
    for notice in result.notices:
        show_notice(notice)
    if not result.changed:
        echo(f"no definition differs from {against}")
        return
    echo(f"changed: {', '.join(result.changed)}, compared with {against}")
    if not result.runs:
        echo("no completed run reads what changed")
        return
    echo_note(f"{result.runs} runs computed again on what they read; nothing is written")
    if not result.moved:
        echo("\nno total moves, and no row changes")
        return
    titles = ("project", "period", "output", "total", "before", "after", "difference", "rows")
    echo("")
    show_table(titles, [_cells(measure) for measure in result.moved], right=range(4, 8))
    if result.single_cause is not None:
        echo_note(f"\nall of it by {result.single_cause}")
    for measure in result.moved if result.single_cause is None else ():
        if measure.causes:
            echo(f"\n{measure.project} {measure.period}, {measure.measure} of {measure.output}\n")
            rows: list[tuple[Cell, ...]] = [
                (cause.label, (signed_text(cause.share), sign_colour(cause.share))) for cause in measure.causes
            ]
            show_table(("change", "share"), rows, right=(1,))
    if same := len(result.outputs) - len(result.moved):
        echo_note(f"\n{same} totals stay the same")


def _cells(measure: "MeasureImpact") -> "tuple[Cell, ...]":
    return (
        measure.project,
        measure.period,
        measure.output,
        measure.measure,
        number_text(measure.before),
        number_text(measure.after),
        (signed_text(measure.difference), sign_colour(measure.difference)),
        f"{measure.rows_changed:,}",
    )
