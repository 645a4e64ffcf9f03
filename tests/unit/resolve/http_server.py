"""A small HTTP server on this machine whose answers the tests choose."""

import http.server
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TypeAlias

Handler: TypeAlias = "Callable[[Asked, http.server.BaseHTTPRequestHandler], None]"


@dataclass(frozen=True)
class Asked:
    """A request as it arrived."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes


@dataclass
class Server:
    port: int
    asked: list[Asked] = field(default_factory=list)

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.port}"

    def url(self, path: str = "/locations") -> str:
        return f"http://{self.host}{path}"


@contextmanager
def serving(handler: Handler) -> Iterator[Server]:
    """`handler` writes the answer to every request until the block ends."""
    server: Server

    class Answering(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            asked = Asked(self.command, self.path, dict(self.headers.items()), body)
            server.asked.append(asked)
            try:
                handler(asked, self)
            except (BrokenPipeError, ConnectionResetError):
                self.close_connection = True

        def do_POST(self) -> None:
            self.do_GET()

        def log_message(self, *arguments: object) -> None:
            pass

    listening = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answering)
    listening.daemon_threads = True
    listening.block_on_close = False
    server = Server(listening.server_address[1])
    thread = threading.Thread(target=listening.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        listening.shutdown()
        listening.server_close()
        thread.join()


def answer(body: bytes, status: int = 200, headers: Mapping[str, str] | None = None) -> Handler:
    def write(_: Asked, handler: http.server.BaseHTTPRequestHandler) -> None:
        handler.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **(headers or {})}.items():
            handler.send_header(name, value)
        handler.end_headers()
        handler.wfile.write(body)

    return write
