"""`daybook runs`: what ran.

`daybook show`: a definition as YAML that loads again, or a run with all that is known of it.
"""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from daybook.cli import completion
from daybook.cli.arguments import json_option, period_option
from daybook.cli.run_report import show_run
from daybook.cli.terminal import console, echo, echo_json, echo_note, show_table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from daybook.store.records import ProjectState, RunRecord
    from daybook.store.store import MetadataStore, Transaction


# Between the two parts of a mark that `--json` gives under `next`; no id has it.
_PAGE_MARK = "~"

_COLUMN_GAP = 2


def runs(
    context: typer.Context,
    project: Annotated[
        str | None,
        typer.Option(
            "--project", metavar="PROJECT", help="Only runs of this project.", autocompletion=completion.project_ids
        ),
    ] = None,
    period: Annotated[str | None, period_option("Only runs for this period.")] = None,
    status: Annotated[
        str | None,
        typer.Option(
            "--status",
            metavar="STATUS",
            help="queued, running, completed, failed, cancelled.",
            autocompletion=completion.run_statuses,
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

    from daybook.cli.arguments import open_store_or_empty, root_and_settings
    from daybook.store.database.runs import format_page_mark
    from daybook.store.records import RunFilter, RunStatus
    from daybook.workspace.result_json import run_record_as_json

    if status is not None and status not in get_args(RunStatus):
        raise typer.BadParameter(f"one of {', '.join(get_args(RunStatus))}", param_hint="--status")
    root, found = root_and_settings(context)
    with open_store_or_empty(found.store, root) as store, store.read() as transaction:
        if after is not None and _PAGE_MARK not in after:
            after = format_page_mark(transaction.runs.get(after))
        page = transaction.runs.page(RunFilter(project, period, status), limit=limit, after=after)  # type: ignore[arg-type]
        meant = None if page.runs else _suggest_filter(transaction, project, period)
    if as_json:
        echo_json({"runs": [run_record_as_json(run) for run in page.runs], "next": page.next_page})
        return
    if not page.runs:
        echo_note(_no_runs_message(is_filtered=bool(project or period or status or after), meant=meant))
        return
    _show_runs(page.runs)
    if page.next_page:
        echo_note(f"more with --after {page.runs[-1].id}")


def _show_runs(listed: "Sequence[RunRecord]") -> None:
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
        if (
            sum(max(map(len, (title, *cells))) + _COLUMN_GAP for title, cells in columns.items()) - _COLUMN_GAP
            <= console().width
        ):
            break
        if shorter is None:
            del columns[name]
        else:
            columns[name] = shorter
    table = Table(box=None, pad_edge=False, padding=(0, _COLUMN_GAP, 0, 0))
    for title, cells in columns.items():
        table.add_column(title, no_wrap=True, min_width=max(map(len, cells)))
    for row in zip(*columns.values(), strict=True):
        table.add_row(*row)
    show_table(table)


def _suggest_filter(transaction: "Transaction", project: str | None, period: str | None) -> str | None:
    """What was probably meant by a project or a period that nobody knows."""
    from daybook.errors.suggestion import closest_match
    from daybook.resolve.calendars.periods import calendar_for, nearest_period

    projects = [state.project_id for state in transaction.projects.all()]
    if project is not None and project not in projects:
        return closest_match(project, projects)
    if period is None:
        return None
    catalog = transaction.catalog()
    calendars = [calendar_for(calendar_id, catalog) for calendar_id in (None, *catalog.ids("calendar"))]
    if any(calendar.find(period) for calendar in calendars):
        return None
    near = [found for calendar in calendars if (found := nearest_period(period, calendar)) is not None]
    return closest_match(period, near) or next(iter(near), None)


def _no_runs_message(*, is_filtered: bool, meant: str | None) -> str:
    if not is_filtered:
        return "no runs yet: `daybook run PROJECT --period PERIOD` makes one"
    return f"no such runs; did you mean {meant}?" if meant else "no such runs"


_SHOWN_KINDS = ("dataset", "datasource", "resolver", "calendar", "project", "run")


def show(
    context: typer.Context,
    kind: Annotated[
        str,
        typer.Argument(
            metavar="KIND", help=f"What it is: {', '.join(_SHOWN_KINDS)}.", autocompletion=lambda: _SHOWN_KINDS
        ),
    ],
    identifier: Annotated[str, typer.Argument(help="Its id.", metavar="ID", autocompletion=completion.shown_ids)],
    version: Annotated[
        int | None, typer.Option("--version", metavar="N", help="A version; otherwise the latest.", min=1)
    ] = None,
    as_json: Annotated[bool, json_option("Everything known as JSON.")] = False,
) -> None:
    """Show a definition or a run as the store has it.

    A definition is shown as YAML that loads again.
    """
    from daybook.cli.arguments import open_store_or_empty, root_and_settings
    from daybook.errors.suggestion import did_you_mean

    if kind not in _SHOWN_KINDS:
        raise typer.BadParameter(f"nothing is a {kind}; {did_you_mean(kind, _SHOWN_KINDS)}", param_hint="KIND")
    if kind == "run" and version is not None:
        raise typer.BadParameter("a run has no versions", param_hint="--version")
    root, found = root_and_settings(context)
    with open_store_or_empty(found.store, root) as store:
        if kind == "run":
            show_run(store, identifier, as_json=as_json)
        else:
            _show_definition(store, kind, identifier, version, as_json=as_json)


def _show_definition(store: "MetadataStore", kind: Any, identifier: str, version: int | None, *, as_json: bool) -> None:
    import json

    from daybook.model.serialization import to_yaml
    from daybook.store.definition_text import decode_definition

    with store.read() as transaction:
        stored = transaction.definitions.get(kind, identifier, version)
        state = transaction.projects.find(identifier) if kind == "project" else None
        usage = transaction.projects.usage(identifier, stored.version) if kind == "project" else ()
        inputs = transaction.projects.inputs(identifier, stored.version) if kind == "project" else ()
        pin = transaction.definitions.pin(identifier, stored.version) if kind == "dataset" else None
        versions = transaction.definitions.versions(kind, identifier)
    if not as_json:
        status = _project_status(state, stored.version) if state else stored.status
        echo(f"# {kind} {identifier}, version {stored.version} of {versions[-1]}, {status}")
        if pin is not None:
            echo(f"# the data is {pin.uri} at Delta version {pin.delta_version}")
        for warning in state.warnings if state else ():
            echo(f"# {warning}")
        typer.echo(to_yaml(kind, decode_definition(kind, stored.body)), nl=False)
        return
    data: dict[str, Any] = {
        "kind": kind,
        "id": identifier,
        "version": stored.version,
        "versions": list(versions),
        "status": state.status if state else stored.status,
        "created_at": stored.created_at.isoformat(),
        "workspace": stored.workspace,
        "definition": json.loads(stored.body),
    }
    if state is not None:
        data["active_version"] = state.active_version
        data["conflict"] = state.conflict
        data["warnings"] = list(state.warnings)
        data["datasets"] = [
            {"id": item.dataset_id, "version": item.version, "pinned": item.is_pinned} for item in inputs
        ]
        data["column_usage"] = [
            {"operation_seq": use.operation_seq, "dataset_id": use.dataset_id, "column": use.column} for use in usage
        ]
    if pin is not None:
        data["data"] = {"uri": pin.uri, "delta_version": pin.delta_version}
    echo_json(data)


def _project_status(state: "ProjectState", shown: int) -> str:
    """The project's status, and the version that is active where another one is shown."""
    if state.active_version in (None, shown):
        return state.status
    active = f"active is version {state.active_version}"
    return active if state.status == "active" else f"{state.status}, {active}"
