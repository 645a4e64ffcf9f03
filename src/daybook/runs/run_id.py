"""Ids of runs: sortable by time and short enough to type."""

import datetime
import secrets


def new_run_id(now: datetime.datetime) -> str:
    """Like `20260131-094502-7c1f0a`; the random part keeps runs of one second apart."""
    return f"{now:%Y%m%d-%H%M%S}-{secrets.token_hex(3)}"
