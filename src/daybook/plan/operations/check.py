"""Checks a check: its selector and its condition."""

from collections.abc import Iterator

from daybook.expression import Compiled
from daybook.model.operation import AggregateOperation, CheckOperation
from daybook.model.system_columns import SYSTEM_COLUMNS
from daybook.plan.exclusion import excludes
from daybook.plan.findings import translator
from daybook.plan.steps import CheckStep
from daybook.plan.usage import working_columns
from daybook.plan.walk import Walk


def plan_check(walk: Walk, operation: CheckOperation, index: int) -> CheckStep | None:
    seq, path = operation.seq, ("operations", index)
    selector = walk.condition(operation.selector, (*path, "selector"), translator("CHECK_001"), seq=seq)
    place = (*path, "arguments", "condition")
    condition = walk.condition(operation.arguments.condition, place, translator("CHECK_002"), seq=seq)
    read = working_columns(selector, condition)
    walk.usage.add(operation.seq, walk.input.dataset_id, walk.input.types, read)
    if condition is None:
        return None
    known = [name for name in _telling(walk, selector, index) if name in walk.columns]
    columns = tuple(dict.fromkeys((*known, *sorted(read - SYSTEM_COLUMNS.keys()))))
    return CheckStep(operation.seq, operation.id, operation.name, selector, condition, columns, walk.schema())


def _telling(walk: Walk, selector: Compiled | None, index: int) -> Iterator[str]:
    """What people know the picked rows by: the natural key of loaded ones, the groups of summary rows."""
    if not excludes(selector, 0):
        yield from walk.input.version.dataset.natural_key_columns
    for earlier in walk.project.operations[:index]:
        if isinstance(earlier, AggregateOperation) and not excludes(selector, earlier.seq):
            yield from (walk.column_name(name, walk.input.table) for name in earlier.arguments.group_by)
