"""Every error code, one module per family."""

from daybook.errors.codes import (
    approvals,
    definitions,
    expression,
    operations,
    proof,
    recompute,
    resolve,
    runs,
    storage,
    totals,
    web,
)
from daybook.errors.codes.entry import Code

FAMILIES: tuple[dict[str, Code], ...] = (
    definitions.MODEL_CODES,
    expression.EXPRESSION_CODES,
    resolve.RESOLVE_CODES,
    definitions.PROJECT_CODES,
    operations.UPDATE_CODES,
    operations.AGGREGATE_CODES,
    operations.APPEND_CODES,
    operations.DELETE_CODES,
    operations.CHECK_CODES,
    operations.OUTPUT_CODES,
    storage.IO_CODES,
    storage.STORE_CODES,
    runs.RUN_CODES,
    runs.ENGINE_CODES,
    recompute.RECOMPUTE_CODES,
    totals.TOTALS_CODES,
    proof.PROOF_CODES,
    web.WEB_CODES,
    approvals.LOG_CODES,
    approvals.APPROVAL_CODES,
)

CODES: dict[str, Code] = {code: entry for family in FAMILIES for code, entry in family.items()}


def raised_codes(code: str) -> tuple[str, ...]:
    """The codes that are raised today where somebody expects this one."""
    entry = CODES.get(code)
    return (entry.replaced_by if entry else ()) or (code,)


__all__ = ["CODES", "FAMILIES", "Code", "raised_codes"]
