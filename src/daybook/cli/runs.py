"""`daybook runs`: what ran."""

from typing import Annotated

import typer

from daybook.cli.terminal import console, remark, say_json


def runs(
    context: typer.Context,
    project: Annotated[str | None, typer.Option("--project", help="Only runs of this project.")] = None,
    period: Annotated[str | None, typer.Option("--period", "-p", help="Only runs for this period.")] = None,
    status: Annotated[
        str | None, typer.Option("--status", help="queued, running, completed, failed, cancelled.")
    ] = None,
    limit: Annotated[int, typer.Option("--limit", help="How many at the most.", min=1, max=1000)] = 20,
    after: Annotated[str | None, typer.Option("--after", help="Continue a longer list from here.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="The list as JSON.")] = False,
) -> None:
    """List runs, newest first.

    Example: daybook runs --project process-orders --status failed
    """
    from dataclasses import asdict
    from typing import get_args

    from rich.table import Table

    from daybook.cli.workspace_store import opened_or_empty, settings
    from daybook.store.records import RunFilter, RunStatus

    if status is not None and status not in get_args(RunStatus):
        raise typer.BadParameter(f"one of {', '.join(get_args(RunStatus))}", param_hint="--status")
    root, found = settings(context)
    with opened_or_empty(found.store, root) as store, store.read() as transaction:
        page = transaction.runs.page(RunFilter(project, period, status), limit=limit, after=after)  # type: ignore[arg-type]
    if as_json:
        say_json({"runs": [asdict(run) for run in page.runs], "next": page.next_page})
        return
    if not page.runs:
        remark("no runs yet: `daybook run PROJECT --period PERIOD` makes one")
        return
    table = Table("run", "project", "period", "status", "started", "seconds", "by", box=None, pad_edge=False)
    for run in page.runs:
        begun, ended = run.started_at, run.finished_at
        seconds = f"{(ended - begun).total_seconds():.1f}" if begun and ended else ""
        started = f"{run.created_at:%Y-%m-%d %H:%M}"
        shown = f"{run.status} (draft)" if run.is_draft else run.status
        table.add_row(run.id, run.project_id, run.period, shown, started, seconds, run.user or "")
    console().print(table)
    if page.next_page:
        remark(f"more with --after {page.next_page}")
