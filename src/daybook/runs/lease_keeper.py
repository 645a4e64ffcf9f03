"""Holding a run: heartbeats in the background, the fence before every commit."""

import threading
from collections.abc import Callable
from datetime import datetime
from types import TracebackType

from daybook.errors import DaybookError
from daybook.store.records import Lease
from daybook.store.store import Store

HEARTBEAT_SECONDS = 8.0

Clock = Callable[[], datetime]


class LeaseKeeper:
    """Renews a lease until it is closed; `on_stop` is called once, from the background, when the run should end.

    That is when somebody asked for it to be cancelled or when the lease was lost. A store that cannot be reached
    for a while only matters at the next commit: the fence asks again.
    """

    def __init__(
        self, store: Store, lease: Lease, on_stop: Callable[[], None], *, interval: float = HEARTBEAT_SECONDS
    ) -> None:
        self.lease = lease
        self.is_cancelled = False
        self._store = store
        self._on_stop = on_stop
        self._interval = interval
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._beat, name="daybook-heartbeat", daemon=True)

    def __enter__(self) -> "LeaseKeeper":
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closed.set()
        self._thread.join(timeout=self._interval)

    def fence(self) -> None:
        """Refuse to go on when the lease is lost or the run was asked to stop."""
        with self._store.write() as transaction:
            beat = transaction.runs.heartbeat(self.lease, now=transaction.now())
        self.lease = beat.lease
        if beat.is_cancel_requested:
            self.is_cancelled = True
            raise DaybookError("RUN_004", run_id=self.lease.run_id)

    def _beat(self) -> None:
        while not self._closed.wait(self._interval):
            try:
                self.fence()
            except DaybookError as error:
                if error.code in ("RUN_004", "STORE_013"):
                    self._on_stop()
                    return
