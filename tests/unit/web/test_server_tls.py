"""Another host is served over TLS with a certificate of its own; without TLS its port says nothing."""

import asyncio
import http.client
import json
import re
import shutil
import socket
import ssl
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlencode

import pytest

from daybook.errors import DaybookError
from daybook.web import connections
from daybook.web.server import ServeRequest, open_site
from daybook.workspace.open_workspace import open_workspace
from tests.event_loops import in_another_thread
from tests.page import page_folder

SECONDS = 60


@dataclass(frozen=True)
class EncryptedPage:
    port: int
    token: str
    context: ssl.SSLContext

    @contextmanager
    def connect(self) -> Iterator[http.client.HTTPSConnection]:
        connection = http.client.HTTPSConnection("127.0.0.1", self.port, context=self.context, timeout=SECONDS)
        try:
            yield connection
        finally:
            connection.close()

    def say(self, request: str) -> bytes:
        """What the port answers to somebody who does not encrypt."""
        answered = b""
        with socket.create_connection(("127.0.0.1", self.port), timeout=SECONDS) as plain:
            try:
                plain.sendall(request.encode())
                while piece := plain.recv(4096):
                    answered += piece
            except ConnectionResetError:
                pass
        return answered


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    if shutil.which("openssl") is None:
        pytest.skip("openssl is missing: it makes the certificate of this test")
    folder = tmp_path_factory.mktemp("tls")
    cert, key = folder / "cert.pem", folder / "key.pem"
    names = "subjectAltName=IP:127.0.0.1,DNS:localhost"
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    command += ["-days", "2", "-subj", "/CN=localhost", "-addext", names, "-keyout", str(key), "-out", str(cert)]
    subprocess.run(command, check=True, capture_output=True)
    return cert, key


@pytest.fixture(scope="module")
def encrypted(tmp_path_factory: pytest.TempPathFactory, certificate: tuple[Path, Path]) -> Iterator[EncryptedPage]:
    cert, key = certificate
    root = page_folder(tmp_path_factory.mktemp("served")).root
    command = [sys.executable, "-m", "daybook", "-w", str(root), "serve", "--host", "0.0.0.0", "--port", "0"]
    command += ["--tls-cert", str(cert), "--tls-key", str(key)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        assert process.stdout is not None
        address = re.fullmatch(r"https://0\.0\.0\.0:(\d+)/\n", process.stdout.readline())
        assert address is not None
        token = process.stdout.readline().removeprefix("token: ").strip()
        yield EncryptedPage(int(address[1]), token, ssl.create_default_context(cafile=cert))
    finally:
        process.terminate()
        process.communicate(timeout=SECONDS)


def test_it_serves_https_with_the_certificate(encrypted: EncryptedPage) -> None:
    with encrypted.connect() as connection:
        connection.request("GET", "/api/v1/runs", headers={"Authorization": f"Bearer {encrypted.token}"})
        answer = connection.getresponse()
        assert (answer.status, json.load(answer)) == (200, {"runs": [], "next": None})
        assert answer.headers["Strict-Transport-Security"] == "max-age=31536000"


def test_the_login_is_a_cookie_for_https_only(encrypted: EncryptedPage) -> None:
    origin = f"https://127.0.0.1:{encrypted.port}"
    form = urlencode({"token": encrypted.token, "next": "/runs"})
    headers = {"Origin": origin, "Content-Type": "application/x-www-form-urlencoded"}
    with encrypted.connect() as connection:
        connection.request("POST", "/login", form, headers)
        answer = connection.getresponse()
        answer.read()
        assert (answer.status, answer.headers["Location"]) == (303, "/runs")
        cookie = answer.headers["Set-Cookie"]
        assert {"secure", "httponly", "samesite=strict"} <= {each.strip().lower() for each in cookie.split(";")}
        connection.request("GET", "/runs", headers={"Cookie": cookie.partition(";")[0]})
        page = connection.getresponse()
        assert (page.status, b"Nothing has run yet" in page.read()) == (200, True)


@pytest.mark.parametrize("path", ["/login", "/health", "/api/v1/runs"])
def test_without_tls_the_port_says_nothing(encrypted: EncryptedPage, path: str) -> None:
    request = f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {encrypted.token}\r\n\r\n"
    answered = encrypted.say(request)
    assert b"HTTP" not in answered
    assert b"aybook" not in answered


def test_old_protocols_are_refused(encrypted: EncryptedPage) -> None:
    old = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    old.check_hostname, old.verify_mode = False, ssl.CERT_NONE
    with pytest.warns(DeprecationWarning, match="TLS"):
        old.minimum_version = old.maximum_version = ssl.TLSVersion.TLSv1_1
    address = ("127.0.0.1", encrypted.port)
    with socket.create_connection(address, timeout=SECONDS) as plain, pytest.raises(ssl.SSLError):
        old.wrap_socket(plain)


def test_connections_without_a_handshake_do_not_stop_others(encrypted: EncryptedPage) -> None:
    with ExitStack() as silent:
        for number in range(600):
            plain = silent.enter_context(socket.create_connection(("127.0.0.1", encrypted.port), timeout=SECONDS))
            # The first bytes of a handshake that goes no further.
            plain.sendall(b"\x16\x03\x01" if number % 2 else b"")
        with encrypted.connect() as connection:
            connection.request("GET", "/api/v1/runs", headers={"Authorization": f"Bearer {encrypted.token}"})
            assert connection.getresponse().status == 200


def test_connections_without_a_request_do_not_stop_others(encrypted: EncryptedPage) -> None:
    with ExitStack() as silent:
        for _ in range(300):
            plain = socket.create_connection(("127.0.0.1", encrypted.port), timeout=SECONDS)
            silent.enter_context(encrypted.context.wrap_socket(plain, server_hostname="127.0.0.1"))
        with encrypted.connect() as connection:
            connection.request("GET", "/api/v1/runs", headers={"Authorization": f"Bearer {encrypted.token}"})
            assert connection.getresponse().status == 200


def test_the_handshake_must_be_complete_in_time(
    tmp_path: Path, certificate: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "REQUEST_SECONDS", 0.3)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificate)
    loop = connections.PageLoop()

    def read_silently(port: int) -> bytes:
        with socket.create_connection(("127.0.0.1", port), timeout=SECONDS) as plain:
            return plain.recv(1)

    async def serve_one() -> bytes:
        server = await loop.create_server(asyncio.Protocol, "127.0.0.1", 0, ssl=context)
        async with server:
            return await asyncio.to_thread(read_silently, server.sockets[0].getsockname()[1])

    def serve() -> bytes:
        try:
            return loop.run_until_complete(serve_one())
        finally:
            loop.run_until_complete(loop.shutdown_default_executor())
            loop.close()

    assert in_another_thread(serve) == b""


def test_a_key_with_a_password_is_refused_without_asking(tmp_path: Path, certificate: tuple[Path, Path]) -> None:
    cert, key = certificate
    protected = tmp_path / "protected.pem"
    command = ["openssl", "pkcs8", "-topk8", "-in", str(key), "-out", str(protected), "-passout", "pass:secret"]
    subprocess.run(command, check=True, capture_output=True)
    request = ServeRequest("0.0.0.0", tls_cert=cert, tls_key=protected)
    with pytest.raises(DaybookError, match="WEB_003") as refused:
        open_site(open_workspace(page_folder(tmp_path).root), request)
    assert "password" in refused.value.message
