"""Codes of the log of acts."""

from daybook.errors.codes.entry import Code, code_family

LOG_CODES: dict[str, Code] = code_family(
    Code(
        "LOG_001",
        "Line {number} of the log cannot be read",
        "Somebody changed the line by writing into the database. `daybook log --verify` shows every place where the "
        "log was changed.",
        hint="`daybook log --verify` shows what was changed; compare with a backup of the store",
    ),
    Code(
        "LOG_002",
        "{text} is not the digest of a line of the log",
        "The digest of a head has 64 hexadecimal digits. `daybook log` shows it, and a certificate of a sealed period "
        "holds it.",
        hint="give the digest as `daybook log` shows it",
    ),
)
