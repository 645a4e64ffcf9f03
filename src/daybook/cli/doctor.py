"""`daybook doctor`: is everything there that a run needs?"""

from typing import TYPE_CHECKING, Annotated

import typer

from daybook.cli.invocation import invocation
from daybook.cli.parameters import json_option
from daybook.cli.terminal import say, say_json

if TYPE_CHECKING:
    from daybook.model.loading import Workspace
    from daybook.runs.examining import Finding

_MARKS = {"ok": ("ok", typer.colors.GREEN), "warning": ("!!", typer.colors.YELLOW), "problem": ("no", typer.colors.RED)}


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

    from daybook.cli.spark_session import background_session
    from daybook.errors import DaybookError
    from daybook.model.workspace_file import EngineSettings
    from daybook.runs.examining import examine_machine, examine_spark, examine_workspace
    from daybook.runs.leftovers import examine_runs

    workspace = _workspace(context)
    engine = workspace.settings.engine if workspace else EngineSettings()
    findings: list[Finding] = []

    def report(finding: "Finding") -> None:
        findings.append(finding)
        if not as_json:
            _show(finding)

    with background_session(engine, show_log=invocation(context).is_verbose) as session:
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
        say_json([asdict(finding) for finding in findings])
    if any(finding.state == "problem" for finding in findings):
        raise typer.Exit(1)


def _workspace(context: typer.Context) -> "Workspace | None":
    """The machine can be looked at from anywhere."""
    from daybook.cli.workspace_store import load
    from daybook.errors import DaybookError

    try:
        return load(context)
    except DaybookError as error:
        if error.code == "MODEL_063" and invocation(context).workspace is None:
            return None
        raise


def _show(finding: "Finding") -> None:
    mark, colour = _MARKS[finding.state]
    say(f"{typer.style(mark, fg=colour)}  {finding.subject}: {finding.detail}")
    if finding.remedy:
        say(f"    hint: {finding.remedy}")
