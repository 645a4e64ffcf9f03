"""Events arrive in order; a receiver that does not take them costs two seconds once, and a warning."""

import http.server
import json
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from daybook.runs.openlineage import EventSender, event_sender
from tests.unit.resolve.http_server import Asked, Handler, answer, serving

TOKEN = "s3cr3t-t0k3n"


@pytest.fixture(autouse=True)
def token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LINEAGE_TOKEN", TOKEN)


@pytest.fixture
def free_port() -> Iterator[int]:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        yield bound.getsockname()[1]


def sender(to: str, credential_ref: str | None = None) -> EventSender:
    return EventSender(to, credential_ref, Path())


def answer_slowly(seconds: float) -> Handler:
    def write(asked: Asked, handler: http.server.BaseHTTPRequestHandler) -> None:
        time.sleep(seconds)
        answer(b"", 201)(asked, handler)

    return write


def test_events_arrive_one_after_the_other() -> None:
    with serving(answer(b"", 201)) as server:
        given = sender(server.url("/api/v1/lineage"), "env://LINEAGE_TOKEN")
        for number in range(20):
            given.send({"number": number, "text": "Überschuss"})
        assert given.flush() is None
    assert [json.loads(each.body)["number"] for each in server.asked] == list(range(20))
    first = server.asked[0]
    assert (first.method, first.path) == ("POST", "/api/v1/lineage")
    assert first.headers["Authorization"] == f"Bearer {TOKEN}"
    assert first.headers["Content-Type"] == "application/json"


@pytest.mark.parametrize("status", [200, 201, 202, 204])
def test_what_receivers_answer_with(status: int) -> None:
    with serving(answer(b"", status)) as server:
        given = sender(server.url())
        given.send({})
        assert given.flush() is None


def test_a_file_gets_a_line_for_each_event(tmp_path: Path) -> None:
    file = tmp_path / "a folder" / "events.jsonl"
    file.parent.mkdir()
    file.write_text('{"number":0}\n')
    given = sender(file.as_uri())
    given.send({"number": 1})
    given.send({"number": 2})
    assert given.flush() is None
    assert [json.loads(line)["number"] for line in file.read_text().splitlines()] == [0, 1, 2]


def test_a_folder_that_is_not_there_is_a_warning(tmp_path: Path) -> None:
    given = sender((tmp_path / "nowhere" / "events.jsonl").as_uri())
    given.send({})
    found = given.flush()
    assert found is not None
    assert found.code == "RUN_046"
    assert "No such file or directory" in found.message


def test_a_receiver_that_refuses_is_asked_once() -> None:
    with serving(answer(b"no", 500)) as server:
        given = sender(server.url("/lineage?key=value"))
        given.send({})
        found = given.flush()
        assert found is not None
        assert server.url("/lineage") in found.message
        assert "key=value" not in found.message
        assert "500" in found.message
        given.send({})
        assert given.flush() is None
    assert len(server.asked) == 1


def test_nobody_listens(free_port: int) -> None:
    given = sender(f"http://127.0.0.1:{free_port}/")
    given.send({})
    assert given.flush() is not None


def test_a_receiver_that_does_not_answer_is_given_up_and_not_asked_again() -> None:
    # Whoever waited for its answer would have no failure to report.
    with serving(answer_slowly(60)) as server:
        given = sender(server.url())
        given.send({})
        given.send({})
        assert given.flush() is not None
        asked = len(server.asked)
        given.send({})
        assert given.flush() is None
        assert len(server.asked) == asked


def test_a_receiver_that_is_always_slow_is_given_up_after_two_seconds_in_all() -> None:
    with serving(answer_slowly(0.8)) as server:
        given = sender(server.url())
        notices = []
        for _ in range(6):
            given.send({})
            notices.append(given.flush())
    assert len([notice for notice in notices if notice is not None]) == 1
    # The third answer would come after 2.4 seconds.
    assert len(server.asked) <= 3


def test_a_receiver_that_dies_in_the_middle() -> None:
    def die_later(asked: Asked, handler: http.server.BaseHTTPRequestHandler) -> None:
        if len(server.asked) <= 2:
            answer(b"", 201)(asked, handler)
        else:
            handler.connection.close()

    with serving(die_later) as server:
        given = sender(server.url())
        for number in range(5):
            given.send({"number": number})
        found = given.flush()
    assert found is not None
    assert [json.loads(each.body)["number"] for each in server.asked] == [0, 1, 2]


def test_a_token_is_not_sent_where_others_can_read_it() -> None:
    given = sender("http://lineage.example.com/", "env://LINEAGE_TOKEN")
    given.send({})
    found = given.flush()
    assert found is not None
    assert TOKEN not in found.message
    assert "lineage.example.com" in found.message


@pytest.mark.parametrize("text", ["two\nlines", "über"])
def test_a_token_that_is_no_header_is_not_shown(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LINEAGE_TOKEN", text + "€")
    with serving(answer(b"")) as server:
        given = sender(server.url(), "env://LINEAGE_TOKEN")
        given.send({})
        found = given.flush()
    assert found is not None
    assert text not in found.message
    assert server.asked == []


def test_a_process_has_one_sender_for_each_receiver() -> None:
    assert event_sender("file:///a", None, Path()) is event_sender("file:///a", None, Path())
    assert event_sender("file:///a", None, Path()) is not event_sender("file:///b", None, Path())
