"""`daybook periods`: lists, closes, locks and reopens periods, and shows their history."""

from typing import TYPE_CHECKING, Annotated

import typer

from daybook.cli import completion
from daybook.cli.arguments import AsJson, ReasonOption
from daybook.cli.command_help import add_command
from daybook.cli.open_workspace import open_workspace, proven
from daybook.cli.root_options import root_options
from daybook.cli.terminal import echo, echo_json, echo_note, show_table

if TYPE_CHECKING:
    from daybook.workspace.periods import PeriodChange

app = typer.Typer(
    help="List, close, lock and reopen periods.",
    short_help="List, close, lock and reopen periods",
    epilog="""\b
Examples:
  daybook periods --year 2026 --level month
  daybook periods close 2026-01""",
    invoke_without_command=True,
    rich_markup_mode=None,
)

CalendarOption = Annotated[
    str | None,
    typer.Option(
        "--calendar",
        metavar="ID",
        help="A calendar; by default the Gregorian one.",
        autocompletion=completion.calendar_ids,
    ),
]

PeriodArgument = Annotated[
    str,
    typer.Argument(help="A period, such as 2026-01.", metavar="PERIOD", autocompletion=completion.period_identifiers),
]


@app.callback()
def periods(
    context: typer.Context,
    calendar: CalendarOption = None,
    year: Annotated[int | None, typer.Option("--year", metavar="YEAR", help="A year; by default this year.")] = None,
    level: Annotated[
        str | None,
        typer.Option(
            "--level",
            metavar="LEVEL",
            help="One level of the calendar; by default all except days.",
            autocompletion=completion.calendar_levels,
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List the periods of a year with their status."""
    if context.invoked_subcommand is not None:
        return
    from daybook.workspace.periods import list_periods

    listed = list_periods(open_workspace(context), calendar=calendar, year=year, level=level)
    if as_json:
        echo_json(listed)
        return
    rows = []
    for listed_period in listed:
        period, status = listed_period.period, listed_period.status
        shown = status.status if listed_period.is_own_status else f"{status.status} by {status.because_of}"
        rows.append((period.identifier, period.level, str(period.start_date), str(period.end_date), shown))
    show_table(("period", "level", "from", "to", "status"), rows)


def close(
    context: typer.Context,
    identifier: PeriodArgument,
    calendar: CalendarOption = None,
    reason: ReasonOption = None,
    as_json: AsJson = False,
) -> None:
    """Close a period: runs on it and inside it warn."""
    from daybook.workspace.periods import close_period

    done = close_period(open_workspace(context), identifier, calendar=calendar, reason=reason)
    _show_change(context, done, as_json=as_json)


def lock(
    context: typer.Context,
    identifier: PeriodArgument,
    calendar: CalendarOption = None,
    reason: ReasonOption = None,
    as_json: AsJson = False,
) -> None:
    """Lock a period: runs on it and inside it are refused.

    Drafts that write to the sandbox still run. `daybook periods reopen` takes the lock back.
    """
    from daybook.workspace.periods import lock_period

    done = proven(context, lambda workspace: lock_period(workspace, identifier, calendar=calendar, reason=reason))
    _show_change(context, done, as_json=as_json)


def reopen(
    context: typer.Context,
    identifier: PeriodArgument,
    reason: ReasonOption = None,
    calendar: CalendarOption = None,
    as_json: AsJson = False,
) -> None:
    """Open a closed or locked period again.

    Who reopened it, when and why is recorded permanently; `daybook periods history` shows it.
    """
    from daybook.workspace.periods import reopen_period

    done = proven(
        context, lambda workspace: reopen_period(workspace, identifier, calendar=calendar, reason=reason or "")
    )
    _show_change(context, done, as_json=as_json)


def history(
    context: typer.Context, identifier: PeriodArgument, calendar: CalendarOption = None, as_json: AsJson = False
) -> None:
    """Show every change of a period's status: who, when and why."""
    from daybook.workspace.periods import show_period

    details = show_period(open_workspace(context), identifier, calendar=calendar)
    if as_json:
        echo_json(details)
        return
    if not details.history:
        echo_note(f"{details.period.identifier} was never closed or locked")
        return
    rows = [
        (f"{change.changed_at:%Y-%m-%d %H:%M}", change.status, change.changed_by or "", change.reason or "")
        for change in details.history
    ]
    show_table(("changed", "status", "by", "reason"), rows, fixed=(0, 1, 2))


add_command(app, "close", close, "daybook periods close 2026-01")
add_command(app, "lock", lock, "daybook periods lock 2026-Q1", 'daybook periods lock 2026-01 --reason "signed off"')
add_command(app, "reopen", reopen, 'daybook periods reopen 2026-01 --reason "late invoice"')
add_command(app, "history", history, "daybook periods history 2026-01")


def _show_change(context: typer.Context, change: "PeriodChange", *, as_json: bool) -> None:
    if as_json:
        echo_json(change)
    elif change.is_changed or not root_options(context).is_quiet:
        echo(f"{change.period.identifier} is {change.status}" + ("" if change.is_changed else " already"))
