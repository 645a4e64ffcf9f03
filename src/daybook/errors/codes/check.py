"""Codes of the check family: 001-009 structure, from 020 what planning and running find."""

from daybook.errors.codes.entry import Code, family

CODES: dict[str, Code] = family(
    Code(
        "CHECK_001",
        "Invalid selector expression",
        "The selector of a check must be a boolean expression over the working dataset.",
    ),
    Code(
        "CHECK_002",
        "Invalid condition",
        "The condition of a check must be a boolean expression over the working dataset.",
    ),
    Code(
        "CHECK_020",
        "Operation {seq} ({name}) failed: {row}",
        "A row that the check picked does not satisfy its condition, or the condition is NULL for it. Nothing that "
        "follows the last committed output was written.",
        hint="`daybook explain RUN {seq}` shows all rows that fail",
    ),
)
