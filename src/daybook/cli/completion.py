"""What a shell may complete: ids, runs, periods, functions; nothing at all where anything is wrong."""

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from pathlib import Path

    from daybook.model.loading import Workspace
    from daybook.resolve.calendars import PeriodCalendar

Candidate = str | tuple[str, str]
Complete = Callable[[typer.Context, str], list[Candidate]]

_RUNS = 50
_RANGE = ".."


def _silent(candidates: Callable[[typer.Context], Iterable[Candidate]]) -> Complete:
    """Those that begin with what was typed; an error would only disturb the line that is being written."""

    def complete(context: typer.Context, incomplete: str) -> list[Candidate]:
        try:
            return [each for each in candidates(context) if _text(each).startswith(incomplete)]
        except Exception:
            return []

    return complete


def _text(candidate: Candidate) -> str:
    return candidate if isinstance(candidate, str) else candidate[0]


@_silent
def projects(context: typer.Context) -> Iterable[str]:
    """The projects of the workspace around here."""
    return _workspace(context).definitions["project"]


@_silent
def calendars(context: typer.Context) -> Iterable[str]:
    from daybook.resolve.calendars import GREGORIAN_ID

    return (GREGORIAN_ID, *_workspace(context).definitions["calendar"])


@_silent
def levels(context: typer.Context) -> Iterable[str]:
    return _calendar(context).levels


@_silent
def statuses(_: typer.Context) -> Iterable[str]:
    from typing import get_args

    from daybook.store.records import RunStatus

    return get_args(RunStatus)


@_silent
def shown_ids(context: typer.Context) -> Iterable[Candidate]:
    """What `show` can show of the kind that stands before."""
    kind: Any = str(context.params.get("kind") or "")
    if kind == "run":
        return _runs(context)
    with _store(context) as store, store.read() as transaction:
        return [identifier for _, identifier in transaction.definitions.heads(kind)]


def explained(context: typer.Context, incomplete: str) -> list[Candidate]:
    """Runs; codes once one is begun, for there are hundreds."""
    from daybook.errors.codes import CODES

    begun = incomplete.upper()
    codes = [(code, entry.wording) for code, entry in CODES.items() if begun and code.startswith(begun)]
    return [*run_ids()(context, incomplete), *codes]


@_silent
def operations(context: typer.Context) -> Iterable[Candidate]:
    """The operations of the run that stands before."""
    from daybook.runs.snapshot import snapshot_from_json

    with _store(context) as store, store.read() as transaction:
        snapshot = snapshot_from_json(transaction.runs.snapshot(str(context.params.get("what"))))
    return [(operation.id, operation.name) for operation in snapshot.project.operations]


def run_ids(*status: str) -> Complete:
    """The newest runs that have one of these statuses, each with what it ran."""
    return _silent(lambda context: _runs(context, *status))


def _runs(context: typer.Context, *status: str) -> Iterator[Candidate]:
    from daybook.store.records import RunFilter

    with _store(context) as store, store.read() as transaction:
        page = transaction.runs.page(RunFilter(), limit=_RUNS, after=None)
    for run in page.runs:
        if not status or run.status in status:
            yield run.id, f"{run.project_id} {run.period} {run.status}"


def periods(context: typer.Context, incomplete: str) -> list[Candidate]:
    """Periods of the year that was begun, or of this one and the last; single days where nothing longer is left."""
    import re
    from datetime import UTC, datetime

    before, dots, begun = incomplete.rpartition(_RANGE)
    year = re.match(r"\d{4}", begun)
    this_year = datetime.now(UTC).year

    @_silent
    def found(context: typer.Context) -> Iterable[Candidate]:
        cut = _calendar(context)
        years = (int(year[0]),) if year else (this_year - 1, this_year)
        known = [period for label in years for period in cut.of_year(label) if period.identifier.startswith(begun)]
        longer = [period for period in known if period.start_date < period.end_date]
        is_open = any(period.identifier != begun for period in longer)
        return [(f"{before}{dots}{each.identifier}", each.level) for each in (longer if is_open else known)]

    return found(context, incomplete)


def functions(incomplete: str) -> list[str]:
    """In the case they are being written in: a shell drops what does not begin as the word does."""
    from daybook.expression.functions.table import FUNCTIONS

    names = [name for name in FUNCTIONS if name.startswith(incomplete.upper())]
    return [name.lower() for name in names] if incomplete.islower() else names


def _calendar(context: typer.Context) -> "PeriodCalendar":
    """The calendar that was named, or that of the project that was."""
    from daybook.model.workspace_catalog import WorkspaceCatalog
    from daybook.resolve.calendars import GREGORIAN
    from daybook.resolve.known_calendars import calendar_for

    named = context.params.get("calendar")
    project_id = context.params.get("project")
    if named is None and project_id is None:
        return GREGORIAN
    workspace = _workspace(context)
    project = workspace.definitions["project"].get(str(project_id))
    return calendar_for(named or (project.model.calendar_id if project else None), WorkspaceCatalog(workspace))


def _workspace(context: typer.Context) -> "Workspace":
    from daybook.model.loading.workspace import read_workspace

    return read_workspace(_root(context))[0]


def _store(context: typer.Context) -> Any:
    from daybook.cli.workspace_store import opened_or_empty
    from daybook.model.loading.workspace import load_settings

    root = _root(context)
    return opened_or_empty(load_settings(root)[0].store, root)


def _root(context: typer.Context) -> "Path":
    """The workspace that stands on the line: no command has run that could have kept it."""
    import os
    import shlex
    from pathlib import Path

    from daybook.cli.root_options import named_workspace
    from daybook.model.loading import find_workspace

    named = context.find_root().params.get("workspace")
    if named is None:
        # The variables in which Typer's scripts for bash, and for the others, hand over the line.
        line = os.environ.get("COMP_WORDS") or os.environ.get("_TYPER_COMPLETE_ARGS") or ""
        named = named_workspace(shlex.split(line.replace("\n", " ")))
    return find_workspace(Path(named) if named else Path())
