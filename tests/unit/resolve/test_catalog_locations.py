"""Catalog endpoints, against a real HTTP server on this machine."""

import json
import socket
import threading
import time
from collections.abc import Mapping
from decimal import Decimal
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest

from daybook.errors import DaybookError, render
from daybook.model.calendar import Period
from daybook.model.definition import TableVersion
from daybook.resolve.calendars.calendar import GREGORIAN
from daybook.resolve.calendars.periods import period_of
from daybook.resolve.catalog_http import HttpLimits
from daybook.resolve.location import Resolution
from daybook.resolve.resolution import resolve_dataset
from tests.unit.resolve.definitions import in_memory, orders, resolver, source
from tests.unit.resolve.http_server import Asked, Server, answer, serving

SHORT = HttpLimits(connect_seconds=2, read_seconds=0.3, total_seconds=0.8, max_bytes=2000)
QUICK = HttpLimits(connect_seconds=5, read_seconds=5, total_seconds=10, max_bytes=2000)


def period(identifier: str) -> Period:
    return period_of(identifier, GREGORIAN)


def located(
    server: Server | None,
    root: Path,
    *,
    identifier: str = "2026-01",
    data_level: str = "any",
    allowed_hosts: tuple[str, ...] | None = None,
    limits: HttpLimits = QUICK,
    **strategy: Any,
) -> Resolution:
    endpoint = {"endpoint": server.url()} if server else {}
    rule = {"name": "ask", "data_level": data_level, "strategy": {"type": "catalog", **endpoint, **strategy}}
    catalog = in_memory(
        [source("lake", "delta", path="lake"), source("pg", "postgresql", database="dw")], [resolver("r", rule)]
    )
    hosts = allowed_hosts if allowed_hosts is not None else ((server.host,) if server else ())
    dataset = orders(resolver_id="r")
    return resolve_dataset(dataset, period(identifier), catalog, root=root, allowed_hosts=hosts, limits=limits)


def locations(*items: Mapping[str, Any]) -> bytes:
    return json.dumps({"locations": items}).encode()


def failure(server: Server | None, root: Path, **options: Any) -> DaybookError:
    with pytest.raises(DaybookError) as caught:
        located(server, root, **options)
    return caught.value


def test_locations_of_known_data_sources(tmp_path: Path) -> None:
    body = locations(
        {"datasource_id": "lake", "path": "2026/01", "period": "2026-01", "delta_version": 4},
        {"datasource_id": "pg", "table": "orders", "schema": "sales"},
    )
    with serving(answer(body)) as server:
        found = located(server, tmp_path)
    assert [(place.format, place.uri, place.table, place.schema) for place in found.locations] == [
        ("delta", f"{tmp_path}/lake/2026/01", None, None),
        ("postgresql", None, "orders", "sales"),
    ]
    assert [(at.period, at.version) for at in found.locations] == [
        (period("2026-01"), TableVersion("delta", "4")),
        (None, None),
    ]
    assert (found.periods, found.rule) == (("2026-01",), "ask")


def test_what_is_asked_by_default(tmp_path: Path) -> None:
    with serving(answer(locations({"datasource_id": "lake", "table": "orders"}))) as server:
        located(server, tmp_path)
        located(server, tmp_path, method="POST")
    get, post = server.asked
    assert (get.method, get.path) == (
        "GET",
        "/locations?table=orders&period=2026-01&level=month&start_date=2026-01-01&end_date=2026-01-31",
    )
    assert (post.method, post.path, json.loads(post.body)) == (
        "POST",
        "/locations",
        {
            "table": "orders",
            "period": "2026-01",
            "level": "month",
            "start_date": "2026-01-01",
            "end_date": "2026-01-31",
        },
    )
    assert post.headers["Content-Type"] == "application/json"


def test_own_parameters_are_sent_instead(tmp_path: Path) -> None:
    with serving(answer(locations({"datasource_id": "lake", "table": "orders"}))) as server:
        located(
            server,
            tmp_path,
            params={"q": "{{table_name}} & {{YYYY}}", "limit": 5, "live": True, "part": Decimal("0.5")},
        )
        located(server, tmp_path, method="POST", params={"filter": {"months": ["{{MM}}"], "part": Decimal("0.5")}})
    assert server.asked[0].path == "/locations?q=orders+%26+2026&limit=5&live=true&part=0.5"
    assert json.loads(server.asked[1].body) == {"filter": {"months": ["01"], "part": 0.5}}


def test_finer_data_is_asked_for_period_by_period(tmp_path: Path) -> None:
    def by_period(asked: Asked, handler: BaseHTTPRequestHandler) -> None:
        month = asked.path.split("period=")[1][:7]
        answer(locations({"datasource_id": "lake", "path": month, "period": month}))(asked, handler)

    with serving(by_period) as server:
        found = located(server, tmp_path, identifier="2026-Q1", data_level="month")
    assert [(place.uri, place.period) for place in found.locations] == [
        (f"{tmp_path}/lake/2026-{month}", period(f"2026-{month}")) for month in ("01", "02", "03")
    ]


def test_one_place_cannot_belong_to_two_periods_alone(tmp_path: Path) -> None:
    def everywhere(asked: Asked, handler: BaseHTTPRequestHandler) -> None:
        month = asked.path.split("period=")[1][:7]
        answer(locations({"datasource_id": "lake", "path": "all", "period": month}))(asked, handler)

    with serving(everywhere) as server:
        error = failure(server, tmp_path, identifier="2026-Q1", data_level="month")
    assert (error.code, error.parameters["periods"]) == ("RESOLVE_046", "2026-01 and 2026-02")


def test_credentials_travel_in_headers_and_show_nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CATALOG_TOKEN", "hunter2")
    (tmp_path / "key.txt").write_text("swordfish\n")
    with serving(answer(locations({"datasource_id": "lake", "table": "orders"}))) as server:
        located(server, tmp_path, auth="env://CATALOG_TOKEN", headers={"X-Api-Key": "file://key.txt", "X-Team": "fin"})
        located(server, tmp_path, auth="Basic env://CATALOG_TOKEN")
    first, second = (asked.headers for asked in server.asked)
    assert (first["Authorization"], first["X-Api-Key"], first["X-Team"]) == ("Bearer hunter2", "swordfish", "fin")
    assert second["Authorization"] == "Basic hunter2"
    with serving(answer(b"hunter2 is wrong", status=401)) as server:
        error = failure(server, tmp_path, auth="env://CATALOG_TOKEN")
    assert (error.code, error.parameters["status"]) == ("RESOLVE_064", 401)
    assert "hunter2" not in render(error) + repr(error)


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        (b"<html>moved</html>", 200, "RESOLVE_067"),
        (b"", 200, "RESOLVE_067"),
        (b"\xff\xfe", 200, "RESOLVE_067"),
        (b"[" * 1500, 200, "RESOLVE_067"),
        (b'{"locations": ' + b"[" * 900 + b"]" * 900 + b"}", 200, "RESOLVE_067"),
        (b'{"locations": [{"datasource_id": "lake", "path": "x", "delta_version": 1e99}]}', 200, "RESOLVE_068"),
        (b'{"locations": [', 200, "RESOLVE_067"),
        (b"[]", 200, "RESOLVE_068"),
        (b"{}", 200, "RESOLVE_068"),
        (b'{"locations": {}}', 200, "RESOLVE_068"),
        (b'{"locations": [], "more": 1}', 200, "RESOLVE_068"),
        (locations(), 200, "RESOLVE_069"),
        (locations({"datasource_id": "lake"}), 200, "RESOLVE_068"),
        (locations({"path": "x"}), 200, "RESOLVE_068"),
        (locations({"datasource_id": "lake", "path": "x", "table": "y"}), 200, "RESOLVE_068"),
        (locations({"datasource_id": "lake", "path": "x", "schema": "y"}), 200, "RESOLVE_068"),
        (locations({"datasource_id": "lake", "path": "x", "uri": "file:///etc/passwd"}), 200, "RESOLVE_068"),
        (locations({"datasource_id": "lake", "path": "x", "period": "2026-02"}), 200, "RESOLVE_068"),
        (locations({"datasource_id": "lake", "path": "x", "delta_version": "4"}), 200, "RESOLVE_068"),
        (locations({"datasource_id": "lake", "path": "x", "delta_version": -1}), 200, "RESOLVE_068"),
        (locations({"datasource_id": "lake", "path": 5}), 200, "RESOLVE_068"),
        (locations({"datasource_id": "pg", "table": "x", "delta_version": 1}), 200, "RESOLVE_074"),
        (locations({"datasource_id": "pg", "path": "x"}), 200, "RESOLVE_039"),
        (locations({"datasource_id": "elsewhere", "path": "x"}), 200, "RESOLVE_043"),
        (locations({"datasource_id": "lake", "path": "../../etc/passwd"}), 200, "RESOLVE_035"),
        (locations({"datasource_id": "lake", "path": "/etc/passwd"}), 200, "RESOLVE_035"),
        (locations({"datasource_id": "lake", "path": "http://169.254.169.254/"}), 200, "RESOLVE_035"),
        (locations({"datasource_id": "lake", "path": "x"}), 201, "RESOLVE_064"),
        (b"{}", 404, "RESOLVE_064"),
        (b"{}", 500, "RESOLVE_064"),
        (b"x" * 2001, 200, "RESOLVE_066"),
    ],
)
def test_answers_that_are_refused(tmp_path: Path, body: bytes, status: int, code: str) -> None:
    with serving(answer(body, status)) as server:
        assert failure(server, tmp_path).code == code


def test_many_locations_take_no_time_and_too_many_are_refused(tmp_path: Path) -> None:
    limits = HttpLimits(max_bytes=10_000_000)
    many = [{"datasource_id": "lake", "path": f"p{number}"} for number in range(10_001)]
    with serving(answer(locations(*many[:5000]))) as server:
        before = time.monotonic()
        assert len(located(server, tmp_path, limits=limits).locations) == 5000
        # Comparing each with each took minutes.
        assert time.monotonic() - before < 30
    with serving(answer(locations(*many))) as server:
        assert failure(server, tmp_path, limits=limits).code == "RESOLVE_068"


def test_an_endless_answer_is_cut(tmp_path: Path) -> None:
    def endless(_: Asked, handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.end_headers()
        for _count in range(1000):
            handler.wfile.write(b" " * 1000)

    with serving(endless) as server:
        assert failure(server, tmp_path).code == "RESOLVE_066"


def test_an_answer_that_ends_early(tmp_path: Path) -> None:
    body = locations({"datasource_id": "lake", "path": "x"})
    with serving(answer(body, headers={"Content-Length": str(len(body) + 10)})) as server:
        assert failure(server, tmp_path).code == "RESOLVE_062"


def test_a_silent_server(tmp_path: Path) -> None:
    release = threading.Event()

    def silent(_: Asked, __: BaseHTTPRequestHandler) -> None:
        release.wait(10)

    with serving(silent) as server:
        try:
            assert failure(server, tmp_path, limits=SHORT).code == "RESOLVE_063"
        finally:
            release.set()


@pytest.mark.parametrize("part", ["headers", "body"])
def test_a_server_that_trickles(tmp_path: Path, part: str) -> None:
    release = threading.Event()

    def trickling(_: Asked, handler: BaseHTTPRequestHandler) -> None:
        if part == "body":
            handler.send_response(200)
            handler.end_headers()
        while not release.wait(0.05):
            handler.wfile.write(b"x")
            handler.wfile.flush()

    with serving(trickling) as server:
        try:
            assert failure(server, tmp_path, limits=SHORT).code == "RESOLVE_063"
        finally:
            release.set()


def test_nobody_listens(tmp_path: Path) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        host = f"127.0.0.1:{unused.getsockname()[1]}"
    error = failure(None, tmp_path, endpoint=f"http://{host}/x", allowed_hosts=(host,))
    assert error.code == "RESOLVE_062"


def test_something_else_listens(tmp_path: Path) -> None:
    def other(_: Asked, handler: BaseHTTPRequestHandler) -> None:
        handler.wfile.write(b"SSH-2.0-OpenSSH\r\n")
        handler.close_connection = True

    with serving(other) as server:
        assert failure(server, tmp_path).code == "RESOLVE_062"
        error = failure(server, tmp_path, endpoint=f"https://{server.host}/x")
        assert error.code == "RESOLVE_062"


def test_redirects_within_the_host_are_followed(tmp_path: Path) -> None:
    final = answer(locations({"datasource_id": "lake", "path": "x"}))

    def moved(asked: Asked, handler: BaseHTTPRequestHandler) -> None:
        (answer(b"", 302, {"Location": "/new"}) if asked.path.startswith("/locations") else final)(asked, handler)

    with serving(moved) as server:
        assert located(server, tmp_path).locations[0].uri == f"{tmp_path}/lake/x"
        assert [asked.path for asked in server.asked][1:] == ["/new"]
        assert failure(server, tmp_path, method="POST").code == "RESOLVE_065"


@pytest.mark.parametrize(
    "target",
    [
        "http://localhost:{port}/new",
        "http://127.0.0.1:1/new",
        "http://169.254.169.254/latest/meta-data/",
        "file:///etc/passwd",
        "ftp://127.0.0.1/x",
        "//example.com/x",
        "http://user:secret@127.0.0.1:{port}/x",
        "http://[bad/",
    ],
)
def test_redirects_elsewhere_are_not(tmp_path: Path, target: str) -> None:
    def moved(asked: Asked, handler: BaseHTTPRequestHandler) -> None:
        answer(b"", 307, {"Location": target.format(port=server.port)})(asked, handler)

    with serving(moved) as server:
        everywhere = (server.host, f"localhost:{server.port}", "127.0.0.1:1", "169.254.169.254", "example.com")
        assert failure(server, tmp_path, allowed_hosts=everywhere).code == "RESOLVE_065"
        assert len(server.asked) == 1


def test_redirects_in_a_circle(tmp_path: Path) -> None:
    with serving(answer(b"", 302, {"Location": "/locations"})) as server:
        assert failure(server, tmp_path).code == "RESOLVE_065"
        assert len(server.asked) == QUICK.max_redirects + 1


@pytest.mark.parametrize("hosts", [(), ("localhost",), ("127.0.0.1",), ("127.0.0.1:1",), ("*",), ("127.0.0.1:*",)])
def test_hosts_that_are_not_allowed_are_not_called(tmp_path: Path, hosts: tuple[str, ...]) -> None:
    with serving(answer(locations({"datasource_id": "lake", "path": "x"}))) as server:
        error = failure(server, tmp_path, allowed_hosts=hosts)
        assert (error.code, error.parameters["host"]) == ("RESOLVE_061", server.host)
        assert server.asked == []


@pytest.mark.parametrize(
    "endpoint",
    [
        "file:///etc/passwd",
        "ftp://catalog.acme.com/x",
        "gopher://catalog.acme.com",
        "catalog.acme.com/x",
        "//catalog.acme.com/x",
        "http:///x",
        "http://catalog.acme.com:99999/x",
        "http://user:hunter2@catalog.acme.com/x",
        "http://catalog.acme.com/x#y",
        "http://catalog.acme.com/x y",
        "http://catalog.acme.com/\r\nX: y",
        "http://catalog.acme.com\\@evil.example/",
        "http://catalog.acme.com/{{table_name}}",
    ],
)
def test_addresses_that_are_refused(tmp_path: Path, endpoint: str) -> None:
    error = failure(None, tmp_path, endpoint=endpoint, allowed_hosts=("catalog.acme.com", "evil.example"))
    assert error.code == "RESOLVE_060"
    assert "hunter2" not in render(error)


@pytest.mark.parametrize(
    ("strategy", "code"),
    [
        ({"headers": {"Authorization": "Bearer hunter2"}}, "RESOLVE_070"),
        ({"headers": {"X-Api-Key": "hunter2"}}, "RESOLVE_070"),
        ({"headers": {"Cookie": "session=hunter2"}}, "RESOLVE_070"),
        ({"headers": {"X-A": "a\r\nX-B: b"}}, "RESOLVE_072"),
        ({"headers": {"X A": "a"}}, "RESOLVE_072"),
        ({"headers": {"Host": "internal"}}, "RESOLVE_072"),
        ({"headers": {"Content-Length": "0"}}, "RESOLVE_072"),
        ({"auth": "env://NOT_SET_ANYWHERE"}, "RESOLVE_081"),
        ({"params": {"x": {"y": 1}}}, "RESOLVE_073"),
        ({"params": {"x": None}}, "RESOLVE_073"),
        ({"params": {"x": "{{YYY}}"}}, "RESOLVE_030"),
    ],
)
def test_what_is_not_sent(tmp_path: Path, strategy: dict[str, Any], code: str) -> None:
    with serving(answer(locations({"datasource_id": "lake", "path": "x"}))) as server:
        error = failure(server, tmp_path, **strategy)
        assert error.code == code
        assert "hunter2" not in render(error)
        assert server.asked == []


def test_credentials_are_not_sent_unencrypted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CATALOG_TOKEN", "hunter2")
    error = failure(
        None,
        tmp_path,
        endpoint="http://catalog.acme.com/x",
        auth="env://CATALOG_TOKEN",
        allowed_hosts=("catalog.acme.com",),
    )
    assert error.code == "RESOLVE_071"


def test_a_credential_with_a_line_break_is_not_sent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CATALOG_TOKEN", "hunter2\r\nX-Admin: 1")
    with serving(answer(b"{}")) as server:
        error = failure(server, tmp_path, auth="env://CATALOG_TOKEN")
        assert (error.code, server.asked) == ("RESOLVE_072", [])
        assert "hunter2" not in render(error)
