"""`daybook log`: who did what and when, and whether lines of the log were changed."""

from typing import TYPE_CHECKING, Annotated

import typer

from daybook.cli.arguments import AsJson
from daybook.cli.exit_codes import FAILED
from daybook.cli.open_workspace import open_workspace
from daybook.cli.terminal import echo, echo_json, echo_note, show_table

if TYPE_CHECKING:
    from daybook.store.records import LogLine
    from daybook.workspace.log import LogListing, LogVerification


def log(
    context: typer.Context,
    limit: Annotated[int, typer.Option("--limit", metavar="NUMBER", min=1, help="The most lines to show.")] = 50,
    before: Annotated[
        int | None, typer.Option("--before", metavar="NUMBER", min=1, help="Only lines before this one.")
    ] = None,
    is_verifying: Annotated[
        bool, typer.Option("--verify", help="Check the chain of all lines; exit code 1 if one was changed.")
    ] = False,
    head: Annotated[
        str | None,
        typer.Option(
            "--head",
            metavar="DIGEST",
            help="With --verify: the digest of a line that the log once had, kept elsewhere.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show who did what and when, newest first.

    Every line holds the SHA-256 of the line before it. `--verify` finds each line that was changed, inserted, removed
    or moved in the database. Lines that were cut off at the end show only against a digest that was kept elsewhere.
    """
    from daybook.workspace.log import show_log, verify_log

    if head is not None and not is_verifying:
        raise typer.BadParameter("--head needs --verify")
    workspace = open_workspace(context)
    if not is_verifying:
        listing = show_log(workspace, limit=limit, before=before)
        if as_json:
            echo_json(listing)
        else:
            _show_lines(listing)
        return
    verification = verify_log(workspace, head=head)
    if as_json:
        echo_json(verification)
    else:
        _show_verification(verification, head)
    if not verification.is_valid:
        raise typer.Exit(FAILED)


def _show_lines(listing: "LogListing") -> None:
    if not listing.lines:
        echo_note("nothing was logged yet")
        return
    rows = [
        (str(line.number), f"{line.at:%Y-%m-%d %H:%M:%S}", _who(line), line.act, line.subject, _details(line))
        for line in listing.lines
    ]
    show_table(("line", "time", "by", "act", "on", "details"), rows, right=(0,), fixed=(0, 1, 2, 3))
    echo_note(f"digest of line {listing.head.number}: {listing.head.digest}")
    if listing.next is not None:
        echo_note(f"`daybook log --before {listing.next}` shows earlier lines")


def _who(line: "LogLine") -> str:
    return line.by if line.proof is None else f"{line.by} ({line.proof})"


def _details(line: "LogLine") -> str:
    """What of an act is worth a line: why it was refused, else its plain facts."""
    facts = [f"refused: {line.refused}"] if line.refused is not None else []
    for name, value in line.details.items():
        if isinstance(value, bool):
            facts += [name] if value else []
        elif isinstance(value, list):
            facts.append(f"{len(value)} {name}")
        elif value is not None and not isinstance(value, dict) and name not in ("digest", "fingerprint"):
            facts.append(f"{name} {value}")
    return ", ".join(facts)


def _show_verification(verification: "LogVerification", head: str | None) -> None:
    if verification.is_valid:
        echo(f"{verification.lines} lines, none of them was changed")
        echo_note(f"digest of line {verification.head.number}: {verification.head.digest}")
        if head is None:
            echo_note(
                "whether lines are missing at the end shows only with --head and a digest that was kept elsewhere"
            )
        return
    rows = [(str(problem.number), problem.problem) for problem in verification.problems]
    show_table(("line", "problem"), rows, right=(0,), fixed=(0,))
