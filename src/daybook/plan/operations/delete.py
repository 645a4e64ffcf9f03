"""Checks a delete: its selector."""

from daybook.model.operation import DeleteOperation
from daybook.plan.findings import translator
from daybook.plan.steps import DeleteStep
from daybook.plan.usage import working_columns
from daybook.plan.walk import Walk


def plan_delete(walk: Walk, operation: DeleteOperation, index: int) -> DeleteStep:
    path = ("operations", index, "selector")
    selector = walk.condition(operation.selector, path, translator("DELETE_002"), seq=operation.seq)
    walk.usage.add(operation.seq, walk.input.dataset_id, walk.input.types, working_columns(selector))
    return DeleteStep(operation.seq, operation.id, operation.name, selector, walk.schema())
