import base64
import stat
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat
from securesystemslib.dsse import Envelope

from daybook.errors import DaybookError
from daybook.proof.envelope import (
    MOST_BYTES,
    MOST_VALUES,
    read_document,
    read_envelope,
    read_private_key,
    read_public_key,
    sign,
)
from daybook.workspace.certificates import make_key
from tests.certificates import KEY, OTHER_KEY, envelope, public, written


def test_another_library_verifies_an_envelope() -> None:
    document = envelope()
    accepted = Envelope.from_dict(document).verify([public(OTHER_KEY), public(KEY)], 1)
    assert list(accepted.values()) == [public(KEY)]


def test_an_envelope_of_another_library_is_verified_here() -> None:
    from securesystemslib.signer import CryptoSigner

    other = Envelope(b'{"a":1}', "application/vnd.in-toto+json", {})
    other.sign(CryptoSigner(KEY))
    signed = read_envelope(other.to_dict(), Path("x"))
    assert signed.payload == b'{"a":1}'
    assert signed.is_signed_by(public(KEY))
    assert not signed.is_signed_by(public(OTHER_KEY))


def test_a_changed_payload_or_type_has_no_signature() -> None:
    document = sign(b'{"amount":1}', KEY)
    document["payload"] = base64.b64encode(b'{"amount":2}').decode()
    assert not read_envelope(document, Path("x")).is_signed_by(public(KEY))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "null",
        '"text"',
        "NaN",
        '{"a": 1, "a": 2}',
        '{"payload": 1, "payloadType": "application/vnd.in-toto+json", "signatures": []}',
        '{"payload": "e30=", "payloadType": "text/plain", "signatures": [{"keyid": "", "sig": ""}]}',
        '{"payload": "e30=", "payloadType": "application/vnd.in-toto+json", "signatures": []}',
        '{"payload": "e30=", "payloadType": "application/vnd.in-toto+json", "signatures": [1]}',
        '{"payload": "?", "payloadType": "application/vnd.in-toto+json", "signatures": [{"keyid": "", "sig": ""}]}',
        '{"payload": "e30=", "payloadType": "application/vnd.in-toto+json", "signatures": [{"keyid": "", "sig": "é"}]}',
        '{"payload": "e30=", "payloadType": "application/vnd.in-toto+json", "timestamp": 7, "signatures": [{}]}',
        "[" * 200_000,
        '{"a":' * 100_000,
        "1" * 5_000,
    ],
    ids=lambda text: text[:40] or "empty",
)
def test_a_malformed_file_has_a_code(tmp_path: Path, text: str) -> None:
    path = written(tmp_path, "c.json", text)
    with pytest.raises(DaybookError) as raised:
        read_envelope(read_document(path), path)
    assert raised.value.code == "PROOF_001"


def test_a_file_that_is_too_large_is_not_read_to_its_end(tmp_path: Path) -> None:
    path = tmp_path / "c.json"
    with path.open("wb") as stream:
        stream.truncate(1 << 40)
    with pytest.raises(DaybookError) as raised:
        read_document(path)
    assert raised.value.code == "PROOF_001"
    assert str(MOST_BYTES >> 20) in str(raised.value)


def test_a_file_of_too_many_values_is_not_parsed(tmp_path: Path) -> None:
    """Empty values take thirty times the memory of their text, keys more."""
    for value in (b"[],", b"{},", b"1,"):
        path = tmp_path / "c.json"
        path.write_bytes(b"[" + value * MOST_VALUES + b"0]")
        with pytest.raises(DaybookError) as raised:
            read_document(path)
        assert raised.value.code == "PROOF_001"
        assert f"{MOST_VALUES:,} values" in str(raised.value)


@pytest.mark.parametrize("path", ["/dev/zero", "/", "nowhere.json"])
def test_what_is_no_file_has_a_code(path: str) -> None:
    with pytest.raises(DaybookError) as raised:
        read_document(Path(path))
    assert raised.value.code == "PROOF_001"


def test_a_new_key_signs_and_verifies_and_only_its_owner_reads_it(tmp_path: Path) -> None:
    key = make_key("controlling", tmp_path / "keys")
    assert stat.S_IMODE(key.private_key.stat().st_mode) == 0o600
    private = read_private_key(f"file://{key.private_key}", tmp_path)
    verifying = read_public_key(key.public_key)
    assert verifying.keyid == key.key_id
    assert read_envelope(sign(b"{}", private), Path("x")).is_signed_by(verifying)


def test_a_key_is_never_overwritten(tmp_path: Path) -> None:
    key = make_key("controlling", tmp_path)
    content = key.private_key.read_bytes()
    with pytest.raises(DaybookError) as raised:
        make_key("controlling", tmp_path)
    assert raised.value.code == "PROOF_003"
    assert key.private_key.read_bytes() == content


@pytest.mark.parametrize("name", ["", "../x", "a/b", ".hidden", "x" * 101])
def test_the_name_of_a_key_is_the_name_of_a_file(tmp_path: Path, name: str) -> None:
    with pytest.raises(DaybookError) as raised:
        make_key(name, tmp_path)
    assert raised.value.code == "PROOF_016"
    assert list(tmp_path.iterdir()) == []


def test_keys_of_other_kinds_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = generate_private_key(SECP256R1())
    private, public_file = tmp_path / "k.key", tmp_path / "k.pub"
    private.write_bytes(other.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    public_file.write_bytes(other.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo))
    garbage = written(tmp_path, "garbage.pub", "no key")
    monkeypatch.setenv("TEST_SEAL_KEY", "no key")
    for attempt in (
        lambda: read_private_key(f"file://{private}", tmp_path),
        lambda: read_private_key("env://TEST_SEAL_KEY", tmp_path),
        lambda: read_public_key(public_file),
        lambda: read_public_key(garbage),
        lambda: read_public_key(tmp_path / "nowhere.pub"),
    ):
        with pytest.raises(DaybookError) as raised:
            attempt()
        assert raised.value.code == "PROOF_002"
