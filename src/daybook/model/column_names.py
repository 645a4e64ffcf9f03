"""Names of columns and qualifiers."""

import re
from collections.abc import Iterable, Iterator

from daybook.model.findings import Finding, finding
from daybook.model.system_columns import RESERVED

IDENTIFIER = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*")

# Columns that Spark, reading, the engine and writing carry beside the user's.
ENGINE_NAMES = re.compile(r"_metadata|__place|__ordinal|__file|__partition_file|__attempt|__daybook_.*")

# The qualifier under which expressions find the run's period.
PERIOD = "period"


def name_problem(name: str) -> str | None:
    """Why a text cannot name a column or a table, or None."""
    if not name.strip():
        return "it is empty"
    if "." in name:
        return "a dot separates table and column"
    if "`" in name:
        return "backticks quote names in expressions"
    if not name.isprintable():
        return "it has an invisible character"
    if name != name.strip():
        return "it begins or ends with a space"
    return None


def unqualified(reference: str) -> str:
    """The column of a reference such as `orders.region`, whose qualifier can only be the main table."""
    return reference.rpartition(".")[2].strip("`")


def differing_in_case(names: Iterable[str], *reserved: str) -> Iterator[tuple[int, str, str]]:
    """Names that equal an earlier one but for their case: position, the earlier name, the name."""
    seen = {name.casefold(): name for name in reserved}
    for index, name in enumerate(names):
        first = seen.setdefault(name.casefold(), name)
        if first != name:
            yield index, first, name


def case_findings(names: Iterable[str], key: str) -> Iterator[Finding]:
    """Columns that differ from another, or from a system column, only in case."""
    for index, first, second in differing_in_case(names, *RESERVED):
        yield finding("MODEL_043", index, key, first=first, second=second)
