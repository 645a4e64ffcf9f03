"""Explains a run: the rows that an operation picked, and level by level the rows behind them."""

from collections.abc import Mapping, Sequence

from daybook.runs.explain import levels
from daybook.runs.explain.levels import NumberExplanation, OperationExplanation, RowsQuestion, explain
from daybook.workspace.execution import run_id_of
from daybook.workspace.open_workspace import OpenedWorkspace


def explain_operation(
    workspace: OpenedWorkspace,
    run_id: str,
    operation: str | None,
    keys: Mapping[str, str | None] | None = None,
    *,
    limit: int = 20,
    columns: Sequence[str] = (),
) -> OperationExplanation:
    """The rows that an operation of a run picked, computed again; `keys` are texts by column, None for NULL.

    `columns` are shown beside the usual ones. Each row has its origin, with what to ask for the rows behind it.
    """
    with workspace.open_run_environment() as environment:
        return explain(environment, run_id_of(environment, run_id), operation, keys or {}, limit=limit, columns=columns)


def explain_number(
    workspace: OpenedWorkspace,
    run_id: str,
    operation: str | None,
    keys: Mapping[str, str | None] | None = None,
    *,
    limit: int = 20,
    depth: int | None = None,
    columns: Sequence[str] = (),
) -> NumberExplanation:
    """Like `explain_operation`, and level by level the rows behind its rows, through all runs they went through."""
    with workspace.open_run_environment() as environment:
        question = RowsQuestion(run_id_of(environment, run_id), operation, (keys,) if keys else ())
        return levels.explain_number(environment, question, limit=limit, depth=depth, columns=columns)
