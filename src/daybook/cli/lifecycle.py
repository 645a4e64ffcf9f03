"""`daybook activate` and `daybook deactivate`."""

from typing import Annotated

import typer

from daybook.cli.invocation import invocation
from daybook.cli.parameters import AsJson, ProjectArgument
from daybook.cli.terminal import remark, say, say_json, show_notice


def activate(
    context: typer.Context,
    project: ProjectArgument,
    dataset_version: Annotated[
        int | None,
        typer.Option("--dataset-version", metavar="N", help="The version of the input to read from now on.", min=1),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Validate a project and make it the version that runs."""
    from datetime import UTC, datetime

    from daybook.cli.workspace_store import is_file, load, opened, project_id_of
    from daybook.store.apply import apply
    from daybook.store.checking import check_project
    from daybook.store.lifecycle import activate as activate_project
    from daybook.store.reach import reachable

    workspace = load(context)
    now = datetime.now(UTC)
    with opened(workspace.settings.store, workspace.root) as store:
        # A shared store may know projects that are not in this workspace.
        is_only_stored = store.is_shared and not is_file(project)
        project_id = project if is_only_stored else project_id_of(workspace, project)
        if not store.is_shared:
            reached = reachable(workspace, project_id)
            apply(store, reached, workspace=workspace.settings.name, validate=check_project, now=now)
        definition = workspace.get("project", project_id)
        done = activate_project(
            store,
            project_id,
            validate=check_project,
            now=now,
            dataset_version=dataset_version,
            source=definition.source if definition else None,
        )
    if as_json:
        say_json(
            {
                "project_id": done.project_id,
                "version": done.version,
                "changed": done.is_new,
                "datasets": [
                    {"id": item.dataset_id, "version": item.version, "pinned": item.is_pinned} for item in done.inputs
                ],
                "notices": [notice.message for notice in done.notices],
            }
        )
        return
    for notice in done.notices:
        show_notice(notice)
    say(f"{done.project_id} is active as version {done.version}" + ("" if done.is_new else " already"))
    if not invocation(context).is_quiet:
        inputs = ", ".join(
            f"{item.dataset_id} version {item.version}{' (pinned)' if item.is_pinned else ''}" for item in done.inputs
        )
        remark(f"validated against {inputs}")


def deactivate(context: typer.Context, project: ProjectArgument, as_json: AsJson = False) -> None:
    """Keep a project from running until it is activated again."""
    from datetime import UTC, datetime

    from daybook.cli.workspace_store import is_file, load, opened, project_id_of, settings
    from daybook.store.lifecycle import deactivate as deactivate_project

    if is_file(project):
        project = project_id_of(load(context), project)
    root, found = settings(context)
    with opened(found.store, root) as store:
        is_changed = deactivate_project(store, project, now=datetime.now(UTC))
    if as_json:
        say_json({"project_id": project, "changed": is_changed})
    else:
        say(f"{project} is inactive" + ("" if is_changed else " already"))
