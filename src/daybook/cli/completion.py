"""What a shell may complete: projects, runs, functions, levels; nothing at all where anything is wrong."""

from collections.abc import Iterable, Iterator

import typer

_RUNS = 50


def projects(context: typer.Context, incomplete: str) -> Iterator[str]:
    """The ids of the projects of the workspace around here."""
    return _beginning(incomplete, _project_ids(context))


def run_ids(context: typer.Context, incomplete: str) -> Iterator[tuple[str, str]]:
    """The newest runs, each with what it ran."""
    from daybook.cli.workspace_store import opened_or_empty, settings
    from daybook.errors import DaybookError
    from daybook.store.records import RunFilter

    try:
        root, found = settings(context)
        with opened_or_empty(found.store, root) as store, store.read() as transaction:
            page = transaction.runs.page(RunFilter(None, None, None), limit=_RUNS, after=None)
    except DaybookError:
        return
    for run in page.runs:
        if run.id.startswith(incomplete):
            yield run.id, f"{run.project_id} {run.period} {run.status}"


def functions(incomplete: str) -> Iterator[str]:
    from daybook.expression.functions.table import FUNCTIONS

    return _beginning(incomplete.upper(), FUNCTIONS)


def _project_ids(context: typer.Context) -> Iterable[str]:
    from daybook.cli.invocation import workspace_root
    from daybook.errors import DaybookError
    from daybook.model.loading.workspace import read_workspace

    try:
        workspace, _ = read_workspace(workspace_root(context))
    except DaybookError:
        return ()
    return workspace.definitions["project"]


def _beginning(incomplete: str, names: Iterable[str]) -> Iterator[str]:
    return (name for name in names if name.startswith(incomplete))
