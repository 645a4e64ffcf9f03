"""Personal tokens of people on the page: checked in the store, which is opened when the first one comes."""

import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from daybook.store.records import Person
    from daybook.workspace.open_workspace import OpenedWorkspace

_PREFIX = "dbp_"
# A session ends at most this long after its token was renewed or its person removed; acts look at once.
_KEPT_SECONDS = 10.0


def looks_like_token(text: str) -> bool:
    """Whether a text may be a personal token; the store is asked about no other."""
    return text.startswith(_PREFIX)


class PersonalTokens:
    """Without a workspace nobody has a personal token."""

    def __init__(self, workspace: "OpenedWorkspace | None" = None, clock: Callable[[], float] = time.monotonic) -> None:
        self._workspace = workspace
        self._clock = clock
        self._lock = threading.Lock()
        self._valid: dict[str, float] = {}

    def check(self, token: str) -> "Person | None":
        """The person of a right token."""
        if self._workspace is None:
            return None
        with self._workspace.open_store_or_empty() as store, store.read() as transaction:
            return transaction.people.of_token(token)

    def is_valid(self, token_id: str) -> bool:
        """Whether the token of a login still is one."""
        now = self._clock()
        with self._lock:
            if self._valid.get(token_id, 0.0) > now:
                return True
        is_valid = token_id in self._token_ids()
        with self._lock:
            self._valid.pop(token_id, None)
            if is_valid:
                self._valid[token_id] = now + _KEPT_SECONDS
        return is_valid

    def _token_ids(self) -> set[str | None]:
        if self._workspace is None:
            return set()
        with self._workspace.open_store_or_empty() as store, store.read() as transaction:
            return {person.token_id for person in transaction.people.all()}
