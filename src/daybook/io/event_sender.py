"""Sends events to a receiver or a file, in order and in the background; does not wait long for a slow receiver."""

import functools
import json
import os
import queue
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from daybook.errors import DaybookError, Notice, notice
from daybook.model.secrets import read_credential
from daybook.resolve.catalog.http_request import HttpLimits, HttpRequest, fetch, parse_endpoint

Event = Mapping[str, Any]

# What all events of a process together may cost, once.
PATIENCE_SECONDS = 2.0
# Waiting this long for an answer is what a receiver that works costs.
_USUAL_SECONDS = 0.25
_LIMITS = HttpLimits(connect_seconds=PATIENCE_SECONDS, read_seconds=PATIENCE_SECONDS, total_seconds=PATIENCE_SECONDS)
_ACCEPTED = frozenset({200, 201, 202, 204})


class EventSender:
    """Delivers events one after the other in a thread of its own; after the first failure it sends nothing more."""

    def __init__(self, to: str, credential_ref: str | None, root: Path) -> None:
        self._to = to
        self._credential_ref = credential_ref
        self._root = root
        self._events: queue.SimpleQueue[Event] = queue.SimpleQueue()
        self._state = threading.Condition()
        self._pending = 0
        self._thread: threading.Thread | None = None
        self._failure: str | None = None
        self._is_reported = False
        self._patience = PATIENCE_SECONDS

    def send(self, event: Event) -> None:
        """Returns at once."""
        with self._state:
            if self._failure is not None:
                return
            self._pending += 1
            self._events.put(event)
            if self._thread is None:
                self._thread = threading.Thread(target=self._deliver_all, name="daybook-events", daemon=True)
                self._thread.start()

    def flush(self) -> Notice | None:
        """Wait until everything is delivered, as long as there is patience; the warning if it is not, once."""
        began = time.monotonic()
        with self._state:
            self._state.wait_for(lambda: not self._pending or self._failure is not None, self._patience)
            waited = time.monotonic() - began
            if waited > _USUAL_SECONDS:
                self._patience = max(0.0, self._patience - waited)
            if self._failure is None and (self._pending or not self._patience):
                self._failure = f"it takes longer than {PATIENCE_SECONDS:.0f} seconds"
            if self._failure is None or self._is_reported:
                return None
            self._is_reported = True
            return notice("RUN_046", to=_shown(self._to), reason=self._failure)

    def _deliver_all(self) -> None:
        while True:
            event = self._events.get()
            try:
                if self._failure is None:
                    self._deliver(event)
            except DaybookError as error:
                self._fail(error.message)
            except OSError as error:
                self._fail(error.strerror or type(error).__name__)
            except ValueError:
                # The message would show the header.
                self._fail("the credential is not plain text of one line")
            with self._state:
                self._pending -= 1
                self._state.notify_all()

    def _fail(self, reason: str) -> None:
        with self._state:
            self._failure = self._failure or reason

    def _deliver(self, event: Event) -> None:
        body = json.dumps(event, ensure_ascii=False, separators=(",", ":")).encode()
        if self._to.startswith("file:"):
            _append_line(Path(unquote(urlsplit(self._to).path)), body)
            return
        endpoint = parse_endpoint(self._to)
        headers = {"Content-Type": "application/json"}
        if self._credential_ref is not None:
            if not endpoint.is_private:
                raise DaybookError("RESOLVE_071", endpoint=endpoint)
            headers["Authorization"] = f"Bearer {read_credential(self._credential_ref, self._root)}"
        fetch(HttpRequest(endpoint, "POST", headers, body, _ACCEPTED), (endpoint.authority,), _LIMITS)


@functools.cache
def event_sender(to: str, credential_ref: str | None, root: Path) -> EventSender:
    """One for each receiver in a process, so that a receiver that is not there is waited for once."""
    return EventSender(to, credential_ref, root)


def _append_line(path: Path, body: bytes) -> None:
    """In one write, so that lines of several processes do not mix."""
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        os.write(descriptor, body + b"\n")
    finally:
        os.close(descriptor)


def _shown(to: str) -> str:
    """The address without its query, which may contain a secret."""
    return to.partition("?")[0]
