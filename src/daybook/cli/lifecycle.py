"""`daybook plan`, `apply`, `activate` and `deactivate`: the way of definitions from files to active projects."""

from collections import Counter
from typing import TYPE_CHECKING, Annotated

import typer

from daybook.cli import completion
from daybook.cli.arguments import AsJson, ProjectArgument, json_option
from daybook.cli.open_workspace import open_workspace, proven
from daybook.cli.root_options import root_options
from daybook.cli.terminal import echo, echo_difference, echo_json, echo_note, show_error, show_notice

if TYPE_CHECKING:
    from daybook.runs.lifecycle.apply import ApplyPlan
    from daybook.runs.lifecycle.effects import ProjectEffect
    from daybook.runs.lifecycle.touched_columns import TouchedColumns


_ACTION_WORDS = {
    "added": "added",
    "new_version": "new version",
    "retitled": "renamed",
    "enabled": "enabled",
    "disabled": "disabled",
}


def show_changes(plan: "ApplyPlan", *, is_quiet: bool, is_applied: bool = False) -> None:
    for change in plan.changes:
        if change.action != "unchanged":
            version = f"version {change.version}" if change.is_structural else ""
            echo(f"{_ACTION_WORDS[change.action]:<12} {change.kind:<11} {change.id}  {version}".rstrip())
            echo_difference(change.difference)
    for effect in plan.effects:
        if effect.before != effect.after:
            before = f"{effect.before} -> " if effect.before else ""
            echo(f"{'status':<12} {'project':<11} {effect.project_id}  {before}{effect.after}")
    for project in plan.stale:
        echo(f"{'stale':<12} {'project':<11} {project.project_id}  {', '.join(project.periods)}")
        echo(f"    because of {', '.join(project.causes)}")
    show_touched(plan.touched)
    for notice in (*plan.notices, *(item for effect in plan.effects for item in effect.notices)):
        show_notice(notice)
    for notice in (item for effect in plan.effects for item in effect.expected_notices):
        show_notice(notice)
    for effect in plan.effects:
        _show_project_findings(effect)
    if plan.held:
        _show_held(plan, is_applied=is_applied)
    if not is_quiet:
        echo_note(_changes_summary(plan))


def _show_held(plan: "ApplyPlan", *, is_applied: bool) -> None:
    """What an active project reads changes only with approval."""
    named = ", ".join(f"{change.kind} {change.id}" for change in plan.held)
    if not is_applied:
        echo(f"needs approval: {named}")
    elif plan.request is not None:
        echo(f"request {plan.request} was made: {named} is used once it is approved")
        echo_note(f"others see it with `daybook requests {plan.request}`")


def show_touched(touched: "tuple[TouchedColumns, ...]") -> None:
    """The columns of other projects that come from what changes."""
    for project in touched:
        output = f"output {project.output_seq}: {', '.join(project.columns)}"
        echo(f"{'touches':<12} {'project':<11} {project.project_id}  {output}")
        echo(f"    because of {', '.join(project.causes)}")


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
        parts.append(f"{broken} project{'s' if broken > 1 else ''} in conflict now")
    return ", ".join(parts) or "there are no definitions"


PruneOption = Annotated[bool, typer.Option("--prune", help="Disable definitions that are no longer in the files.")]
ChangesAsJson = Annotated[bool, json_option("The changes as JSON.")]


def apply(context: typer.Context, prune: PruneOption = False, as_json: ChangesAsJson = False) -> None:
    """Store the workspace's definitions, all or none.

    A shared store is set up or migrated on the way.
    """
    from daybook.workspace.lifecycle import apply_changes

    changes = proven(context, lambda workspace: apply_changes(workspace, prune=prune))
    _show_or_echo(context, changes, as_json=as_json, is_applied=True)


def plan(context: typer.Context, prune: PruneOption = False, as_json: ChangesAsJson = False) -> None:
    """Show what `apply` would change and break."""
    from daybook.workspace.lifecycle import plan_changes

    _show_or_echo(context, plan_changes(open_workspace(context), prune=prune), as_json=as_json)


def _show_or_echo(context: typer.Context, changes: "ApplyPlan", *, as_json: bool, is_applied: bool = False) -> None:
    if as_json:
        echo_json(changes)
    else:
        show_changes(changes, is_quiet=root_options(context).is_quiet, is_applied=is_applied)


def activate(
    context: typer.Context,
    projects: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[PROJECT…]",
            help="Ids of projects, patterns such as 'clean-*', or the files that define them.",
            autocompletion=completion.project_ids,
        ),
    ] = None,
    all_projects: Annotated[
        bool, typer.Option("--all", help="All projects of the workspace, except deactivated ones.")
    ] = False,
    dataset_version: Annotated[
        int | None,
        typer.Option("--dataset-version", metavar="N", help="The version of the input to read from now on.", min=1),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Validate projects and make them the versions that run.

    Several are checked together, against what they will register, and activated all or none.
    """
    from daybook.workspace.lifecycle import activate_projects

    if bool(projects) == all_projects or (dataset_version is not None and len(projects or ()) != 1):
        raise typer.BadParameter("name one project or several, or use --all; --dataset-version goes with one project")
    done = proven(
        context, lambda workspace: activate_projects(workspace, projects or (), dataset_version=dataset_version)
    )
    if as_json:
        echo_json(done[0] if len(done) == 1 and not all_projects else done)
        return
    for activation in done:
        for notice in activation.notices:
            show_notice(notice)
        show_touched(activation.touched)
        echo(
            f"{activation.project_id} is active as version {activation.version}"
            + ("" if activation.is_new else " already")
        )
        if not root_options(context).is_quiet:
            inputs = ", ".join(
                f"{item.dataset_id} version {item.version}{' (pinned)' if item.is_pinned else ''}"
                for item in activation.inputs
            )
            echo_note(f"validated against {inputs}")


def deactivate(context: typer.Context, project: ProjectArgument, as_json: AsJson = False) -> None:
    """Keep a project from running until it is activated again."""
    from daybook.workspace.lifecycle import deactivate_project

    done = proven(context, lambda workspace: deactivate_project(workspace, project))
    if as_json:
        echo_json(done)
    else:
        echo(f"{done.project_id} is inactive" + ("" if done.is_changed else " already"))
