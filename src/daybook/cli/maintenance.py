"""`daybook doctor`, `gc`, `engine` and `slices`."""

from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from daybook.cli import completion
from daybook.cli.arguments import AsJson, json_option
from daybook.cli.command_help import add_command
from daybook.cli.open_workspace import open_workspace, open_workspace_with_spark, with_proof
from daybook.cli.root_options import root_options
from daybook.cli.terminal import confirm, echo, echo_json, echo_marked, echo_note, is_attended, show_notice, show_table

if TYPE_CHECKING:
    from daybook.runs.doctor import DoctorFinding
    from daybook.runs.recovery import Recovery
    from daybook.workspace.maintenance import EngineStatus
    from daybook.workspace.open_workspace import OpenedWorkspace


_STATE_MARKS = {
    "ok": ("ok", typer.colors.GREEN),
    "warning": ("!!", typer.colors.YELLOW),
    "problem": ("no", typer.colors.RED),
}


def doctor(
    context: typer.Context,
    fix: Annotated[bool, typer.Option("--fix", help="Remove what failed and killed runs left behind.")] = False,
    restore: Annotated[bool, typer.Option("--restore", help="Replace a damaged store with its newest backup.")] = False,
    skip_spark: Annotated[bool, typer.Option("--skip-spark", help="Do not start Spark.")] = False,
    as_json: Annotated[bool, json_option("The findings as JSON.")] = False,
) -> None:
    """Check that everything is there that a run needs.

    Python, Java, Spark, memory, the store, the connections; what failed and killed runs left; how to fix what is wrong.
    """
    if restore:
        _restore_store(context, as_json=as_json)
        return
    from daybook.model.settings import EngineSettings
    from daybook.workspace.maintenance import examine
    from daybook.workspace.spark_session import background_session

    workspace = _workspace_if_any(context)
    engine = workspace.settings.engine if workspace else EngineSettings()
    with background_session(engine, show_log=root_options(context).is_verbose) as session:
        if not skip_spark:
            session.begin()
        examination = examine(
            workspace,
            fix=fix,
            session=None if skip_spark else session,
            on_finding=_ignore_finding if as_json else _show_finding,
        )
    if as_json:
        echo_json(examination.findings)
    if not examination.is_ok:
        raise typer.Exit(1)


def _restore_store(context: typer.Context, *, as_json: bool) -> None:
    from daybook.workspace.maintenance import restore_store

    with open_workspace_with_spark(context) as workspace:
        done = restore_store(workspace)
    if as_json:
        echo_json(done)
        return
    echo(f"restored {done.backup}")
    echo(f"the damaged store is kept as {done.damaged}")
    show_recovery(done.recovery)


def show_recovery(recovery: "Recovery") -> None:
    for slice_ in recovery.slices:
        echo(f"recovered: {slice_.period} of {slice_.table}, written by run {slice_.run_id}")
    for table, period in recovery.dropped:
        echo(f"dropped after the backup: {period} of {table}")
    for dataset_id, version in recovery.datasets:
        echo(f"recovered: version {version} of dataset {dataset_id}")
    for table, reason in recovery.unread:
        echo(f"not checked: {table} ({reason})")
    for project_id in recovery.inactive:
        echo(f"not active: {project_id}; after `daybook activate {project_id}`, builds run it again")


def _workspace_if_any(context: typer.Context) -> "OpenedWorkspace | None":
    """The machine can be checked from anywhere."""
    from daybook.errors import DaybookError

    try:
        return open_workspace(context)
    except DaybookError as error:
        if error.code == "MODEL_063" and root_options(context).workspace is None:
            return None
        raise


def _ignore_finding(_: "DoctorFinding") -> None:
    pass


def _show_finding(finding: "DoctorFinding") -> None:
    mark, colour = _STATE_MARKS[finding.state]
    echo_marked(mark, colour, f"{finding.subject}: {finding.detail}")
    if finding.remedy:
        echo(f"    hint: {finding.remedy}")


def collect_garbage(
    context: typer.Context,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what would be removed.")] = False,
    as_json: Annotated[bool, json_option("What was removed, as JSON.")] = False,
) -> None:
    """Remove what the retention of daybook.yaml no longer keeps.

    Nothing else ever removes data. What a live version or a run that is kept needs is never touched.
    """
    from daybook.workspace.maintenance import apply_retention

    # Tables by name are found and removed through a session, which starts if there are some.
    with open_workspace_with_spark(context) as workspace:
        removed = apply_retention(workspace, dry_run=dry_run)
    if as_json:
        echo_json(removed)
        return
    if not (removed.runs or removed.versions or removed.landings or removed.files):
        echo("nothing to remove")
        return
    verb = "would remove" if dry_run else "removed"
    echo(f"{verb} {len(removed.runs)} runs, the data of {len(removed.versions)} registered versions,")
    echo(f"{len(removed.landings)} landed inputs and {len(removed.files)} data files ({removed.bytes / 1e6:,.1f} MB)")


app = typer.Typer(
    help="Keep Spark running for the next commands: start, stop and show the warm engine.",
    short_help="Keep Spark running for the next commands",
    epilog="""\b
Examples:
  daybook engine start --idle 2h
  daybook engine status
  daybook engine stop""",
    no_args_is_help=True,
    rich_markup_mode=None,
)


def start(
    context: typer.Context,
    idle: Annotated[
        str | None, typer.Option("--idle", metavar="TIME", help="End after this time without use: 30m, 2h.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Start a Spark server that later commands of this user use.

    It listens on this machine only, answers this user only, and fits commands with the same versions, settings,
    state folder and storage variables. Other commands start Spark themselves.
    """
    from daybook.workspace.maintenance import start_engine

    engine = start_engine(open_workspace(context), idle)
    if as_json:
        echo_json(engine)
    else:
        echo(f"the engine is running: process {engine.pid}, ends after {engine.idle} without use")


def stop(
    context: typer.Context,
    include_others: Annotated[
        bool, typer.Option("--all", help="End all engines of this user, also those that do not fit this workspace.")
    ] = False,
    force: Annotated[
        bool, typer.Option("--force", help="End it even if a command uses it; the command fails.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """End the warm engine."""
    from daybook.workspace.maintenance import engine_status, stop_engine

    workspace = open_workspace(context)
    ended = stop_engine(workspace, include_others=include_others, force=force)
    if as_json:
        echo_json({"stopped": list(ended)})
    elif ended:
        echo("\n".join(f"the engine with process {pid} has ended" for pid in ended))
    elif engine_status(workspace):
        echo("no engine of this workspace is running; `daybook engine stop --all` ends the others")
    else:
        echo("no engine is running")


def status(context: typer.Context, as_json: AsJson = False) -> None:
    """Show the engines of this user that run."""
    from daybook.workspace.maintenance import engine_status

    engines = engine_status(open_workspace(context))
    if as_json:
        echo_json({"engines": engines})
    else:
        echo("\n".join(_status_text(engine) for engine in engines) or "no engine is running")


def _status_text(engine: "EngineStatus") -> str:
    started = engine.started.strftime("%Y-%m-%d %H:%M UTC")
    use = "in use" if engine.is_used else f"ends after {engine.idle} without use"
    fit = "fits this workspace" if engine.is_fit else f"does not fit this workspace: {', '.join(engine.differences)}"
    progress = engine.warm_up
    warm = "" if progress is None or progress.is_over else f"warming up ({progress.rounds} of {progress.wanted}), "
    return f"process {engine.pid} since {started}, {warm}{use}; {fit}"


add_command(app, "start", start, "daybook engine start", "daybook engine start --idle 2h")
add_command(app, "stop", stop, "daybook engine stop", "daybook engine stop --all")
add_command(app, "status", status, "daybook engine status", "daybook engine status --json")


class _ListByDefault(TyperGroup):
    """`daybook slices TABLE` is `daybook slices list TABLE`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        is_command = bool(args) and (args[0] in self.commands or args[0] in ctx.help_option_names)
        return super().parse_args(ctx, args if is_command else ["list", *args])


slices_app = typer.Typer(
    cls=_ListByDefault,
    help="List, drop and take over slices of tables: what runs wrote into them for each period.",
    short_help="List, drop and take over slices of tables",
    epilog="""\b
Examples:
  daybook slices
  daybook slices warehouse.sales --json
  daybook slices drop warehouse.sales 2026-Q1 --reason "run by mistake\"""",
    rich_markup_mode=None,
)

_TABLE_HELP = "A table by its destination (warehouse.sales), its name, its location or its dataset."


def list_slices(
    context: typer.Context,
    table: Annotated[
        str | None, typer.Argument(metavar="TABLE", help=_TABLE_HELP, autocompletion=completion.tables_with_slices)
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List slices with their owner, run, rows and time."""
    from daybook.workspace.maintenance import list_slices as found_slices

    slices = found_slices(open_workspace(context), table)
    if as_json:
        echo_json(slices)
        return
    if not slices:
        echo_note("no run has written to a table with slices")
        return
    rows = [
        (
            slice_.table,
            slice_.period,
            slice_.project_id or "all projects that append",
            slice_.run_id,
            "" if slice_.rows is None else f"{slice_.rows:,}",
            f"{slice_.written_at:%Y-%m-%d %H:%M}" if slice_.written_at else "",
        )
        for slice_ in slices
    ]
    show_table(("table", "period", "project", "run", "rows", "written"), rows, right=(4,), fixed=(1, 3, 4, 5))


def drop(
    context: typer.Context,
    table: Annotated[
        str, typer.Argument(metavar="TABLE", help=_TABLE_HELP, autocompletion=completion.tables_with_slices)
    ],
    period: Annotated[
        str,
        typer.Argument(
            metavar="PERIOD", help="The period of the slice, such as 2026-Q1.", autocompletion=completion.slice_periods
        ),
    ],
    reason: Annotated[
        str | None, typer.Option("--reason", metavar="TEXT", help="The reason; it is recorded permanently.")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")] = False,
    as_json: AsJson = False,
) -> None:
    """Remove what runs wrote into a table for a period.

    Other periods stay. A locked period is refused. Datasets of the table get a new version; on Delta earlier versions
    stay readable as they were. Who dropped the slice, when and why is recorded permanently.
    """
    from daybook.errors import DaybookError
    from daybook.workspace.maintenance import drop_slice
    from daybook.workspace.maintenance import list_slices as found_slices

    if not (reason or "").strip():
        raise DaybookError("STORE_032", action="Dropping a slice")
    with open_workspace_with_spark(context) as workspace:
        chosen = next((slice_ for slice_ in found_slices(workspace, table) if slice_.period == period), None)
        # A slice that is not there is refused without a question.
        if chosen is not None and not yes:
            if as_json or not is_attended():
                raise DaybookError("STORE_039")
            rows = "its rows" if chosen.rows is None else f"{chosen.rows:,} rows"
            if not confirm(f"Remove {rows} of {chosen.period} from {chosen.location}?"):
                raise typer.Exit(1)
        done = with_proof(workspace, lambda proven: drop_slice(proven, table, period, reason=reason or ""))
    if as_json:
        echo_json(done)
        return
    for notice in done.notices:
        show_notice(notice)
    echo(f"dropped {done.slice.period} of {done.slice.table}: {done.rows:,} rows")
    if not root_options(context).is_quiet:
        for dataset_id, version in done.datasets:
            echo(f"registered {dataset_id} version {version} without it")


def take_over(
    context: typer.Context,
    workspace: Annotated[
        str, typer.Argument(metavar="WORKSPACE", help="The id that STORE_016 shows, or the name if there is no id.")
    ],
    reason: Annotated[
        str | None, typer.Option("--reason", metavar="TEXT", help="The reason; it is recorded permanently.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Make the slices of another workspace this one's.

    For a workspace whose store is lost, or that this one replaces. From then on projects here replace what that
    workspace wrote into the tables of the same projects, and its slices are listed here. Do not run the other workspace
    any more. Who took them over, when and why is recorded permanently.
    """
    from daybook.errors import DaybookError
    from daybook.workspace.maintenance import take_over_slices

    if not (reason or "").strip():
        raise DaybookError("STORE_032", action="Taking over the slices of a workspace")
    with open_workspace_with_spark(context) as opened:
        recovery = with_proof(opened, lambda proven: take_over_slices(proven, workspace, reason=reason or ""))
    if as_json:
        echo_json(recovery)
        return
    show_recovery(recovery)
    echo(f"the slices of workspace {workspace} now belong to this workspace")


add_command(slices_app, "list", list_slices, "daybook slices list", "daybook slices list warehouse.sales --json")
add_command(slices_app, "drop", drop, 'daybook slices drop warehouse.sales 2026-Q1 --reason "run by mistake"')
add_command(
    slices_app, "take-over", take_over, 'daybook slices take-over 9f2c41d07be35a68 --reason "its store is lost"'
)
