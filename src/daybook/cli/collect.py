"""`daybook gc`: apply the retention of daybook.yaml."""

from typing import Annotated, NoReturn

import typer

from daybook.cli.parameters import json_option
from daybook.cli.terminal import say, say_json


def gc(
    context: typer.Context,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what would go.")] = False,
    as_json: Annotated[bool, json_option("What went, as JSON.")] = False,
) -> None:
    """Remove what the retention of daybook.yaml no longer keeps.

    Nothing else ever removes data. What a live version or a run that is kept needs is never touched.
    """
    from dataclasses import asdict

    from daybook.cli.workspace_store import load
    from daybook.runs.collecting import collect
    from daybook.runs.opening import surroundings

    workspace = load(context)
    with surroundings(workspace, _no_session) as around:
        found = collect(around, workspace.settings.retention, is_dry_run=dry_run)
    if as_json:
        say_json(asdict(found))
        return
    if not (found.runs or found.versions or found.landings or found.files):
        say("nothing to remove")
        return
    verb = "would remove" if dry_run else "removed"
    say(f"{verb} {len(found.runs)} runs, the data of {len(found.versions)} registered versions,")
    say(f"{len(found.landings)} landed inputs and {len(found.files)} data files ({found.bytes / 1e6:,.1f} MB)")


def _no_session() -> NoReturn:
    raise RuntimeError("gc needs no Spark")
