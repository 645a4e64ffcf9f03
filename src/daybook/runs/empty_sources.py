"""Warns of what was found and has no rows for the period."""

from collections.abc import Mapping

from daybook.errors import Notice, notice
from daybook.plan.steps import AppendStep
from daybook.runs.attempt.prepare import PreparedRun


def empty_source_notices(
    prepared: PreparedRun, *, input_rows: int | None, added: Mapping[int, int]
) -> tuple[Notice, ...]:
    """The input without rows, and appends without a selector that added none of a period.

    `added` are the rows that appends added, by their seq, as far as they were counted. What runs wrote is left out: a
    slice without rows is what its run computed, and one that is missing has been reported.
    """
    plan, period = prepared.plan, prepared.snapshot.period.identifier
    notices: list[Notice] = []
    if input_rows == 0:
        notices.append(notice("RUN_005", dataset=plan.input.dataset_id, period=period))
    reported = {warning.operation_seq for warning in prepared.notices if warning.code == "RUN_054"}
    accepting = {operation.seq for operation in plan.project.operations if "RUN_005" in operation.accept}
    for step in plan.steps:
        if not isinstance(step, AppendStep) or step.source_selector is not None or added.get(step.seq) != 0:
            continue
        load = plan.load(step.load_key)
        view = load.version.view
        may_be_empty = load.temporal_mode != "period" or (view is not None and view.of.missing == "empty")
        is_written_by_runs = step.seq in reported or prepared.snapshot.source(load.key).slices
        if not may_be_empty and not is_written_by_runs and step.seq not in accepting:
            notices.append(notice("RUN_005", operation_seq=step.seq, dataset=load.dataset_id, period=period))
    return tuple(notices)
