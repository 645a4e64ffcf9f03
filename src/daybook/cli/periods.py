"""`daybook periods`: the periods of a calendar, and closing and locking them."""

from typing import TYPE_CHECKING, Annotated

import typer

from daybook.cli import completion
from daybook.cli.arguments import AsJson, add_command, root_options
from daybook.cli.terminal import echo, echo_json, show_table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from daybook.model.definition import Catalog
    from daybook.model.period import Period, PeriodStatus
    from daybook.resolve.calendars.calendar import PeriodCalendar

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
    year: Annotated[int | None, typer.Option("--year", metavar="YEAR", help="A year; otherwise this one.")] = None,
    level: Annotated[
        str | None,
        typer.Option(
            "--level",
            metavar="LEVEL",
            help="One level of the calendar; otherwise all but single days.",
            autocompletion=completion.calendar_levels,
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List the periods of a year with their status."""
    if context.invoked_subcommand is not None:
        return
    from datetime import UTC, datetime

    from daybook.cli.arguments import open_store_or_empty, root_and_settings

    root, found = root_and_settings(context)
    with open_store_or_empty(found.store, root) as store, store.read() as transaction:
        cut = _find_calendar(context, calendar, transaction.catalog())
        shown = _periods_of_level(cut, year or datetime.now(UTC).year, level)
        listed = [(period, transaction.periods.status(period)) for period in shown]
    if as_json:
        echo_json(
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


def _periods_of_level(cut: "PeriodCalendar", year: int, level: str | None) -> "Iterator[Period]":
    """A year's periods of one level; of all levels, those longer than a day, since days would bury the rest."""
    from daybook.resolve.calendars.periods import level_position

    if level is not None:
        level_position(level, cut)
    for period in cut.of_year(year):
        if period.level == level or (level is None and period.start_date < period.end_date):
            yield period


def close(
    context: typer.Context, identifier: PeriodArgument, calendar: CalendarOption = None, as_json: AsJson = False
) -> None:
    """Close a period: runs on it and inside it warn."""
    _set_status(context, identifier, calendar, "closed", as_json=as_json)


def lock(
    context: typer.Context, identifier: PeriodArgument, calendar: CalendarOption = None, as_json: AsJson = False
) -> None:
    """Lock a period for good: runs on it and inside it are refused."""
    _set_status(context, identifier, calendar, "locked", as_json=as_json)


add_command(app, "close", close, "daybook periods close 2026-01")
add_command(app, "lock", lock, "daybook periods lock 2026-Q1")


def _set_status(
    context: typer.Context, identifier: str, calendar: str | None, status: "PeriodStatus", *, as_json: bool
) -> None:
    import getpass
    from datetime import UTC, datetime

    from daybook.cli.arguments import open_workspace_store, root_and_settings
    from daybook.resolve.calendars.periods import period_of

    root, found = root_and_settings(context)
    with open_workspace_store(found.store, root) as store, store.write() as transaction:
        period: Period = period_of(identifier, _find_calendar(context, calendar, transaction.catalog()))
        is_changed = transaction.periods.advance(period, status, now=datetime.now(UTC), user=getpass.getuser())
    if as_json:
        echo_json({"identifier": period.identifier, "status": status, "changed": is_changed})
    elif is_changed or not root_options(context).is_quiet:
        echo(f"{period.identifier} is {status}" + ("" if is_changed else " already"))


def _find_calendar(context: typer.Context, calendar_id: str | None, stored: "Catalog") -> "PeriodCalendar":
    """As the workspace's files have it; as the store has it where no file defines it."""
    from daybook.cli.arguments import find_workspace_root
    from daybook.model.loading.workspace import WorkspaceCatalog, read_workspace
    from daybook.resolve.calendars.periods import calendar_for

    if calendar_id is None or stored.calendar(calendar_id) is not None:
        return calendar_for(calendar_id, stored)
    workspace, _ = read_workspace(find_workspace_root(context))
    return calendar_for(calendar_id, WorkspaceCatalog(workspace))
