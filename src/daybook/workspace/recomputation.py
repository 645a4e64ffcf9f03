"""Computes a run again by the second engine, for an auditor."""

from collections.abc import Mapping

from daybook.runs.recomputation import Recomputation, recompute_run
from daybook.workspace.open_workspace import OpenedWorkspace


def recompute(
    workspace: OpenedWorkspace, run: str, keys: Mapping[str, str | None] | None = None, *, limit: int = 20
) -> Recomputation:
    """A run, by its id or as PROJECT@PERIOD, compared cell by cell with what it wrote.

    Spark computes nothing of it, and is started only to fetch rows of tables that a session alone reads."""
    with workspace.open_run_environment() as environment:
        with environment.store.read() as transaction:
            run_id = transaction.runs.id_of(run)
        return recompute_run(environment, run_id, keys, shown=limit)
