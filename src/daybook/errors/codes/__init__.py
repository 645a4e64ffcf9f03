"""Every code Daybook can report, one family a module."""

from daybook.errors.codes import (
    aggregate,
    append,
    check,
    delete,
    engine,
    expression,
    io,
    model,
    output,
    project,
    resolve,
    runs,
    store,
    update,
)
from daybook.errors.codes.entry import Code

FAMILIES: tuple[dict[str, Code], ...] = (
    model.CODES,
    expression.CODES,
    resolve.CODES,
    project.CODES,
    update.CODES,
    aggregate.CODES,
    append.CODES,
    delete.CODES,
    check.CODES,
    output.CODES,
    io.CODES,
    store.CODES,
    runs.CODES,
    engine.CODES,
)

CODES: dict[str, Code] = {code: entry for family in FAMILIES for code, entry in family.items()}

__all__ = ["CODES", "FAMILIES", "Code"]
