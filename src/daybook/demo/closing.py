"""Closing a month of the demonstration: both projects, the second on what the first registered."""

from collections.abc import Iterator

from daybook.model.loading import Workspace
from daybook.runs.attempt import Surroundings
from daybook.runs.named_project import find_project
from daybook.runs.result import RunResult
from daybook.runs.running import run
from daybook.runs.starting import RunWish, apply_reached
from daybook.store.lifecycle import activate

PROJECTS = ("close", "management-summary")


def close_month(workspace: Workspace, around: Surroundings, period: str) -> Iterator[RunResult]:
    """Activate and run one project after the other."""
    for project in PROJECTS:
        definition = find_project(workspace, project)
        now = around.clock()
        apply_reached(workspace, definition, around.store, around.validate, now)
        activate(around.store, project, validate=around.validate, now=now, source=definition.source)
        yield from run(workspace, around, RunWish(project, period))
