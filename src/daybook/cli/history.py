"""`daybook runs` and `daybook show`, and the text output of results, failures, dry runs and replays."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Annotated

import typer

from daybook.cli import arguments
from daybook.cli.arguments import json_option, open_workspace, period_option
from daybook.cli.terminal import (
    console,
    echo,
    echo_json,
    echo_note,
    shorten_path,
    shorten_paths_in,
    show_error,
    show_notice,
    show_table,
    table_width,
)

if TYPE_CHECKING:
    import datetime
    from collections.abc import Sequence

    from daybook.runs.replay import ReplayResult
    from daybook.runs.run_result import OutputResult, RunFailedError, RunResult
    from daybook.store.records import OperationResult, ProjectState, RunRecord, VersionEntry
    from daybook.workspace.execution import DryRun, DryRunSource, RangeResult
    from daybook.workspace.runs import RunDetails, SourceRead
    from daybook.workspace.stored_definitions import DefinitionDetails


def show_run_result(result: "RunResult", *, is_quiet: bool) -> None:
    """The run, what each operation did and what was written where; warnings have been shown while it ran."""
    draft = " as a draft" if result.is_draft else ""
    echo(f"{result.project_id} for {result.period}: {result.status}{draft} in {format_seconds(result.duration_ms)}")
    if not is_quiet:
        from daybook.runs.run_result import as_of_text

        as_of = as_of_text(result.as_of, result.own_as_of)
        echo(f"run {result.run_id}, as of {as_of}, project version {result.project_version}")
        _show_parameters(result.parameters)
        if result.accepted:
            echo(f"{result.accepted} warning{'' if result.accepted == 1 else 's'} accepted")
        for slice_ in result.slices:
            echo(f"read {slice_.dataset_id} {slice_.period}: {slice_.origin}, run {slice_.run_id}")
        echo("")
        show_effects(result.operations, result.names)
        echo("")
    show_outputs(result.outputs)


def _show_parameters(parameters: Mapping[str, str], lead: str = "") -> None:
    if parameters:
        echo(f"{lead}parameters {', '.join(f'{name} = {text}' for name, text in parameters.items())}")


def show_range(result: "RangeResult", *, is_quiet: bool) -> None:
    """The runs of a range that completed, then why it ended early."""
    from daybook.runs.run_result import RunFailedError

    for completed in result.completed:
        show_run_result(completed, is_quiet=is_quiet)
    if isinstance(result.failure, RunFailedError):
        show_run_failure(result.failure, as_json=False)
    elif result.failure is not None:
        show_error(result.failure)


def show_effects(operations: "Iterable[OperationResult]", names: Mapping[int, str]) -> None:
    from daybook.runs.run_result import summarize_operations

    rows = [
        (
            str(effect.seq) if effect.seq else "",
            effect.name,
            _format_count(effect.rows_in),
            (_format_count(effect.rows), "bold"),
            effect.did,
            "" if effect.duration_ms is None else format_seconds(effect.duration_ms),
        )
        for effect in summarize_operations(operations, names)
    ]
    titles = ("seq", "operation", "rows in", "did", "", "time")
    show_table(titles, rows, right=(0, 2, 3, 5), fixed=(2, 3, 4, 5))


def show_outputs(outputs: "Iterable[OutputResult]") -> None:
    for output in outputs:
        repeat = " (committed before)" if output.is_repeat else ""
        echo(output_line(output.place, output.rows_written, output.dataset_id, output.dataset_version) + repeat)


def output_line(place: str, rows: int | None, dataset_id: str | None, dataset_version: int | None) -> str:
    """What an output left where, in a line."""
    count = "" if rows is None else f": {rows:,} row{'' if rows == 1 else 's'}"
    known_as = f", dataset {dataset_id} version {dataset_version}" if dataset_id else ""
    return f"wrote {shorten_path(place)}{count}{known_as}"


def source_lines(sources: "Iterable[DryRunSource | SourceRead]") -> list[str]:
    """What a run reads from where, each once however many operations use it."""
    lines = (
        f"{source.dataset_id} version {source.dataset_version} from {', '.join(map(shorten_path, source.locations))}"
        for source in sources
    )
    return list(dict.fromkeys(lines))


def show_dry_runs(dry_runs: "Iterable[DryRun]") -> None:
    from daybook.runs.run_result import as_of_text

    for run in dry_runs:
        version = f"project version {run.project_version}"
        echo(f"{run.project_id} can run for {run.period}, as of {as_of_text(run.as_of, run.own_as_of)}, {version}")
        _show_parameters(run.parameters, "  ")
        for line in source_lines(run.sources):
            echo(f"  reads {line}")
        for output in run.outputs:
            echo(f"  writes {shorten_path(output.target)} ({output.format}, {output.mode})")
        for notice in run.notices:
            show_notice(notice)
    echo("nothing was written")


def show_replay(result: "ReplayResult") -> None:
    echo(f"run {result.run_id} for {result.period}, computed again:")
    for output in result.outputs:
        before = "?" if output.rows_before is None else f"{output.rows_before:,}"
        if output.is_same:
            outcome = f"{output.rows_now:,} rows, the same"
        elif output.is_same is None:
            outcome = f"{output.rows_now:,} rows; the output of the run was removed and cannot be compared"
        else:
            outcome = f"{output.rows_now:,} rows, {before} before: DIFFERENT"
        kept = f", kept in {shorten_path(output.place)}" if output.place else ""
        echo(f"  {output.operation_seq:>4}  {output.name}: {outcome}{kept}")
    echo("every output is the same" if result.is_same else "outputs differ")


def show_run_failure(failed: "RunFailedError", *, as_json: bool) -> None:
    """Why the run failed, what it had committed, and how to go on."""
    if as_json:
        echo_json(failed.result)
        return
    show_error(failed.error)
    for output in failed.outputs:
        echo_note(f"  operation {output.operation_seq} had been committed to {output.destination}")
    if failed.status == "cancelled":
        echo_note(f"  `daybook retry {failed.run_id}` continues it")
        return
    echo_note(f"run {failed.run_id} {failed.status}")
    echo_note("  to run it with other data, definitions or options: `daybook run`")
    echo_note(f"  to continue it after the cause is fixed: `daybook retry {failed.run_id}`")


def format_seconds(milliseconds: int) -> str:
    return f"{milliseconds / 1000:.1f} s"


def _format_count(value: int | None) -> str:
    return "" if value is None else f"{value:,}"


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
            "--project", metavar="PROJECT", help="Only runs of this project.", autocompletion=arguments.project_ids
        ),
    ] = None,
    period: Annotated[str | None, period_option("Only runs for this period.")] = None,
    status: Annotated[
        str | None,
        typer.Option(
            "--status",
            metavar="STATUS",
            help="queued, running, completed, failed, cancelled.",
            autocompletion=arguments.run_statuses,
        ),
    ] = None,
    limit: Annotated[
        int, typer.Option("--limit", metavar="N", help="The maximum number of runs to list.", min=1, max=1000)
    ] = 20,
    after: Annotated[
        str | None,
        typer.Option(
            "--after", metavar="RUN", help="Continue the list after this run.", autocompletion=arguments.run_ids()
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
        typer.Argument(help="Its id; of a run also PROJECT@PERIOD.", metavar="ID", autocompletion=arguments.shown_ids),
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
