"""Whether a rule's `when` holds for a period and a table."""

from daybook.model.period import Period


def holds(when: str, period: Period, table_name: str) -> bool | None:
    """True, false, or None where the language says NULL."""
    raise NotImplementedError
