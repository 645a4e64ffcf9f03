"""`daybook periods`: the periods of a calendar, and closing and locking them."""

from typing import TYPE_CHECKING, Annotated

import typer

from daybook.cli import completion
from daybook.cli.command import add_command
from daybook.cli.invocation import invocation
from daybook.cli.parameters import AsJson
from daybook.cli.terminal import say, say_json, show_table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from daybook.model.catalog import Catalog
    from daybook.model.period import Period, PeriodStatus
    from daybook.resolve.calendars import PeriodCalendar

app = typer.Typer(
    help="List, close and lock periods.",
    short_help="List, close and lock periods",
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
        help="A calendar; otherwise the built-in Gregorian one.",
        autocompletion=completion.calendars,
    ),
]
Identifier = Annotated[
    str, typer.Argument(help="A period, such as 2026-01.", metavar="PERIOD", autocompletion=completion.periods)
]


@app.callback()
def periods(
    context: typer.Context,
    calendar: CalendarOption = None,
    year: Annotated[int | None, typer.Option("--year", metavar="YEAR", help="A year; otherwise this one.")] = None,
    level: Annotated[
        str | None,
        typer.Option(
            "--level",
            metavar="LEVEL",
            help="One level of the calendar; otherwise all but single days.",
            autocompletion=completion.levels,
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List the periods of a year with their status."""
    if context.invoked_subcommand is not None:
        return
    from datetime import UTC, datetime

    from daybook.cli.workspace_store import opened_or_empty, settings

    root, found = settings(context)
    with opened_or_empty(found.store, root) as store, store.read() as transaction:
        cut = _calendar(context, calendar, transaction.catalog())
        shown = _of_level(cut, year or datetime.now(UTC).year, level)
        listed = [(period, transaction.periods.status(period)) for period in shown]
    if as_json:
        say_json(
            [
                {
                    "identifier": period.identifier,
                    "level": period.level,
                    "start_date": period.start_date.isoformat(),
                    "end_date": period.end_date.isoformat(),
                    "calendar_id": period.calendar_id,
                    "status": effective.status,
                    "because_of": effective.because_of,
                    "changed_at": effective.changed_at and effective.changed_at.isoformat(),
                    "changed_by": effective.changed_by,
                }
                for period, effective in listed
            ]
        )
        return
    from rich.table import Table

    table = Table("period", "level", "from", "to", "status", box=None, pad_edge=False)
    for period, effective in listed:
        own = effective.because_of in (None, period.identifier)
        status = effective.status if own else f"{effective.status} by {effective.because_of}"
        table.add_row(period.identifier, period.level, str(period.start_date), str(period.end_date), status)
    show_table(table)


def _of_level(cut: "PeriodCalendar", year: int, level: str | None) -> "Iterator[Period]":
    """A year's periods of one level; of all levels, those longer than a day, since days would bury the rest."""
    from daybook.resolve.periods import position

    if level is not None:
        position(level, cut)
    for period in cut.of_year(year):
        if period.level == level or (level is None and period.start_date < period.end_date):
            yield period


def close(
    context: typer.Context, identifier: Identifier, calendar: CalendarOption = None, as_json: AsJson = False
) -> None:
    """Close a period: runs on it and inside it warn."""
    _advance(context, identifier, calendar, "closed", as_json=as_json)


def lock(
    context: typer.Context, identifier: Identifier, calendar: CalendarOption = None, as_json: AsJson = False
) -> None:
    """Lock a period for good: runs on it and inside it are refused."""
    _advance(context, identifier, calendar, "locked", as_json=as_json)


add_command(app, "close", close, "daybook periods close 2026-01")
add_command(app, "lock", lock, "daybook periods lock 2026-Q1")


def _advance(
    context: typer.Context, identifier: str, calendar: str | None, status: "PeriodStatus", *, as_json: bool
) -> None:
    import getpass
    from datetime import UTC, datetime

    from daybook.cli.workspace_store import opened, settings
    from daybook.resolve.periods import period_of

    root, found = settings(context)
    with opened(found.store, root) as store, store.write() as transaction:
        period: Period = period_of(identifier, _calendar(context, calendar, transaction.catalog()))
        is_changed = transaction.periods.advance(period, status, now=datetime.now(UTC), user=getpass.getuser())
    if as_json:
        say_json({"identifier": period.identifier, "status": status, "changed": is_changed})
    elif is_changed or not invocation(context).is_quiet:
        say(f"{period.identifier} is {status}" + ("" if is_changed else " already"))


def _calendar(context: typer.Context, calendar_id: str | None, stored: "Catalog") -> "PeriodCalendar":
    """As the workspace's files have it; as the store has it where no file defines it."""
    from daybook.cli.invocation import workspace_root
    from daybook.model.loading.workspace import read_workspace
    from daybook.model.workspace_catalog import WorkspaceCatalog
    from daybook.resolve.known_calendars import calendar_for

    if calendar_id is None or stored.calendar(calendar_id) is not None:
        return calendar_for(calendar_id, stored)
    workspace, _ = read_workspace(workspace_root(context))
    return calendar_for(calendar_id, WorkspaceCatalog(workspace))
