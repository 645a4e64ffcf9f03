"""Codes of the second engine."""

from daybook.errors.codes.entry import Code, code_family

RECOMPUTE_CODES: dict[str, Code] = code_family(
    Code(
        "RECOMPUTE_001",
        "The second engine cannot compute {what}",
        "`daybook preview`, `daybook recompute` and `daybook test --quick` compute in plain Python, without Spark. "
        "They cover every function and every operation, and name what they do not read instead of guessing: a preview "
        "does not read tables that only Spark can query, as long as no run has landed them. `daybook recompute` has a "
        "session fetch the rows of tables by name.",
        hint="use `daybook run --draft`, or `daybook test` without --quick",
    ),
    Code(
        "RECOMPUTE_002",
        "{project} reads {rows:,} lines, and a preview computes at most {limit:,}",
        "A preview is for the moment between two changes of a file. More lines are computed faster by Spark.",
        hint="`daybook run --draft` computes them all, without touching live data",
    ),
    Code(
        "RECOMPUTE_003",
        "Output {output} of run {run_id} cannot be compared: {reason}",
        "`daybook recompute` compares every cell that was written. The rows of some formats cannot be read without "
        "Spark, and those of an output that was replaced or removed are gone.",
    ),
)
