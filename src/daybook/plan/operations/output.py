"""Checks an output: its selector, its columns, where it goes."""

from daybook.model.operation import OutputOperation
from daybook.model.suggestion import did_you_mean
from daybook.model.system_columns import SYSTEM_COLUMNS
from daybook.plan.findings import translator
from daybook.plan.steps import OutputStep
from daybook.plan.usage import working_columns
from daybook.plan.walk import Path, Walk


def plan_output(walk: Walk, operation: OutputOperation, index: int) -> OutputStep:
    path: Path = ("operations", index)
    arguments = operation.arguments
    selector = walk.condition(operation.selector, (*path, "selector"), translator("OUTPUT_001"), seq=operation.seq)
    if arguments.columns is None:
        names = [*walk.columns, *(SYSTEM_COLUMNS if arguments.system_columns else ())]
    else:
        names = _known(walk, operation, arguments.columns, (*path, "arguments", "columns"), "columns")
    order_by = _known(walk, operation, arguments.order_by, (*path, "arguments", "order_by"), "order_by")
    used = {*working_columns(selector), *names, *order_by}
    walk.usage.add(operation.seq, walk.input.dataset_id, walk.input.types, used)
    types = {**walk.visible, **{name: walk.assumed[name] for name in walk.columns if name in walk.assumed}}
    return OutputStep(
        operation.seq,
        operation.id,
        operation.name,
        selector,
        {name: types[name] for name in names},
        tuple(order_by),
        arguments,
        walk.schema(),
    )


def _known(walk: Walk, operation: OutputOperation, written: tuple[str, ...], place: Path, key: str) -> list[str]:
    names: list[str] = []
    for number, reference in enumerate(written):
        name = walk.column_name(reference, walk.input.table)
        if name not in walk.visible:
            hint = did_you_mean(name, walk.columns)
            walk.report("OUTPUT_002", *place, number, seq=operation.seq, hint=hint, name=reference)
        elif name in names:
            walk.report("OUTPUT_011", *place, number, seq=operation.seq, key=key, column=name)
        else:
            names.append(name)
    return names
