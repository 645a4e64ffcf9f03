"""Connections of the page: a request must arrive in time, and those that wait for one make room for others.

uvicorn has no limit on the time in which a request arrives, and counts connections without a request as work. So here a
connection waits from its beginning, or from the answer before, until its next request has arrived completely, body
included. One that waits too long is closed, and where too many wait, the one that has waited longest is. Connections
whose request is being answered are never closed for others.
"""

import asyncio
import sys
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

# Requests are small. What a client does not read stays for longer, since a download may be paused.
REQUEST_SECONDS = 10.0
UNREAD_SECONDS = 60.0
MOST_WAITING_PER_ADDRESS = 64
MOST_WAITING = 256
# With those that wait; more requests at the same time are refused.
MOST_CONNECTIONS = 500
_MOST_FILES = 8192


def raise_file_limit() -> None:
    """Let connections that have not completed their TLS handshake not use up the files of this process."""
    if sys.platform != "win32":
        import resource

        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        most = _MOST_FILES if hard == resource.RLIM_INFINITY else min(hard, _MOST_FILES)
        if soft != resource.RLIM_INFINITY and soft < most:
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


class PageLoop(asyncio.SelectorEventLoop):
    """An event loop on which also the TLS handshake of a connection must be complete in time."""

    async def create_server(self, *arguments: Any, **options: Any) -> asyncio.Server:
        if options.get("ssl") is not None:
            options["ssl_handshake_timeout"] = REQUEST_SECONDS
        return await super().create_server(*arguments, **options)


class PageProtocol(H11Protocol):
    """One connection of a browser or a program."""

    request_seconds = REQUEST_SECONDS
    unread_seconds = UNREAD_SECONDS

    _timer: asyncio.TimerHandle | None = None
    _unread_timer: asyncio.TimerHandle | None = None
    waiting_since: float | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._watch_request()
        self._make_room()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._watch_request()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._watch_request()

    def connection_lost(self, exc: Exception | None) -> None:
        self._end_wait()
        self._end_unread()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._end_unread()
        self._unread_timer = self.loop.call_later(self.unread_seconds, self.transport.abort)

    def resume_writing(self) -> None:
        super().resume_writing()
        self._end_unread()

    def _watch_request(self) -> None:
        """Begin or end the time in which the request must arrive."""
        if self.transport.is_closing():
            self._end_wait()
            # What is still to be sent may never be read.
            if self._unread_timer is None:
                self._unread_timer = self.loop.call_later(self.unread_seconds, self.transport.abort)
        elif self.conn.their_state not in (h11.IDLE, h11.SEND_BODY):
            self._end_wait()
        elif self._timer is None:
            self.waiting_since = self.loop.time()
            self._timer = self.loop.call_later(self.request_seconds, self._close)

    def _make_room(self) -> None:
        """Close the connection that has waited longest where too many wait, of this address or together."""
        waiting = [
            (connection.waiting_since, connection)
            for connection in self.connections
            if isinstance(connection, PageProtocol) and connection.waiting_since is not None
        ]
        host = self._host()
        near = [(since, connection) for since, connection in waiting if connection._host() == host]
        crowd = near if len(near) > MOST_WAITING_PER_ADDRESS else waiting if len(waiting) > MOST_WAITING else []
        if crowd:
            min(crowd, key=lambda entry: entry[0])[1]._close()

    def _host(self) -> str | None:
        return self.client[0] if self.client else None

    def _close(self) -> None:
        self._end_wait()
        self.transport.abort()

    def _end_wait(self) -> None:
        self.waiting_since = None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _end_unread(self) -> None:
        if self._unread_timer is not None:
            self._unread_timer.cancel()
            self._unread_timer = None
