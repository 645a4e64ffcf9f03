"""`daybook policy`: which acts need approval."""

from typing import TYPE_CHECKING, Any

import typer

from daybook.cli.arguments import AsJson
from daybook.cli.command_help import add_command
from daybook.cli.open_workspace import open_workspace, proven
from daybook.cli.terminal import echo_json, echo_note, show_table

if TYPE_CHECKING:
    from daybook.workspace.approvals import PolicyState


policy_app = typer.Typer(
    help="Show which acts need approval, and put the policy of the file in force.",
    short_help="Show which acts need approval",
    epilog="""\b
Examples:
  daybook policy
  daybook policy adopt""",
    invoke_without_command=True,
    rich_markup_mode=None,
)


@policy_app.callback()
def policy(context: typer.Context, as_json: AsJson = False) -> None:
    """Show the policy that daybook.yaml proposes and the one in force."""
    if context.invoked_subcommand is not None:
        return
    from daybook.workspace.approvals import show_policy

    _show_policy(show_policy(open_workspace(context)), as_json)


def adopt(context: typer.Context, as_json: AsJson = False) -> None:
    """Put the policy of daybook.yaml in force.

    It needs the approvals of every rule of the policy in force before; the first one needs none.
    """
    from daybook.workspace.approvals import adopt_policy

    _show_policy(proven(context, adopt_policy), as_json)


def _show_policy(state: "PolicyState", as_json: bool) -> None:
    if as_json:
        echo_json(state)
        return
    if state.in_force is None and state.proposed is None:
        echo_note("no policy is proposed or in force: nothing needs approval")
        return
    in_force, proposed = state.in_force or {}, state.proposed or {}
    acts = [act for act in ("activate", "lock", "reopen", "drop", "seal") if act in {**in_force, **proposed}]
    show_table(("act", "in force", "daybook.yaml"), [(act, _rule(in_force, act), _rule(proposed, act)) for act in acts])
    if state.adopted_at is not None:
        echo_note(f"in force since {state.adopted_at:%Y-%m-%d %H:%M}, put in force by {state.adopted_by}")
    if not state.is_same and state.proposed is not None:
        echo_note("`daybook policy adopt` puts the policy of daybook.yaml in force")


def _rule(policy: Any, act: str) -> str:
    rule = policy.get(act)
    return f"{rule['count']} of {', '.join(rule['by'])}" if rule is not None else "-"


add_command(policy_app, "adopt", adopt, "daybook policy adopt")
