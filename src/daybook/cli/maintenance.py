"""`daybook doctor` and `daybook gc`."""

from typing import TYPE_CHECKING, Annotated

import typer

from daybook.cli.arguments import json_option, open_workspace, open_workspace_with_spark, root_options
from daybook.cli.terminal import echo, echo_json, echo_marked

if TYPE_CHECKING:
    from daybook.runs.maintenance import DoctorFinding
    from daybook.runs.recovery import Recovery
    from daybook.workspace.open_workspace import OpenedWorkspace


_STATE_MARKS = {
    "ok": ("ok", typer.colors.GREEN),
    "warning": ("!!", typer.colors.YELLOW),
    "problem": ("no", typer.colors.RED),
}


def doctor(
    context: typer.Context,
    fix: Annotated[bool, typer.Option("--fix", help="Remove what failed and killed runs left.")] = False,
    restore: Annotated[
        bool, typer.Option("--restore", help="Put the newest backup in the place of a damaged store.")
    ] = False,
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
    from daybook.workspace.json.results import examination_as_json
    from daybook.workspace.maintenance import examine
    from daybook.workspace.spark_session import background_session

    workspace = _workspace_if_any(context)
    engine = workspace.settings.engine if workspace else EngineSettings()
    with background_session(engine, show_log=root_options(context).is_verbose) as session:
        if not skip_spark:
            session.begin()
        found = examine(
            workspace,
            fix=fix,
            session=None if skip_spark else session,
            on_finding=_ignore_finding if as_json else _show_finding,
        )
    if as_json:
        echo_json(examination_as_json(found))
    if not found.is_ok:
        raise typer.Exit(1)


def _restore_store(context: typer.Context, *, as_json: bool) -> None:
    from daybook.workspace.json.results import restoration_as_json
    from daybook.workspace.maintenance import restore_store

    with open_workspace_with_spark(context) as workspace:
        done = restore_store(workspace)
    if as_json:
        echo_json(restoration_as_json(done))
        return
    echo(f"restored {done.backup}")
    echo(f"the damaged store is kept as {done.damaged}")
    show_recovery(done.recovery)


def show_recovery(found: "Recovery") -> None:
    for each in found.slices:
        echo(f"found again: {each.period} of {each.table}, written by run {each.run_id}")
    for table, period in found.dropped:
        echo(f"dropped since: {period} of {table}")
    for dataset_id, version in found.datasets:
        echo(f"found again: version {version} of dataset {dataset_id}")
    for table, reason in found.unread:
        echo(f"not asked: {table} ({reason})")


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
    from daybook.workspace.json.results import garbage_as_json
    from daybook.workspace.maintenance import apply_retention

    found = apply_retention(open_workspace(context), dry_run=dry_run)
    if as_json:
        echo_json(garbage_as_json(found))
        return
    if not (found.runs or found.versions or found.landings or found.files):
        echo("nothing to remove")
        return
    verb = "would remove" if dry_run else "removed"
    echo(f"{verb} {len(found.runs)} runs, the data of {len(found.versions)} registered versions,")
    echo(f"{len(found.landings)} landed inputs and {len(found.files)} data files ({found.bytes / 1e6:,.1f} MB)")
