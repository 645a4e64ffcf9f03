"""Completes arguments in the shell; an error gives no suggestions."""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from daybook.cli.root_options import workspace_option

if TYPE_CHECKING:
    from daybook.definitions.loading import LoadedWorkspace
    from daybook.resolve.calendars.calendar import PeriodCalendar
    from daybook.workspace.open_workspace import OpenedWorkspace


Candidate = str | tuple[str, str]
Completer = Callable[[typer.Context, str], list[Candidate]]
_MOST_RUNS = 50
_RANGE_SEPARATOR = ".."


def _matching_or_empty(candidates: Callable[[typer.Context], Iterable[Candidate]]) -> Completer:
    """Those that begin with what was typed; an error would only disturb the line that is being written."""

    def complete(context: typer.Context, incomplete: str) -> list[Candidate]:
        try:
            return [candidate for candidate in candidates(context) if _candidate_text(candidate).startswith(incomplete)]
        except Exception:
            return []

    return complete


def _candidate_text(candidate: Candidate) -> str:
    return candidate if isinstance(candidate, str) else candidate[0]


@_matching_or_empty
def project_ids(context: typer.Context) -> Iterable[str]:
    """The projects of the workspace around here."""
    return _read_workspace(context).definitions["project"]


@_matching_or_empty
def parameter_names(context: typer.Context) -> Iterable[Candidate]:
    """The parameters of the project before it on the line, in the form NAME=."""
    projects = _read_workspace(context).definitions["project"]
    # While the value of an option is being written, no argument is known yet.
    named = next(projects[word].model for word in _line_words() if word in projects)
    return [(f"{name}=", f"a {parameter.type}") for name, parameter in named.parameters.items()]


@_matching_or_empty
def project_parameter_names(context: typer.Context) -> Iterable[Candidate]:
    """The parameters of all projects, as a build sets them."""
    projects = _read_workspace(context).definitions["project"].values()
    return [
        (f"{project.id}.{name}=", f"a {parameter.type}")
        for project in projects
        for name, parameter in project.model.parameters.items()
    ]


@_matching_or_empty
def calendar_ids(context: typer.Context) -> Iterable[str]:
    from daybook.resolve.calendars.calendar import GREGORIAN_ID

    return (GREGORIAN_ID, *_read_workspace(context).definitions["calendar"])


@_matching_or_empty
def calendar_levels(context: typer.Context) -> Iterable[str]:
    return _named_calendar(context).levels


@_matching_or_empty
def run_statuses(_: typer.Context) -> Iterable[str]:
    from daybook.workspace.runs import RUN_STATUSES

    return RUN_STATUSES


@_matching_or_empty
def shown_ids(context: typer.Context) -> Iterable[Candidate]:
    """The ids of the kind before it on the line."""
    kind: Any = str(context.params.get("kind") or "")
    if kind == "run":
        return _recent_runs(context)
    with _open_workspace(context).open_store_or_empty() as store, store.read() as transaction:
        return [identifier for _, identifier in transaction.definitions.heads(kind)]


def runs_and_codes(context: typer.Context, incomplete: str) -> list[Candidate]:
    """Runs; codes once one is begun, for there are hundreds."""
    from daybook.errors.codes import CODES

    begun = incomplete.upper()
    codes = [(code, entry.wording) for code, entry in CODES.items() if begun and code.startswith(begun)]
    return [*run_ids()(context, incomplete), *codes]


@_matching_or_empty
def operation_ids(context: typer.Context) -> Iterable[Candidate]:
    """The operations of the run before it on the line."""
    from daybook.workspace.runs import show_run

    run = show_run(_open_workspace(context), str(context.params.get("what")))
    return [(operation["id"], operation["name"]) for operation in run.snapshot["project"]["operations"]]


@_matching_or_empty
def tables_with_slices(context: typer.Context) -> Iterable[Candidate]:
    """Destinations that collect periods."""
    from daybook.workspace.maintenance import list_slices

    return sorted({slice_.table for slice_ in list_slices(_open_workspace(context))})


@_matching_or_empty
def slice_periods(context: typer.Context) -> Iterable[Candidate]:
    """The periods of the table before it on the line."""
    from daybook.workspace.maintenance import list_slices

    slices = list_slices(_open_workspace(context), str(context.params.get("table")))
    return [(slice_.period, f"{slice_.rows or 0:,} rows") for slice_ in slices]


def run_ids(*status: str) -> Completer:
    """The newest runs that have one of these statuses, each with what it ran."""
    return _matching_or_empty(lambda context: _recent_runs(context, *status))


def _recent_runs(context: typer.Context, *status: str) -> Iterator[Candidate]:
    from daybook.workspace.runs import list_runs

    for run in list_runs(_open_workspace(context), limit=_MOST_RUNS).runs:
        if not status or run.status in status:
            yield run.id, f"{run.project_id} {run.period} {run.status}"


def period_identifiers(context: typer.Context, incomplete: str) -> list[Candidate]:
    """Periods of the year that was begun, or of this one and the last; single days where nothing longer is left."""
    import re
    from datetime import UTC, datetime

    before, dots, begun = incomplete.rpartition(_RANGE_SEPARATOR)
    year = re.match(r"\d{4}", begun)
    this_year = datetime.now(UTC).year

    @_matching_or_empty
    def candidates(context: typer.Context) -> Iterable[Candidate]:
        cut = _named_calendar(context)
        years = (int(year[0]),) if year else (this_year - 1, this_year)
        periods = [period for label in years for period in cut.of_year(label) if period.identifier.startswith(begun)]
        longer = [period for period in periods if period.start_date < period.end_date]
        is_open = any(period.identifier != begun for period in longer)
        return [(f"{before}{dots}{period.identifier}", period.level) for period in (longer if is_open else periods)]

    return candidates(context, incomplete)


def function_names(incomplete: str) -> list[str]:
    """In the case they are being written in: a shell drops what does not begin as the word does."""
    from daybook.expression.functions.function_table import FUNCTIONS

    names = [name for name in FUNCTIONS if name.startswith(incomplete.upper())]
    return [name.lower() for name in names] if incomplete.islower() else names


def _named_calendar(context: typer.Context) -> "PeriodCalendar":
    """The calendar that was named, or that of the project that was."""
    from daybook.definitions.files import definitions_of_files
    from daybook.resolve.calendars.calendar import GREGORIAN
    from daybook.resolve.calendars.periods import calendar_for

    named = context.params.get("calendar")
    project_id = context.params.get("project")
    if named is None and project_id is None:
        return GREGORIAN
    workspace = _read_workspace(context)
    project = workspace.definitions["project"].get(str(project_id))
    return calendar_for(named or (project.model.calendar_id if project else None), definitions_of_files(workspace))


def _read_workspace(context: typer.Context) -> "LoadedWorkspace":
    from daybook.definitions.loading.loaded_workspace import read_workspace

    return read_workspace(_open_workspace(context).root)[0]


def _open_workspace(context: typer.Context) -> "OpenedWorkspace":
    """The workspace named on the line; during completion no command has opened it."""

    from daybook.workspace.open_workspace import open_workspace

    named = context.find_root().params.get("workspace")
    if named is None:
        named = workspace_option(_line_words())
    return open_workspace(Path(named) if named else None)


def _line_words() -> list[str]:
    """The line that is being written."""
    import os
    import shlex

    # The variables in which Typer's scripts for bash, and for the others, hand over the line.
    line = os.environ.get("COMP_WORDS") or os.environ.get("_TYPER_COMPLETE_ARGS") or ""
    return shlex.split(line.replace("\n", " "))
