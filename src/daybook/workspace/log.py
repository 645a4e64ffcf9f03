"""Shows the log of acts and verifies its chain."""

import re
from dataclasses import dataclass

from pydantic import computed_field

from daybook.errors import DaybookError
from daybook.store.database.log import find_log_problems
from daybook.store.records import LogHead, LogLine, LogProblem
from daybook.workspace.open_workspace import OpenedWorkspace

_DIGEST = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class LogListing:
    """Acts, newest first; `next` gives the lines before these, None at the beginning of the log."""

    head: LogHead
    lines: tuple[LogLine, ...]
    next: int | None


@dataclass(frozen=True, slots=True)
class LogVerification:
    """What is wrong with the chain of the log; `head` is that of the store."""

    head: LogHead
    lines: int
    problems: tuple[LogProblem, ...]

    @computed_field(alias="valid")  # type: ignore[prop-decorator]
    @property
    def is_valid(self) -> bool:
        return not self.problems


def show_log(workspace: OpenedWorkspace, *, limit: int = 50, before: int | None = None) -> LogListing:
    """Who did what and when, newest first; `before` is the `next` of the listing before."""
    with workspace.open_store_or_empty() as store, store.read() as transaction:
        lines = transaction.log.latest(limit, before)
        head = transaction.log.head()
    return LogListing(head, lines, lines[-1].number if lines and lines[-1].number > 1 else None)


def verify_log(workspace: OpenedWorkspace, *, head: str | None = None) -> LogVerification:
    """Find lines that were changed, inserted, removed or moved; missing last lines need a `head` kept elsewhere."""
    if head is not None and not _DIGEST.fullmatch(head):
        raise DaybookError("LOG_002", text=head)
    with workspace.open_store_or_empty() as store, store.read() as transaction:
        stored_head = transaction.log.head()
        problems = tuple(find_log_problems(transaction.log.lines(), stored_head, head))
        return LogVerification(stored_head, transaction.log.count(), problems)
