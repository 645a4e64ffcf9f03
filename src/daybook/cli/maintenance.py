"""`daybook doctor` and `daybook gc`."""

from typing import TYPE_CHECKING, Annotated

import typer

from daybook.cli.arguments import json_option
from daybook.cli.exit_codes import FAILED
from daybook.cli.open_workspace import open_workspace, open_workspace_with_spark
from daybook.cli.root_options import root_options
from daybook.cli.terminal import echo, echo_json, echo_marked

if TYPE_CHECKING:
    from daybook.runs.doctor import DoctorFinding
    from daybook.runs.recovery import Recovery
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
        raise typer.Exit(FAILED)


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
