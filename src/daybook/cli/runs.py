"""`daybook runs`: what ran."""

from typing import Annotated

import typer

from daybook.cli import completion
from daybook.cli.terminal import console, remark, say_json

# Between the two parts of a mark that `--json` gives under `next`; no id has it.
_MARK = "~"


def runs(
    context: typer.Context,
    project: Annotated[
        str | None,
        typer.Option(
            "--project", metavar="PROJECT", help="Only runs of this project.", autocompletion=completion.projects
        ),
    ] = None,
    period: Annotated[
        str | None,
        typer.Option(
            "--period",
            "-p",
            metavar="PERIOD",
            help="Only runs for this period.",
            autocompletion=completion.periods,
        ),
    ] = None,
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
    as_json: Annotated[bool, typer.Option("--json", help="The list as JSON.")] = False,
) -> None:
    """List runs, newest first."""
    from dataclasses import asdict
    from typing import get_args

    from rich.table import Table

    from daybook.cli.workspace_store import opened_or_empty, settings
    from daybook.model.suggestion import nearest
    from daybook.store.records import RunFilter, RunStatus
    from daybook.store.run_rows import page_mark

    if status is not None and status not in get_args(RunStatus):
        raise typer.BadParameter(f"one of {', '.join(get_args(RunStatus))}", param_hint="--status")
    root, found = settings(context)
    with opened_or_empty(found.store, root) as store, store.read() as transaction:
        if after is not None and _MARK not in after:
            after = page_mark(transaction.runs.get(after))
        page = transaction.runs.page(RunFilter(project, period, status), limit=limit, after=after)  # type: ignore[arg-type]
        known = [state.project_id for state in transaction.projects.all()]
    meant = nearest(project, known) if project is not None and project not in known else None
    if as_json:
        say_json({"runs": [asdict(run) for run in page.runs], "next": page.next_page})
        return
    if not page.runs:
        remark(_nothing(is_filtered=bool(project or period or status or after), meant=meant))
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
        remark(f"more with --after {page.runs[-1].id}")


def _nothing(*, is_filtered: bool, meant: str | None) -> str:
    if not is_filtered:
        return "no runs yet: `daybook run PROJECT --period PERIOD` makes one"
    return f"no such runs; did you mean {meant}?" if meant else "no such runs"
