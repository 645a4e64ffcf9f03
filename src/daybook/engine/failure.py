"""Spark's failures in our words: which operation, which column, which expression, what value."""

from daybook.errors import DaybookError
from daybook.plan.plan import Plan


def failures_of(plan: Plan, error: Exception) -> Exception:
    if isinstance(error, DaybookError):
        return error
    return error
