"""`daybook apply` and `daybook plan`: the workspace's definitions into the store, or what that would change."""

from typing import Annotated

import typer

from daybook.cli.invocation import invocation
from daybook.cli.parameters import json_option
from daybook.cli.terminal import say_json

Prune = Annotated[bool, typer.Option("--prune", help="Disable what the files no longer define.")]
AsJson = Annotated[bool, json_option("The changes as JSON.")]


def apply(context: typer.Context, prune: Prune = False, as_json: AsJson = False) -> None:
    """Store the workspace's definitions, all or none.

    A shared store is set up or migrated on the way.
    """
    from datetime import UTC, datetime

    from daybook.cli import apply_report
    from daybook.cli.workspace_store import load, opened
    from daybook.store.apply import apply as apply_definitions
    from daybook.store.checking import check_project

    workspace = load(context)
    with opened(workspace.settings.store, workspace.root, migrate=True) as store:
        done = apply_definitions(
            store,
            workspace.all(),
            workspace=workspace.settings.name,
            validate=check_project,
            now=datetime.now(UTC),
            prune=prune,
        )
    if as_json:
        say_json(apply_report.as_data(done))
    else:
        apply_report.show(done, is_quiet=invocation(context).is_quiet)


def plan(context: typer.Context, prune: Prune = False, as_json: AsJson = False) -> None:
    """Show what `apply` would change and break."""
    from daybook.cli import apply_report
    from daybook.cli.workspace_store import load, opened_or_empty
    from daybook.store.apply import plan as plan_definitions
    from daybook.store.checking import check_project

    workspace = load(context)
    with opened_or_empty(workspace.settings.store, workspace.root) as store:
        planned = plan_definitions(
            store, workspace.all(), workspace=workspace.settings.name, validate=check_project, prune=prune
        )
    if as_json:
        say_json(apply_report.as_data(planned))
    else:
        apply_report.show(planned, is_quiet=invocation(context).is_quiet)
