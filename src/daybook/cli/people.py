"""`daybook people`: the people who can prove who they are, with their roles."""

from typing import TYPE_CHECKING, Annotated

import typer

from daybook.cli.arguments import AsJson
from daybook.cli.command_help import add_command
from daybook.cli.open_workspace import open_workspace, proven
from daybook.cli.root_options import root_options
from daybook.cli.terminal import echo, echo_json, echo_note, show_table

if TYPE_CHECKING:
    from daybook.workspace.approvals import PersonChange


people_app = typer.Typer(
    help="List people and give them tokens and roles.",
    short_help="List people and give them tokens and roles",
    epilog="""\b
Examples:
  daybook people
  daybook people add anna --role controlling""",
    invoke_without_command=True,
    rich_markup_mode=None,
)

NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="The name of a person.")]
RolesOption = Annotated[
    list[str] | None, typer.Option("--role", metavar="ROLE", help="A role that the policy names; may be repeated.")
]


@people_app.callback()
def people(context: typer.Context, as_json: AsJson = False) -> None:
    """List the people who can prove who they are, with their roles."""
    if context.invoked_subcommand is not None:
        return
    from daybook.workspace.approvals import list_people

    listed = list_people(open_workspace(context))
    if as_json:
        echo_json(listed)
        return
    if not listed:
        echo_note("nobody is known yet; `daybook people add NAME --role ROLE` adds somebody")
        return
    rows = [
        (
            person.name,
            ", ".join(person.roles),
            f"account {person.account}" if person.account is not None else f"token of {person.token_at:%Y-%m-%d}",
            f"{person.added_at:%Y-%m-%d}",
        )
        for person in listed
    ]
    show_table(("name", "roles", "proof", "added"), rows, fixed=(0, 2, 3))


def add(
    context: typer.Context,
    name: NameArgument,
    role: RolesOption = None,
    account: Annotated[
        int | None,
        typer.Option(
            "--account",
            metavar="NUMBER",
            help="Prove who it is by an account of this machine (`id -u`) instead of a token; embedded stores only.",
            min=0,
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Add a person and print a personal token.

    The token is printed this once, alone on standard output; the store keeps a salted hash of it. Hand it to the person
    only: whoever has it can approve under the name.
    """
    from daybook.workspace.approvals import add_person

    _show_change(
        context, proven(context, lambda opened: add_person(opened, name, roles=role or (), account=account)), as_json
    )


def remove(context: typer.Context, name: NameArgument, as_json: AsJson = False) -> None:
    """Remove a person with token, account and roles; past decisions stay."""
    from daybook.workspace.approvals import remove_person

    _show_change(context, proven(context, lambda opened: remove_person(opened, name)), as_json)


def renew(context: typer.Context, name: NameArgument, as_json: AsJson = False) -> None:
    """Print a new personal token, which makes the old one invalid.

    Everybody can renew their own token without approval, with DAYBOOK_TOKEN set to the one before.
    """
    from daybook.workspace.approvals import renew_token

    _show_change(context, proven(context, lambda opened: renew_token(opened, name)), as_json)


def roles(context: typer.Context, name: NameArgument, role: RolesOption = None, as_json: AsJson = False) -> None:
    """Replace the roles of a person."""
    from daybook.workspace.approvals import set_roles

    _show_change(context, proven(context, lambda opened: set_roles(opened, name, roles=role or ())), as_json)


_DONE = {"add": "was added", "remove": "was removed", "renew": "has a new token", "roles": "has other roles"}


def _show_change(context: typer.Context, change: "PersonChange", as_json: bool) -> None:
    if as_json:
        echo_json(change)
        return
    if change.token is not None:
        echo(change.token)
    if root_options(context).is_quiet:
        return
    if change.request is not None:
        echo_note(f"request {change.request} was made; it counts once others have approved it")
    else:
        echo_note(f"{change.name} {_DONE[change.change]}")
    if change.token is not None:
        echo_note("this token is shown only now; the person sets DAYBOOK_TOKEN to it, or logs in with it on the page")


add_command(
    people_app, "add", add, "daybook people add anna --role controlling", "daybook people add otto --account 1000"
)
add_command(people_app, "remove", remove, "daybook people remove anna")
add_command(people_app, "renew", renew, "daybook people renew anna")
add_command(people_app, "roles", roles, "daybook people roles anna --role controlling --role cfo")
