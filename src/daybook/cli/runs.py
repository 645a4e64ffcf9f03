"""`daybook runs`: what ran."""

from typing import TYPE_CHECKING, Annotated

import typer

from daybook.cli import completion
from daybook.cli.parameters import json_option, period_option
from daybook.cli.terminal import console, remark, say_json, show_table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from daybook.store.records import RunRecord
    from daybook.store.store import Transaction

# Between the two parts of a mark that `--json` gives under `next`; no id has it.
_MARK = "~"

_GAP = 2


def runs(
    context: typer.Context,
    project: Annotated[
        str | None,
        typer.Option(
            "--project", metavar="PROJECT", help="Only runs of this project.", autocompletion=completion.projects
        ),
    ] = None,
    period: Annotated[str | None, period_option("Only runs for this period.")] = None,
    status: Annotated[
        str | None,
        typer.Option(
            "--status",
            metavar="STATUS",
            help="queued, running, completed, failed, cancelled.",
            autocompletion=completion.statuses,
        ),
    ] = None,
    limit: Annotated[int, typer.Option("--limit", metavar="N", help="How many at the most.", min=1, max=1000)] = 20,
    after: Annotated[
        str | None,
        typer.Option(
            "--after", metavar="RUN", help="Continue a longer list after this one.", autocompletion=completion.run_ids()
        ),
    ] = None,
    as_json: Annotated[bool, json_option("The list as JSON.")] = False,
) -> None:
    """List runs, newest first."""
    from typing import get_args

    from daybook.cli.run_data import of_record
    from daybook.cli.workspace_store import opened_or_empty, settings
    from daybook.store.records import RunFilter, RunStatus
    from daybook.store.run_rows import page_mark

    if status is not None and status not in get_args(RunStatus):
        raise typer.BadParameter(f"one of {', '.join(get_args(RunStatus))}", param_hint="--status")
    root, found = settings(context)
    with opened_or_empty(found.store, root) as store, store.read() as transaction:
        if after is not None and _MARK not in after:
            after = page_mark(transaction.runs.get(after))
        page = transaction.runs.page(RunFilter(project, period, status), limit=limit, after=after)  # type: ignore[arg-type]
        meant = None if page.runs else _meant(transaction, project, period)
    if as_json:
        say_json({"runs": [of_record(run) for run in page.runs], "next": page.next_page})
        return
    if not page.runs:
        remark(_nothing(is_filtered=bool(project or period or status or after), meant=meant))
        return
    _show(page.runs)
    if page.next_page:
        remark(f"more with --after {page.runs[-1].id}")


def _show(listed: "Sequence[RunRecord]") -> None:
    """Ids are never cut; where the terminal is narrow, what is needed least gives way."""
    from rich.table import Table

    from daybook.store.records import milliseconds

    columns = {
        "run": [run.id for run in listed],
        "project": [run.project_id for run in listed],
        "period": [run.period for run in listed],
        "status": [f"{run.status} (draft)" if run.is_draft else run.status for run in listed],
        "started": [f"{run.created_at:%Y-%m-%d %H:%M}" for run in listed],
        "seconds": [f"{milliseconds(run.duration) / 1000:.1f}" if run.duration else "" for run in listed],
        "by": [run.user or "" for run in listed],
    }
    narrower = (
        ("started", [f"{run.created_at:%m-%d %H:%M}" for run in listed]),
        ("by", None),
        ("seconds", None),
        ("started", None),
    )
    for name, shorter in narrower:
        if sum(max(map(len, (title, *cells))) + _GAP for title, cells in columns.items()) - _GAP <= console().width:
            break
        if shorter is None:
            del columns[name]
        else:
            columns[name] = shorter
    table = Table(box=None, pad_edge=False, padding=(0, _GAP, 0, 0))
    for title, cells in columns.items():
        table.add_column(title, no_wrap=True, min_width=max(map(len, cells)))
    for row in zip(*columns.values(), strict=True):
        table.add_row(*row)
    show_table(table)


def _meant(transaction: "Transaction", project: str | None, period: str | None) -> str | None:
    """What was probably meant by a project or a period that nobody knows."""
    from daybook.model.suggestion import nearest
    from daybook.resolve.known_calendars import calendar_for
    from daybook.resolve.periods import nearest_period

    projects = [state.project_id for state in transaction.projects.all()]
    if project is not None and project not in projects:
        return nearest(project, projects)
    if period is None:
        return None
    catalog = transaction.catalog()
    calendars = [calendar_for(calendar_id, catalog) for calendar_id in (None, *catalog.ids("calendar"))]
    if any(calendar.find(period) for calendar in calendars):
        return None
    near = [found for calendar in calendars if (found := nearest_period(period, calendar)) is not None]
    return nearest(period, near) or next(iter(near), None)


def _nothing(*, is_filtered: bool, meant: str | None) -> str:
    if not is_filtered:
        return "no runs yet: `daybook run PROJECT --period PERIOD` makes one"
    return f"no such runs; did you mean {meant}?" if meant else "no such runs"
