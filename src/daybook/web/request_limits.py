"""What one reader may use of a server that all share: a few requests are computed at once, the others wait."""

import asyncio
from collections.abc import AsyncIterator, Callable, Hashable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from daybook.errors import DaybookError

# Answers are computed by forty threads. A browser asks six things at once.
MOST_COMPUTED = 8
MOST_OPEN = 100


@dataclass(slots=True)
class _OpenRequests:
    count: int = 0
    computed: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(MOST_COMPUTED))


class RequestLimits:
    """The open requests of each reader."""

    def __init__(self) -> None:
        self._readers: dict[Hashable, _OpenRequests] = {}

    @asynccontextmanager
    async def turn(self, reader: Hashable) -> AsyncIterator[Callable[[], None]]:
        """Wait until the request may be computed; the function ends that early, when it only has to be sent.

        WEB_018 for a reader with too many requests that wait, are computed or are sent.
        """
        requests = self._readers.setdefault(reader, _OpenRequests())
        if requests.count >= MOST_OPEN:
            raise DaybookError("WEB_018", limit=MOST_OPEN)
        requests.count += 1
        is_computed = False

        def end() -> None:
            nonlocal is_computed
            if is_computed:
                is_computed = False
                requests.computed.release()

        try:
            await requests.computed.acquire()
            is_computed = True
            yield end
        finally:
            end()
            requests.count -= 1
            if requests.count == 0:
                self._readers.pop(reader, None)
