"""Checks a check: its selector and its condition."""

from daybook.model.operation import CheckOperation
from daybook.plan.findings import translator
from daybook.plan.steps import CheckStep
from daybook.plan.usage import working_columns
from daybook.plan.walk import Walk


def plan_check(walk: Walk, operation: CheckOperation, index: int) -> CheckStep | None:
    selector = None
    path = ("operations", index)
    if operation.selector is not None:
        selector = walk.compile(
            operation.selector,
            walk.scope(),
            (*path, "selector"),
            translator("CHECK_001"),
            seq=operation.seq,
            expect="boolean",
            allow_selectors=True,
        )
    condition = walk.compile(
        operation.arguments.condition,
        walk.scope(),
        (*path, "arguments", "condition"),
        translator("CHECK_002"),
        seq=operation.seq,
        expect="boolean",
        allow_selectors=True,
    )
    read = working_columns(selector, condition)
    walk.usage.add(operation.seq, walk.input.dataset_id, walk.input.types, read)
    if condition is None:
        return None
    known = [name for name in walk.input.version.dataset.natural_key_columns if name in walk.columns]
    columns = tuple(dict.fromkeys((*known, *sorted(read))))
    return CheckStep(operation.seq, operation.id, operation.name, selector, condition, columns, walk.schema())
