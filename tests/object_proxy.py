"""A proxy in front of an S3 server that counts requests and does to them what networks and servers do."""

import http.client
import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Literal
from urllib.parse import unquote, urlsplit

Action = Literal["drop the answer", "reset", "500", "503", "slow down", "wait"]
_SECONDS = 60
_ERROR = '<?xml version="1.0" encoding="UTF-8"?><Error><Code>{code}</Code><Message>for tests</Message></Error>'
_ANSWERS: dict[str, tuple[int, str]] = {
    "500": (500, "InternalError"),
    "503": (503, "ServiceUnavailable"),
    "slow down": (503, "SlowDown"),
}


@dataclass
class Fault:
    """Happens to the first requests of a method whose path has a text; `happened` counts."""

    action: Action
    method: str
    text: str
    times: int = 1
    happened: int = 0
    # Ends a wait.
    release: threading.Event = field(default_factory=threading.Event)
    reached: threading.Event = field(default_factory=threading.Event)

    def takes(self, method: str, path: str) -> bool:
        if method != self.method or self.text not in path or self.happened >= self.times:
            return False
        self.happened += 1
        self.reached.set()
        return True


@dataclass
class ObjectProxy:
    endpoint: str
    faults: list[Fault] = field(default_factory=list)
    requests: list[tuple[str, str]] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def meet(self, action: Action, method: str, text: str, times: int = 1) -> Fault:
        fault = Fault(action, method, text, times)
        self.faults = [fault]
        return fault

    def count(self, method: str, text: str = "") -> int:
        return sum(1 for sent, path in self.requests if sent == method and text in path)

    def fault_of(self, method: str, path: str) -> Fault | None:
        with self.lock:
            self.requests.append((method, path))
            return next((fault for fault in self.faults if fault.takes(method, path)), None)


def _handler(proxy: ObjectProxy, server: str) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _serve(self) -> None:
            if self.headers.get("Expect", "").lower() == "100-continue":
                self.send_response_only(100)
                self.end_headers()
            body = self._body()
            fault = proxy.fault_of(self.command, unquote(self.path))
            match fault.action if fault else None:
                case "reset":
                    self._hang_up()
                    return
                case "500" | "503" | "slow down" as action:
                    status, code = _ANSWERS[action]
                    self._answer(status, [("Content-Type", "application/xml")], _ERROR.format(code=code).encode())
                    return
                case "wait" if fault is not None:
                    fault.release.wait(_SECONDS)
            status, headers, content = self._forward(body)
            if fault is not None and fault.action == "drop the answer":
                self._hang_up()
                return
            self._answer(status, headers, content)

        def _body(self) -> bytes:
            """As it was sent, with the lengths of its pieces where it came in pieces."""
            if self.headers.get("Transfer-Encoding", "").lower() != "chunked":
                return self.rfile.read(int(self.headers.get("Content-Length", 0)))
            lines: list[bytes] = []
            while True:
                length = self.rfile.readline()
                size = int(length.partition(b";")[0], 16)
                lines += [length, self.rfile.read(size), self.rfile.readline()]
                if size == 0:
                    return b"".join(lines)

        def _forward(self, body: bytes) -> tuple[int, list[tuple[str, str]], bytes]:
            connection = http.client.HTTPConnection(server, timeout=_SECONDS)
            try:
                connection.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
                for name, value in self.headers.items():
                    if name.lower() not in ("connection", "expect"):
                        connection.putheader(name, value)
                connection.putheader("Connection", "close")
                connection.endheaders(body)
                answer = connection.getresponse()
                return answer.status, answer.getheaders(), answer.read()
            finally:
                connection.close()

        def _answer(self, status: int, headers: list[tuple[str, str]], content: bytes) -> None:
            self.send_response_only(status)
            own = ["connection", "transfer-encoding"]
            if self.command != "HEAD":
                own.append("content-length")
            for name, value in headers:
                if name.lower() not in own:
                    self.send_header(name, value)
            if self.command != "HEAD":
                self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(content)

        def _hang_up(self) -> None:
            """Ends the connection as a machine does that loses its power."""
            self.close_connection = True
            with suppress(OSError):
                self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                self.connection.close()

        def handle(self) -> None:
            with suppress(OSError, ValueError):
                super().handle()

        def log_message(self, *_: object) -> None:
            """What is sent is in `requests`."""

    for method in ("GET", "PUT", "POST", "DELETE", "HEAD"):
        setattr(Handler, f"do_{method}", Handler._serve)
    return Handler


@contextmanager
def running_proxy(endpoint: str) -> Iterator[ObjectProxy]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler)
    server.daemon_threads = True
    proxy = ObjectProxy(f"http://127.0.0.1:{server.server_port}")
    server.RequestHandlerClass = _handler(proxy, urlsplit(endpoint).netloc)
    thread = threading.Thread(target=server.serve_forever, name="object-proxy")
    thread.start()
    try:
        yield proxy
    finally:
        for fault in proxy.faults:
            fault.release.set()
        server.shutdown()
        thread.join()
        server.server_close()
