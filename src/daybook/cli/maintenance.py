"""`daybook doctor`: is everything there that a run needs?

`daybook gc`: apply the retention of daybook.yaml.
"""

from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from daybook.cli.arguments import json_option, root_options
from daybook.cli.terminal import echo, echo_json

if TYPE_CHECKING:
    from daybook.model.loading import LoadedWorkspace
    from daybook.runs.maintenance import DoctorFinding


_STATE_MARKS = {
    "ok": ("ok", typer.colors.GREEN),
    "warning": ("!!", typer.colors.YELLOW),
    "problem": ("no", typer.colors.RED),
}


def doctor(
    context: typer.Context,
    fix: Annotated[bool, typer.Option("--fix", help="Remove what dead runs left behind.")] = False,
    skip_spark: Annotated[bool, typer.Option("--skip-spark", help="Do not start Spark.")] = False,
    as_json: Annotated[bool, json_option("The findings as JSON.")] = False,
) -> None:
    """Check that everything is there that a run needs.

    Python, Java, Spark, memory, the store, the connections; what dead runs left behind; how to fix what is wrong.
    """
    from contextlib import suppress
    from dataclasses import asdict

    from daybook.errors import DaybookError
    from daybook.model.settings import EngineSettings
    from daybook.runs.maintenance import examine_machine, examine_runs, examine_spark, examine_workspace
    from daybook.workspace.spark_session import background_session

    workspace = _workspace_if_any(context)
    engine = workspace.settings.engine if workspace else EngineSettings()
    findings: list[DoctorFinding] = []

    def report(finding: "DoctorFinding") -> None:
        findings.append(finding)
        if not as_json:
            _show_finding(finding)

    with background_session(engine, show_log=root_options(context).is_verbose) as session:
        if not skip_spark:
            session.begin()
        for finding in examine_machine():
            report(finding)
        if workspace is not None:
            for finding in examine_workspace(workspace):
                report(finding)
            # A store that cannot be opened has been reported by now.
            with suppress(DaybookError):
                for finding in examine_runs(workspace, is_fixing=fix):
                    report(finding)
        if not skip_spark:
            report(examine_spark(session))
    if as_json:
        echo_json([asdict(finding) for finding in findings])
    if any(finding.state == "problem" for finding in findings):
        raise typer.Exit(1)


def _workspace_if_any(context: typer.Context) -> "LoadedWorkspace | None":
    """The machine can be looked at from anywhere."""
    from daybook.cli.arguments import load_checked_workspace
    from daybook.errors import DaybookError

    try:
        return load_checked_workspace(context)
    except DaybookError as error:
        if error.code == "MODEL_063" and root_options(context).workspace is None:
            return None
        raise


def _show_finding(finding: "DoctorFinding") -> None:
    mark, colour = _STATE_MARKS[finding.state]
    echo(f"{typer.style(mark, fg=colour)}  {finding.subject}: {finding.detail}")
    if finding.remedy:
        echo(f"    hint: {finding.remedy}")


def collect_garbage(
    context: typer.Context,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what would go.")] = False,
    as_json: Annotated[bool, json_option("What went, as JSON.")] = False,
) -> None:
    """Remove what the retention of daybook.yaml no longer keeps.

    Nothing else ever removes data. What a live version or a run that is kept needs is never touched.
    """
    from dataclasses import asdict

    from daybook.cli.arguments import load_checked_workspace
    from daybook.runs.environment import open_run_environment
    from daybook.runs.maintenance import collect_garbage

    workspace = load_checked_workspace(context)
    with open_run_environment(workspace, _refuse_session) as around:
        found = collect_garbage(around, workspace.settings.retention, is_dry_run=dry_run)
    if as_json:
        echo_json(asdict(found))
        return
    if not (found.runs or found.versions or found.landings or found.files):
        echo("nothing to remove")
        return
    verb = "would remove" if dry_run else "removed"
    echo(f"{verb} {len(found.runs)} runs, the data of {len(found.versions)} registered versions,")
    echo(f"{len(found.landings)} landed inputs and {len(found.files)} data files ({found.bytes / 1e6:,.1f} MB)")


def _refuse_session() -> NoReturn:
    raise RuntimeError("gc needs no Spark")
