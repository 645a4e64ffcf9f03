"""Attacks on the connections of the page, over real sockets: silence, halves of requests, and answers nobody reads."""

import base64
import http.client
import json
import re
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlencode, urlsplit

import pytest

from daybook.web.connections import PageProtocol
from daybook.web.pages.explain import parse_trail
from daybook.web.request_limits import MOST_OPEN
from tests.page import RUN, TOKEN, client, page_folder, record_run, served_app
from tests.workspaces import Folder

SECONDS = 60
MANY = 600


@dataclass(frozen=True)
class Page:
    port: int
    token: str

    def open(self, begin: bytes = b"") -> socket.socket:
        connection = socket.create_connection(("127.0.0.1", self.port), timeout=SECONDS)
        connection.sendall(begin)
        return connection

    def ask(self, path: str, *, token: str | None = None) -> int:
        """The status of an answer to a new connection."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=SECONDS)
        try:
            connection.request("GET", path, headers={"Authorization": f"Bearer {token}"} if token else {})
            return connection.getresponse().status
        finally:
            connection.close()

    def head(self, *lines: str, path: str = "/api/v1/runs", method: str = "GET") -> bytes:
        first = (f"{method} {path} HTTP/1.1", f"Host: 127.0.0.1:{self.port}", f"Authorization: Bearer {self.token}")
        return "\r\n".join((*first, *lines)).encode()


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    """The program itself."""
    root = page_folder(tmp_path_factory.mktemp("served")).root
    command = [sys.executable, "-m", "daybook", "-w", str(root), "serve", "--port", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        assert process.stdout is not None
        address = urlsplit(process.stdout.readline().strip())
        token = process.stdout.readline().removeprefix("token: ").strip()
        yield Page(address.port or 0, token)
    finally:
        process.terminate()
        process.communicate(timeout=SECONDS)


BEGINNINGS = {
    "nothing": b"",
    "half a line": b"GET /api/v1/runs HT",
    "half a header": b"GET /api/v1/runs HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: ",
    "half a body": (
        b"POST /login HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/x-www-form-urlencoded\r\n"
        b"Content-Length: 1000\r\n\r\ntoken="
    ),
}


@pytest.mark.parametrize("begin", BEGINNINGS.values(), ids=BEGINNINGS)
def test_connections_without_a_whole_request_do_not_stop_others(page: Page, begin: bytes) -> None:
    with ExitStack() as connections:
        for _ in range(MANY):
            connections.enter_context(page.open(begin))
        assert page.ask("/api/v1/runs", token=page.token) == 200
        assert page.ask("/login") == 200


def test_a_request_that_is_answered_is_not_closed_for_others(page: Page) -> None:
    """Events go on while many connections open."""
    with page.open(page.head("", "", path="/api/v1/runs/events")) as events, ExitStack() as connections:
        assert b"200 OK" in events.recv(4096)
        for _ in range(MANY):
            connections.enter_context(page.open())
        assert page.ask("/health") == 200
        events.setblocking(False)
        with pytest.raises(BlockingIOError):
            until_closed(events)


def until_closed(connection: socket.socket) -> bytes:
    answer = b""
    try:
        while piece := connection.recv(65536):
            answer += piece
    except ConnectionResetError:
        pass
    return answer


def send_for_ever(connection: socket.socket, request: bytes) -> None:
    while True:
        connection.sendall(request)


@contextmanager
def impatient(folder: Folder) -> Iterator[Page]:
    """A server whose limits are short."""

    class ImpatientProtocol(PageProtocol):
        request_seconds = 0.3
        unread_seconds = 0.3

    with served_app(folder, protocol=ImpatientProtocol) as (address, _):
        yield Page(urlsplit(address).port or 0, TOKEN)


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    prepared = page_folder(tmp_path)
    record_run(prepared)
    return prepared


def test_what_does_not_arrive_in_time_is_closed(folder: Folder) -> None:
    with impatient(folder) as page:
        for begin in BEGINNINGS.values():
            with page.open(begin) as connection:
                assert until_closed(connection) == b""
        with page.open(page.head("", "")) as connection:
            # The next request on a connection has to arrive in time, too.
            connection.sendall(b"GET /he")
            assert until_closed(connection).count(b"HTTP/1.1") == 1


def test_a_byte_now_and_then_is_not_in_time(folder: Folder) -> None:
    with impatient(folder) as page, page.open(b"GET /health HTTP/1.1\r\n") as connection:
        closed = threading.Event()

        def drip() -> None:
            while not closed.wait(0.05):
                try:
                    connection.sendall(b"X-Slow: 1\r\n")
                except OSError:
                    return

        dripping = threading.Thread(target=drip)
        dripping.start()
        assert until_closed(connection) == b""
        closed.set()
        dripping.join()


def test_answers_that_nobody_reads_are_closed(folder: Folder) -> None:
    """A client that sends request after request and reads nothing."""
    with impatient(folder) as page, page.open() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        request = page.head("", "", path="/api/v1/openapi.json")
        with pytest.raises((BrokenPipeError, ConnectionResetError)):
            send_for_ever(connection, request)


@pytest.mark.parametrize("path", ["/api/v1/runs", "/login", "/health"])
def test_a_request_with_two_lengths_is_refused_and_closed(page: Page, path: str) -> None:
    headers = ("Content-Length: 0", "Transfer-Encoding: chunked")
    follower = page.head("", "")
    with page.open(page.head(*headers, "", "", method="POST", path=path) + b"0\r\n\r\n" + follower) as connection:
        answer = until_closed(connection)
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert answer.count(b"HTTP/1.1 ") == 1
    assert b"connection: close" in answer


CONDITIONS = [
    '["region", "=", "\\ud83d"]',
    '["\\ud83d", "=", "x"]',
    '["region", "\\ud83d", "x"]',
    '["region", "is_null\\ud83d"]',
]


@pytest.mark.parametrize("condition", CONDITIONS)
@pytest.mark.parametrize("place", [f"/runs/{RUN}/outputs/2", f"/api/v1/runs/{RUN}/outputs/2/rows"])
def test_half_a_character_in_a_filter_is_refused(folder: Folder, place: str, condition: str) -> None:
    answer = client(folder).get(f"{place}?{urlencode({'where': condition})}")
    assert answer.status_code == 400, answer.text


@pytest.mark.parametrize("name", ["runs", "builds", "periods/2026-01/close", f"runs/{RUN}/retry"])
def test_half_a_character_in_an_action_is_refused(folder: Folder, name: str) -> None:
    browser = client(folder, allows_actions=True)
    body = '{"project": "p\\ud83d", "period": "\\ud83d", "reason": "\\ud83d", "projects": ["\\ud83d"]}'
    answer = browser.post(f"/api/v1/{name}", content=body, headers={"Content-Type": "application/json"})
    assert 400 <= answer.status_code < 500, answer.text


def test_half_a_character_in_the_way_back_is_refused() -> None:
    trail = base64.urlsafe_b64encode(b'[["\\ud83d", "/runs"]]').decode().rstrip("=")
    assert parse_trail(trail) == ()


def test_one_reader_has_a_limited_number_of_requests(folder: Folder) -> None:
    with served_app(folder) as (address, _), ExitStack() as connections:
        page = Page(urlsplit(address).port or 0, TOKEN)
        for _ in range(MOST_OPEN):
            events = connections.enter_context(page.open(page.head("", "", path="/api/v1/runs/events")))
            assert b"200 OK" in events.recv(4096)
        assert page.ask("/api/v1/runs", token=TOKEN) == 429
        assert page.ask("/login") == 200


class TestSessions:
    """Events end with the login that they belong to."""

    def log_in(self, page: Page) -> str:
        form = urlencode({"token": TOKEN})
        origin = f"http://127.0.0.1:{page.port}"
        connection = http.client.HTTPConnection("127.0.0.1", page.port, timeout=SECONDS)
        connection.request(
            "POST", "/login", form, {"Origin": origin, "Content-Type": "application/x-www-form-urlencoded"}
        )
        answer = connection.getresponse()
        answer.read()
        connection.close()
        assert answer.status == 303
        return answer.headers["Set-Cookie"].partition(";")[0]

    def listen(self, page: Page, cookie: str) -> socket.socket:
        head = f"GET /api/v1/runs/events HTTP/1.1\r\nHost: 127.0.0.1:{page.port}\r\nCookie: {cookie}\r\n\r\n"
        events = page.open(head.encode())
        assert b"200 OK" in events.recv(65536)
        return events

    def test_when_it_expires(self, folder: Folder) -> None:
        with served_app(folder) as (address, app):
            page = Page(urlsplit(address).port or 0, TOKEN)
            access = app.state.loader.load().state.served.access
            cookie = self.log_in(page)
            with self.listen(page, cookie) as events:
                before = access.clock
                access.clock = lambda: before() + 12 * 3600
                record_run(folder, "20260303-093000-abcdef")
                assert b"20260303" not in until_closed_stream(events)
            connection = http.client.HTTPConnection("127.0.0.1", page.port, timeout=SECONDS)
            connection.request("GET", "/api/v1/runs", headers={"Cookie": cookie})
            answer = connection.getresponse()
            assert (answer.status, json.load(answer)["code"]) == (401, "WEB_005")
            connection.close()

    def test_when_somebody_logs_out(self, folder: Folder) -> None:
        with served_app(folder) as (address, app):
            page = Page(urlsplit(address).port or 0, TOKEN)
            access = app.state.loader.load().state.served.access
            cookie = self.log_in(page)
            with self.listen(page, cookie) as events:
                access.log_out(cookie.partition("=")[2])
                record_run(folder, "20260303-093000-abcdef")
                assert b"20260303" not in until_closed_stream(events)


def until_closed_stream(connection: socket.socket) -> bytes:
    """What comes before the last, empty piece of a stream."""
    answer = b""
    while not re.search(rb"(^|\r\n)0\r\n\r\n$", answer):
        piece = connection.recv(65536)
        assert piece
        answer += piece
    return answer
