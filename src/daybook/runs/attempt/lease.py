"""Keeps the lease of a run: heartbeats in the background, a check before every commit, and signals that end the run."""

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator
from types import FrameType, TracebackType

from daybook.errors import DaybookError
from daybook.store.records import Lease
from daybook.store.store import MetadataStore, Transaction

HEARTBEAT_SECONDS = 5.0
# A job may begin just after those that ran were stopped, so that is said again until the run has ended.
_REPEAT_STOP_SECONDS = 0.5

# A user cancelled the run; the lease was lost.
CODE_CANCELLED = "RUN_004"
CODE_LEASE_LOST = "STORE_013"


class LeaseKeeper:
    """Renews a lease until it is closed; `on_stop` is called in the background, repeatedly, when the run should end.

    That is when a user cancelled it or when the lease was lost; `stopped_by` then says which. A
    store that cannot be reached for a while only matters at the next commit: the fence asks again.
    """

    def __init__(
        self, store: MetadataStore, lease: Lease, on_stop: Callable[[], None], *, interval: float = HEARTBEAT_SECONDS
    ) -> None:
        self.lease = lease
        self.stopped_by: DaybookError | None = None
        self._store = store
        self._on_stop = on_stop
        self._interval = interval
        self._is_closed = False
        self._woken = threading.Event()
        self._thread = threading.Thread(target=self._beat, name="daybook-heartbeat", daemon=True)

    def __enter__(self) -> "LeaseKeeper":
        self._thread.start()
        return self

    def release(self) -> None:
        """No more heartbeats: the run is about to end, and a renewal after that would say that the lease is lost."""
        self._is_closed = True
        self._woken.set()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()
        self._thread.join(timeout=self._interval)

    @property
    def is_lost(self) -> bool:
        return self.stopped_by is not None and self.stopped_by.code == CODE_LEASE_LOST

    def check(self) -> None:
        """Stop here if the last heartbeat said so; costs nothing."""
        if self.stopped_by is not None:
            raise self.stopped_by

    def cancel(self) -> None:
        """End the run as if a user had cancelled it; nothing here waits, so a signal may do it."""
        self._mark_cancelled()
        self._woken.set()

    def fence(self, also: Callable[[Transaction], None] | None = None) -> None:
        """Refuse to go on when the lease is lost or the run was asked to stop; `also` sees the same transaction."""
        self.check()
        self._renew(also)
        self.check()

    def _renew(self, also: Callable[[Transaction], None] | None = None) -> None:
        try:
            with self._store.write() as transaction:
                beat = transaction.runs.heartbeat(self.lease, now=transaction.now())
                if also is not None:
                    also(transaction)
        except DaybookError as error:
            if error.code == CODE_LEASE_LOST:
                self.stopped_by = error
            raise
        self.lease = beat.lease
        if beat.is_cancel_requested:
            self._mark_cancelled()

    def _mark_cancelled(self) -> None:
        self.stopped_by = self.stopped_by or DaybookError(CODE_CANCELLED, run_id=self.lease.run_id)

    def _is_over(self, pause: float) -> bool:
        """Whether the keeper is closed after a pause, which closing and cancelling cut short."""
        self._woken.wait(pause)
        self._woken.clear()
        return self._is_closed

    def _beat(self) -> None:
        pause = self._interval
        while not self._is_over(pause):
            with contextlib.suppress(Exception):
                self._renew()
            if self.stopped_by is not None and not self._is_closed:
                self._on_stop()
                pause = min(pause, _REPEAT_STOP_SECONDS)


# An interrupted call to Spark breaks the connection. An interrupted import may leave Python's import lock held, and the
# thread that starts Spark would wait for it for ever.
_UNBREAKABLE_PACKAGES = ("pyspark", "py4j", "grpc", "importlib")


@contextlib.contextmanager
def stop_on_signals(stop: Callable[[], None]) -> Iterator[None]:
    """Ctrl-C and SIGTERM call `stop`, then interrupt what the main thread does, which alone receives signals.

    Not during a call to Spark or an import: there only `stop` is called. A second signal interrupts in any case.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    heard = 0

    def handle(number: int, frame: FrameType | None) -> None:
        nonlocal heard
        heard += 1
        stop()
        if heard > 1 or not _is_unbreakable(frame):
            raise KeyboardInterrupt

    before = {number: signal.signal(number, handle) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _is_unbreakable(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_globals.get("__name__", "").partition(".")[0] in _UNBREAKABLE_PACKAGES:
            return True
        frame = frame.f_back
    return False
