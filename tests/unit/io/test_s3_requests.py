"""What only botocore asks a store, and what happens where it is not installed."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from daybook.errors import DaybookError
from daybook.io.s3_requests import check_conditional_puts, remove_unfinished_uploads
from daybook.io.storage import Storage
from daybook.model.datasource import StorageSettings


def storage(endpoint: str) -> Storage:
    settings = {"options": {"endpoint": endpoint}, "credential_ref": "env://CLOSE_KEY"}
    return Storage(Path(), {"s3://close": StorageSettings.model_validate(settings)})


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLOSE_KEY", "reader:hush")


class _AcceptsEverything(BaseHTTPRequestHandler):
    """A server of long ago, which knows nothing of conditions."""

    protocol_version = "HTTP/1.1"

    def _accept(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Says nothing."""


for _method in ("PUT", "DELETE"):
    setattr(_AcceptsEverything, f"do_{_method}", _AcceptsEverything._accept)


@contextmanager
def old_server() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _AcceptsEverything)
    thread = Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_a_store_that_ignores_conditions_is_refused() -> None:
    with old_server() as endpoint, pytest.raises(DaybookError) as refused:
        check_conditional_puts("s3://close/state", storage(endpoint))
    assert refused.value.code == "IO_074"


def test_without_botocore_nothing_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "botocore.config", None)
    unreachable = storage("http://127.0.0.1:9")
    assert not check_conditional_puts("s3://close/state", unreachable)
    assert not list(remove_unfinished_uploads("s3://close/state", unreachable, begun_before_ns=1, is_dry_run=True))


def test_local_folders_are_not_asked() -> None:
    assert not check_conditional_puts("/state", storage("http://127.0.0.1:9"))
    assert not list(remove_unfinished_uploads("/state", storage("http://x"), begun_before_ns=1, is_dry_run=True))
