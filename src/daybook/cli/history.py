"""`daybook runs` and `daybook show`."""

from typing import TYPE_CHECKING, Annotated

import typer

from daybook.cli import completion
from daybook.cli.arguments import json_option, open_workspace, period_option
from daybook.cli.run_report import show_run_details
from daybook.cli.terminal import console, echo, echo_json, echo_note, show_table, table_width

if TYPE_CHECKING:
    from collections.abc import Sequence

    from daybook.store.records import ProjectState, RunRecord, VersionEntry
    from daybook.workspace.history import DefinitionDetails


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
    limit: Annotated[int, typer.Option("--limit", metavar="N", help="The most runs to list.", min=1, max=1000)] = 20,
    after: Annotated[
        str | None,
        typer.Option(
            "--after", metavar="RUN", help="Continue the list after this run.", autocompletion=completion.run_ids()
        ),
    ] = None,
    as_json: Annotated[bool, json_option("The list as JSON.")] = False,
) -> None:
    """List runs, newest first."""
    from daybook.workspace.history import RUN_STATUSES, list_runs
    from daybook.workspace.json.results import run_listing_as_json

    if status is not None and status not in RUN_STATUSES:
        raise typer.BadParameter(f"one of {', '.join(RUN_STATUSES)}", param_hint="--status")
    listed = list_runs(open_workspace(context), project=project, period=period, status=status, limit=limit, after=after)
    if as_json:
        echo_json(run_listing_as_json(listed))
        return
    if not listed.runs:
        echo_note(_no_runs_message(is_filtered=bool(project or period or status or after), meant=listed.suggestion))
        return
    _show_runs(listed.runs)
    if listed.next_page:
        echo_note(f"more with --after {listed.runs[-1].id}")


def _show_runs(listed: "Sequence[RunRecord]") -> None:
    """Ids are never cut; where the terminal is narrow, what is needed least gives way."""
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
        if table_width(tuple(columns), tuple(zip(*columns.values(), strict=True))) <= console().width:
            break
        if shorter is None:
            del columns[name]
        else:
            columns[name] = shorter
    show_table(tuple(columns), zip(*columns.values(), strict=True), is_uncut=True)


def _no_runs_message(*, is_filtered: bool, meant: str | None) -> str:
    if not is_filtered:
        return "no runs yet: `daybook run PROJECT --period PERIOD` makes one"
    return f"no such runs; did you mean {meant}?" if meant else "no such runs"


_SHOWN_VERSIONS = 20
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
    from daybook.errors.suggestion import did_you_mean
    from daybook.workspace import history
    from daybook.workspace.json import results

    if kind not in _SHOWN_KINDS:
        raise typer.BadParameter(f"nothing is a {kind}; {did_you_mean(kind, _SHOWN_KINDS)}", param_hint="KIND")
    if kind == "run" and version is not None:
        raise typer.BadParameter("a run has no versions", param_hint="--version")
    workspace = open_workspace(context)
    if kind == "run":
        run = history.show_run(workspace, identifier)
        echo_json(results.run_details_as_json(run)) if as_json else show_run_details(run)
        return
    definition = history.show_definition(workspace, kind, identifier, version)  # type: ignore[arg-type]
    echo_json(results.definition_as_json(definition)) if as_json else _show_definition(definition)


def _show_definition(found: "DefinitionDetails") -> None:
    stored, state = found.definition, found.project.state if found.project else None
    status = _project_status(state, stored.version) if state else stored.status
    echo(f"# {stored.kind} {stored.id}, version {stored.version} of {found.versions[-1]}, {status}")
    if found.pin is not None:
        echo(f"# the data is {found.pin.uri} at version {found.pin.version.token}")
    for warning in state.warnings if state else ():
        echo(f"# {warning}")
    for entry in found.history[-_SHOWN_VERSIONS:]:
        echo(f"# {_describe_version(entry)}")
    if len(found.history) > _SHOWN_VERSIONS:
        echo(f"# ({len(found.history) - _SHOWN_VERSIONS} older versions: --json)")
    echo(found.yaml, end="")


def _describe_version(entry: "VersionEntry") -> str:
    """A version of a dataset: when it was made, and the run whose data it is."""
    made = f"version {entry.version}  {entry.created_at:%Y-%m-%d %H:%M}"
    if entry.run_id is None:
        return made
    period = f"  {entry.project_id} {entry.period}" if entry.period else f"  {entry.project_id}"
    rows = "" if entry.rows is None else f"  {entry.rows:,} rows"
    return f"{made}  run {entry.run_id}{period}{rows}"


def _project_status(state: "ProjectState", shown: int) -> str:
    """The project's status, and the version that is active where another one is shown."""
    if state.active_version in (None, shown):
        return state.status
    active = f"active is version {state.active_version}"
    return active if state.status == "active" else f"{state.status}, {active}"
