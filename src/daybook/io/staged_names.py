"""What everything staged is called, so that what dead runs left can be told by its name."""

import re

PREFIX = "daybook-"

_ATTEMPT = re.compile(rf"\.?{PREFIX}(?P<run>.+)\.(?P<seq>\d+)\.[0-9a-f]{{8}}")


def staged_key(run_id: str, operation_seq: int) -> str:
    """What the names of all attempts at one output of one run begin with."""
    return f"{PREFIX}{run_id}.{operation_seq}"


def run_of(name: str) -> tuple[str, int] | None:
    """The run and operation a staged thing belongs to."""
    match = _ATTEMPT.fullmatch(name)
    return (match["run"], int(match["seq"])) if match else None
