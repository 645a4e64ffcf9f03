"""`daybook runs` and `daybook show`: runs, and definitions as the store has them."""

from typing import TYPE_CHECKING, Annotated

import typer

from daybook.cli import completion
from daybook.cli.arguments import json_option, period_option
from daybook.cli.open_workspace import open_workspace
from daybook.cli.run_results import format_seconds, output_line, show_effects, source_lines
from daybook.cli.terminal import (
    console,
    echo,
    echo_json,
    echo_note,
    shorten_paths_in,
    show_table,
    table_width,
)

if TYPE_CHECKING:
    import datetime
    from collections.abc import Sequence

    from daybook.store.records import ProjectState, RunRecord, VersionEntry
    from daybook.workspace.runs import RunDetails
    from daybook.workspace.stored_definitions import DefinitionDetails


def show_run_details(run: "RunDetails") -> None:
    """Everything that is known of a run."""
    from daybook.errors import render_finding
    from daybook.runs.run_result import as_of_text
    from daybook.store.records import milliseconds

    record = run.record
    draft = " as a draft" if record.is_draft else ""
    took = f" in {format_seconds(milliseconds(record.duration))}" if record.duration else ""
    echo(f"run {record.id}: {record.status}{draft}{took}")
    echo(f"  project   {record.project_id} version {record.project_version}")
    as_of = f", as of {as_of_text(record.as_of, run.own_as_of)}" if record.as_of else ""
    echo(f"  period    {record.period}{as_of}")
    echo(
        f"  created   {_format_moment(record.created_at)} by {record.user or 'an unknown user'} on "
        f"{record.process.host}"
    )
    if record.finished_at:
        echo(f"  finished  {_format_moment(record.finished_at)}")
    for name, text in (run.snapshot.get("parameters") or {}).items():
        echo(f"  parameter {name} = {text}")
    if record.attempt > 1:
        echo(f"  attempts  {record.attempt}")
    for line in source_lines(run.sources):
        echo(f"  reads     {line}")
    if run.operations:
        echo("")
        show_effects(run.operations, run.operation_names)
    if run.commits:
        echo("")
    for commit in run.commits:
        details = commit.details
        line = output_line(commit.destination, commit.rows, details.get("dataset_id"), details.get("dataset_version"))
        echo(f"{line} ({commit.mode})")
    for finding in run.errors:
        echo("")
        echo(shorten_paths_in(render_finding(finding)))


def _format_moment(moment: "datetime.datetime") -> str:
    return f"{moment:%Y-%m-%d %H:%M:%S} UTC"


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
    limit: Annotated[
        int, typer.Option("--limit", metavar="N", help="The maximum number of runs to list.", min=1, max=1000)
    ] = 20,
    after: Annotated[
        str | None,
        typer.Option(
            "--after", metavar="RUN", help="Continue the list after this run.", autocompletion=completion.run_ids()
        ),
    ] = None,
    as_json: Annotated[bool, json_option("The list as JSON.")] = False,
) -> None:
    """List runs, newest first."""
    from daybook.workspace.runs import RUN_STATUSES, list_runs

    if status is not None and status not in RUN_STATUSES:
        raise typer.BadParameter(f"one of {', '.join(RUN_STATUSES)}", param_hint="--status")
    listed = list_runs(open_workspace(context), project=project, period=period, status=status, limit=limit, after=after)
    if as_json:
        echo_json(listed)
        return
    if not listed.runs:
        echo_note(_no_runs_message(is_filtered=bool(project or period or status or after), meant=listed.suggestion))
        return
    _show_runs(listed.runs)
    if listed.next_page:
        echo_note(f"more with --after {listed.runs[-1].id}")


def _show_runs(listed: "Sequence[RunRecord]") -> None:
    """Ids are never cut; where the terminal is narrow, the least important columns are left out."""
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
        return "no runs yet: `daybook run PROJECT --period PERIOD` starts one"
    return f"no such runs; did you mean {meant}?" if meant else "no such runs"


_SHOWN_VERSIONS = 20
_SHOWN_KINDS = ("dataset", "datasource", "resolver", "calendar", "project", "run")


def show(
    context: typer.Context,
    kind: Annotated[
        str,
        typer.Argument(
            metavar="KIND", help=f"The kind: {', '.join(_SHOWN_KINDS)}.", autocompletion=lambda: _SHOWN_KINDS
        ),
    ],
    identifier: Annotated[
        str,
        typer.Argument(help="Its id; of a run also PROJECT@PERIOD.", metavar="ID", autocompletion=completion.shown_ids),
    ],
    version: Annotated[
        int | None, typer.Option("--version", metavar="N", help="A version; by default the latest.", min=1)
    ] = None,
    as_json: Annotated[bool, json_option("All details as JSON.")] = False,
) -> None:
    """Show a definition or a run as the store has it.

    A definition is shown as YAML that loads again.
    """
    from daybook.errors.error import did_you_mean
    from daybook.workspace.runs import show_run
    from daybook.workspace.stored_definitions import show_definition

    if kind not in _SHOWN_KINDS:
        raise typer.BadParameter(f"nothing is a {kind}; {did_you_mean(kind, _SHOWN_KINDS)}", param_hint="KIND")
    if kind == "run" and version is not None:
        raise typer.BadParameter("a run has no versions", param_hint="--version")
    workspace = open_workspace(context)
    if kind == "run":
        run = show_run(workspace, identifier)
        echo_json(run) if as_json else show_run_details(run)
        return
    definition = show_definition(workspace, kind, identifier, version=version)  # type: ignore[arg-type]
    echo_json(definition) if as_json else _show_definition(definition)


def _show_definition(definition: "DefinitionDetails") -> None:
    state = definition.project.state if definition.project else None
    status = _project_status(state, definition.version) if state else definition.status
    echo(f"# {definition.kind} {definition.id}, version {definition.version} of {definition.versions[-1]}, {status}")
    if definition.pin is not None:
        echo(f"# the data is {definition.pin.uri} at version {definition.pin.version.token}")
    for warning in state.warnings if state else ():
        echo(f"# {warning}")
    history = definition.history or ()
    for entry in history[-_SHOWN_VERSIONS:]:
        echo(f"# {_describe_version(entry)}")
    if len(history) > _SHOWN_VERSIONS:
        echo(f"# ({len(history) - _SHOWN_VERSIONS} older versions: --json)")
    echo(definition.yaml, end="")


def _describe_version(entry: "VersionEntry") -> str:
    """A version of a dataset: when it was made, and the run whose data it is."""
    described = f"version {entry.version}  {entry.created_at:%Y-%m-%d %H:%M}"
    if entry.run_id is None:
        return described
    period = f"  {entry.project_id} {entry.period}" if entry.period else f"  {entry.project_id}"
    rows = "" if entry.rows is None else f"  {entry.rows:,} rows"
    return f"{described}  run {entry.run_id}{period}{rows}"


def _project_status(state: "ProjectState", shown: int) -> str:
    """The project's status, and the version that is active where another one is shown."""
    if state.active_version in (None, shown):
        return state.status
    active = f"active is version {state.active_version}"
    return active if state.status == "active" else f"{state.status}, {active}"
