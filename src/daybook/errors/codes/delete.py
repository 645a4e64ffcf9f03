"""Codes of the delete family: 001-009 structure, from 020 what planning and running find."""

from daybook.errors.codes.entry import Code, family

CODES: dict[str, Code] = family(
    Code(
        "DELETE_001",
        "A delete takes no arguments, but {key!r} was given",
        "The selector alone says which rows a delete marks.",
        hint="write a selector on the operation and leave arguments out",
    ),
    Code(
        "DELETE_002",
        "Invalid selector expression",
        "The selector of a delete must be a boolean expression over the working dataset.",
    ),
)
