"""`daybook explain`: what a code means, or which rows an operation of a run worked on."""

from typing import TYPE_CHECKING, Annotated

import typer

from daybook.cli import completion
from daybook.cli.invocation import invocation
from daybook.cli.parameters import AsJson
from daybook.cli.terminal import say, say_json

if TYPE_CHECKING:
    from daybook.runs.explanation import Explanation


def explain(
    context: typer.Context,
    what: Annotated[
        str,
        typer.Argument(
            metavar="CODE|RUN",
            help="An error's code, or the id of a run as `daybook runs` lists it.",
            autocompletion=completion.explained,
        ),
    ],
    operation: Annotated[
        str | None,
        typer.Argument(
            metavar="OPERATION", help="Of a run: an operation's id or seq.", autocompletion=completion.operations
        ),
    ] = None,
    keys: Annotated[
        list[str] | None,
        typer.Argument(metavar="COLUMN=VALUE", help="Only rows with these values; COLUMN= is NULL."),
    ] = None,
    limit: Annotated[
        int, typer.Option("--limit", metavar="N", help="How many rows to show at the most.", min=1, max=10_000)
    ] = 20,
    as_json: AsJson = False,
) -> None:
    """Say what an error code means, or where a number comes from.

    For a run it shows the rows that an operation picked, as they were when it came to them, computed again from the
    run's snapshot. Summary rows are named by the columns they are grouped by.
    """
    from daybook.cli import explain_report

    # Ids of runs begin with a date.
    if operation is None and not what[:1].isdigit():
        _explain_code(what, as_json=as_json)
        return
    found = _explained(context, what, operation, keys or [], limit, as_json=as_json)
    say_json(explain_report.as_data(found)) if as_json else explain_report.show(found)


def _explain_code(written: str, *, as_json: bool) -> None:
    from daybook.errors import CODES, DaybookError
    from daybook.model.suggestion import did_you_mean

    # As a message shows it, or as somebody remembers it.
    code = CODES.get(written.strip("[]").upper().replace("-", "_"))
    if code is None:
        raise DaybookError("RUN_029", name=written, hint=did_you_mean(written, CODES))
    if as_json:
        say_json({"code": code.code, "message": code.wording, "explanation": code.explanation, "hint": code.advice})
        return
    say(f"[{code.code}] {code.wording}")
    say(f"  {code.explanation}")
    if code.advice:
        say(f"  hint: {code.advice}")


def _explained(
    context: typer.Context, run_id: str, operation: str | None, words: list[str], limit: int, *, as_json: bool
) -> "Explanation":
    from daybook.cli.run_progress import waiting
    from daybook.cli.spark_session import background_session
    from daybook.cli.workspace_store import load
    from daybook.runs.explaining import explain as compute
    from daybook.runs.opening import surroundings
    from daybook.runs.row_keys import written_keys

    called = invocation(context)
    keys = written_keys(words)
    workspace = load(context)
    with (
        background_session(workspace.settings.engine, show_log=called.is_verbose) as session,
        surroundings(workspace, session) as around,
        waiting("computing it again", is_quiet=called.is_quiet or as_json),
    ):
        return compute(around, run_id, operation, keys, limit=limit)
