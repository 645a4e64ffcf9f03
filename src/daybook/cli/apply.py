"""What applying changes, for machines and for people.

`daybook apply` and `daybook plan`: the workspace's definitions into the store, or what that would change.

`daybook activate` and `daybook deactivate`.
"""

from collections import Counter
from typing import TYPE_CHECKING, Annotated, Any

import typer

from daybook.cli.arguments import AsJson, ProjectArgument, json_option, root_options
from daybook.cli.terminal import echo, echo_json, echo_note, show_error, show_notice

if TYPE_CHECKING:
    from daybook.store.apply import ApplyPlan
    from daybook.store.effects import ProjectEffect


_ACTION_WORDS = {
    "added": "added",
    "new_version": "new version",
    "retitled": "renamed",
    "enabled": "enabled",
    "disabled": "disabled",
}


def changes_as_json(plan: "ApplyPlan") -> dict[str, Any]:
    from daybook.errors import error_to_json as error_data

    return {
        "changes": [
            {
                "kind": change.kind,
                "id": change.id,
                "action": change.action,
                "version": change.version,
                "previous_version": change.previous_version,
            }
            for change in plan.changes
        ],
        "projects": [
            {
                "id": effect.project_id,
                "before": effect.before,
                "after": effect.after,
                "breaks": [item.as_data() for item in effect.breaks],
                "errors": [error_data(error) for error in effect.validation.errors],
                "notices": [item.message for item in effect.notices],
            }
            for effect in plan.effects
        ],
        "notices": [item.message for item in plan.notices],
    }


def show_changes(plan: "ApplyPlan", *, is_quiet: bool) -> None:
    for change in plan.changes:
        if change.action != "unchanged":
            version = f"version {change.version}" if change.is_structural else ""
            echo(f"{_ACTION_WORDS[change.action]:<12} {change.kind:<11} {change.id}  {version}".rstrip())
    for effect in plan.effects:
        if effect.before != effect.after:
            before = f"{effect.before} -> " if effect.before else ""
            echo(f"{'status':<12} {'project':<11} {effect.project_id}  {before}{effect.after}")
    for notice in (*plan.notices, *(item for effect in plan.effects for item in effect.notices)):
        show_notice(notice)
    for effect in plan.effects:
        _show_project_findings(effect)
    if not is_quiet:
        echo_note(_changes_summary(plan))


def _show_project_findings(effect: "ProjectEffect") -> None:
    """Drafts and conflicts are stored all the same, so these are warnings."""
    from daybook.errors import notice

    if not effect.findings:
        return
    if effect.after == "conflict":
        count = f"{len(effect.findings)} finding{'s' if len(effect.findings) > 1 else ''}"
        show_notice(notice("STORE_019", project_id=effect.project_id, summary=count))
    else:
        show_notice(notice("STORE_028", project_id=effect.project_id, count=len(effect.findings)))
    for error in effect.findings:
        show_error(error)


def _changes_summary(plan: "ApplyPlan") -> str:
    counts = Counter[str](change.action for change in plan.changes)
    parts = [
        f"{counts[action]} {word}"
        for action, word in (*_ACTION_WORDS.items(), ("unchanged", "unchanged"))
        if counts[action]
    ]
    broken = sum(effect.is_broken_now for effect in plan.effects)
    if broken:
        parts.append(f"{broken} project{'s' if broken > 1 else ''} put into conflict")
    return ", ".join(parts) or "nothing is defined"


PruneOption = Annotated[bool, typer.Option("--prune", help="Disable what the files no longer define.")]
ChangesAsJson = Annotated[bool, json_option("The changes as JSON.")]


def apply(context: typer.Context, prune: PruneOption = False, as_json: ChangesAsJson = False) -> None:
    """Store the workspace's definitions, all or none.

    A shared store is set up or migrated on the way.
    """
    from datetime import UTC, datetime

    from daybook.cli.arguments import load_checked_workspace, open_workspace_store
    from daybook.store.apply import apply as apply_definitions
    from daybook.store.project_checks import check_project

    workspace = load_checked_workspace(context)
    with open_workspace_store(workspace.settings.store, workspace.root, migrate=True) as store:
        done = apply_definitions(
            store,
            workspace.all(),
            workspace=workspace.settings.name,
            validate=check_project,
            now=datetime.now(UTC),
            prune=prune,
        )
    if as_json:
        echo_json(changes_as_json(done))
    else:
        show_changes(done, is_quiet=root_options(context).is_quiet)


def plan(context: typer.Context, prune: PruneOption = False, as_json: ChangesAsJson = False) -> None:
    """Show what `apply` would change and break."""
    from daybook.cli.arguments import load_checked_workspace, open_store_or_empty
    from daybook.store.apply import plan as plan_definitions
    from daybook.store.project_checks import check_project

    workspace = load_checked_workspace(context)
    with open_store_or_empty(workspace.settings.store, workspace.root) as store:
        planned = plan_definitions(
            store, workspace.all(), workspace=workspace.settings.name, validate=check_project, prune=prune
        )
    if as_json:
        echo_json(changes_as_json(planned))
    else:
        show_changes(planned, is_quiet=root_options(context).is_quiet)


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

    from daybook.cli.arguments import find_project_id, is_project_file, load_checked_workspace, open_workspace_store
    from daybook.store.apply import apply
    from daybook.store.lifecycle import activate as activate_project
    from daybook.store.project_checks import check_project
    from daybook.store.references import reachable_definitions

    workspace = load_checked_workspace(context)
    now = datetime.now(UTC)
    with open_workspace_store(workspace.settings.store, workspace.root) as store:
        # A shared store may know projects that are not in this workspace.
        is_only_stored = store.is_shared and not is_project_file(project)
        project_id = project if is_only_stored else find_project_id(workspace, project)
        if not store.is_shared:
            reached = reachable_definitions(workspace, project_id)
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
        echo_json(
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
    echo(f"{done.project_id} is active as version {done.version}" + ("" if done.is_new else " already"))
    if not root_options(context).is_quiet:
        inputs = ", ".join(
            f"{item.dataset_id} version {item.version}{' (pinned)' if item.is_pinned else ''}" for item in done.inputs
        )
        echo_note(f"validated against {inputs}")


def deactivate(context: typer.Context, project: ProjectArgument, as_json: AsJson = False) -> None:
    """Keep a project from running until it is activated again."""
    from datetime import UTC, datetime

    from daybook.cli.arguments import (
        find_project_id,
        is_project_file,
        load_checked_workspace,
        open_workspace_store,
        root_and_settings,
    )
    from daybook.store.lifecycle import deactivate as deactivate_project

    if is_project_file(project):
        project = find_project_id(load_checked_workspace(context), project)
    root, found = root_and_settings(context)
    with open_workspace_store(found.store, root) as store:
        is_changed = deactivate_project(store, project, now=datetime.now(UTC))
    if as_json:
        echo_json({"project_id": project, "changed": is_changed})
    else:
        echo(f"{project} is inactive" + ("" if is_changed else " already"))
