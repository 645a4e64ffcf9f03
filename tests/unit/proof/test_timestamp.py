"""Time stamps of the authority that OpenSSL brings, on loopback."""

import base64
import shutil
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from daybook.errors import DaybookError
from daybook.proof.envelope import read_envelope
from daybook.proof.timestamp import read_authorities, request_timestamp
from daybook.proof.verification import verify_files
from tests.certificates import TRUST, envelope, written

pytestmark = pytest.mark.skipif(shutil.which("openssl") is None, reason="OpenSSL, the authority, is not installed")

CONFIGURATION = """
[tsa]
default_tsa = one
[one]
serial = {folder}/serial
signer_cert = {folder}/tsa.pem
signer_key = {folder}/tsa.key
signer_digest = sha256
default_policy = 1.2.3.4.1
digests = sha256, sha512
ess_cert_id_alg = sha256
[tsa_extensions]
basicConstraints = critical, CA:FALSE
keyUsage = critical, digitalSignature
extendedKeyUsage = critical, timeStamping
[ca_extensions]
basicConstraints = critical, CA:TRUE
keyUsage = critical, keyCertSign
[req]
distinguished_name = name
[name]
"""


def openssl(folder: Path, *words: str) -> bytes:
    command = ["openssl", *words]
    output: bytes = subprocess.run(command, cwd=folder, check=True, capture_output=True, timeout=60).stdout
    return output


class Authority:
    """Its certificates and key are files in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        (folder / "tsa.cnf").write_text(CONFIGURATION.format(folder=folder))
        (folder / "serial").write_text("01")
        new_key = ("-newkey", "ed25519", "-nodes", "-config", "tsa.cnf")
        ca = ("-x509", "-days", "30", "-subj", "/CN=root", "-extensions", "ca_extensions")
        openssl(folder, "req", *new_key, *ca, "-keyout", "ca.key", "-out", "ca.pem")
        rsa = ("-newkey", "rsa:2048", "-nodes", "-config", "tsa.cnf", "-subj", "/CN=tsa")
        openssl(folder, "req", *rsa, "-keyout", "tsa.key", "-out", "tsa.csr")
        by_root = ("-CA", "ca.pem", "-CAkey", "ca.key", "-days", "30", "-extfile", "tsa.cnf")
        openssl(folder, "x509", "-req", "-in", "tsa.csr", *by_root, "-extensions", "tsa_extensions", "-out", "tsa.pem")

    @property
    def certificates(self) -> Path:
        return self.folder / "ca.pem"

    def answer(self, query: bytes) -> bytes:
        (self.folder / "query").write_bytes(query)
        return openssl(self.folder, "ts", "-reply", "-config", "tsa.cnf", "-section", "one", "-queryfile", "query")


@contextmanager
def serving(answer: Any) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            reply = answer(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(200)
            self.end_headers()
            self.wfile.write(reply)

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
            """Tests print nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/tsr"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority") / "a")


def stamped(authority: Authority) -> dict[str, Any]:
    document = envelope()
    signature = read_envelope(document, Path("x")).first_signature
    with serving(authority.answer) as url:
        document["timestamp"] = base64.b64encode(request_timestamp(url, signature)).decode()
    return document


def test_a_time_stamp_of_a_trusted_authority_counts(authority: Authority, tmp_path: Path) -> None:
    trust = replace(TRUST, authorities=read_authorities(authority.certificates))
    path = written(tmp_path, "c.json", stamped(authority))
    (verification,) = verify_files([path], trust)
    assert verification.problems == ()
    assert verification.stamped_at is not None


def test_a_time_stamp_of_another_authority_or_signature_does_not_count(authority: Authority, tmp_path: Path) -> None:
    other = Authority(tmp_path / "other")
    document = stamped(authority)
    moved = envelope(2) | {"timestamp": document["timestamp"]}
    cases = [(document, other), (moved, authority), (envelope(), authority), (document | {"timestamp": ""}, authority)]
    for number, (case, trusted) in enumerate(cases):
        trust = replace(TRUST, authorities=read_authorities(trusted.certificates))
        (verification,) = verify_files([written(tmp_path, f"{number}.json", case)], trust)
        assert verification.signer == "controlling"
        assert not verification.is_valid


def test_an_authority_that_answers_something_else_has_a_code(authority: Authority) -> None:
    other_answer = authority.answer(_query_about(b"something else"))
    for answer in (lambda query: b"", lambda query: b"x" * (2 << 20), lambda query: other_answer):
        with serving(answer) as url, pytest.raises(DaybookError) as raised:
            request_timestamp(url, b"signature")
        assert raised.value.code == "PROOF_009"


def _query_about(data: bytes) -> bytes:
    from rfc3161_client import TimestampRequestBuilder

    return TimestampRequestBuilder().data(data).build().as_bytes()


@pytest.mark.parametrize("url", ["http://127.0.0.1:9/tsr", "file:///etc/passwd", "no address"])
def test_an_authority_that_cannot_be_reached_has_a_code(url: str) -> None:
    with pytest.raises(DaybookError) as raised:
        request_timestamp(url, b"signature")
    assert raised.value.code == "PROOF_009"


def test_a_file_without_certificates_names_no_authority(tmp_path: Path) -> None:
    for path in (written(tmp_path, "a.pem", "nothing"), tmp_path / "nowhere.pem"):
        with pytest.raises(DaybookError) as raised:
            read_authorities(path)
        assert raised.value.code == "PROOF_010"
