"""Signed documents: DSSE envelopes, Ed25519 keys, and the strict reading of files from elsewhere.

A file that is verified may come from anybody: it is read up to a limit, every key of an object occurs once, and no
key that it carries is trusted.
"""

import base64
import binascii
import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    PublicFormat,
    load_pem_private_key,
    load_pem_public_key,
)
from securesystemslib.dsse import Envelope
from securesystemslib.exceptions import UnverifiedSignatureError
from securesystemslib.signer import CryptoSigner, Signature, SSlibKey

from daybook.errors import DaybookError
from daybook.model.secrets import read_credential

PAYLOAD_TYPE = "application/vnd.in-toto+json"
# A certificate of a thousand projects has about 6 MB.
MOST_BYTES = 64 << 20
_MOST_SIGNATURES = 16
# Values in a document: empty ones of three bytes each take thirty times the memory of their text. In certificates a
# value takes sixteen bytes.
MOST_VALUES = 4_000_000
_KEY_BYTES = 1 << 16


@dataclass(frozen=True, slots=True)
class SignedPayload:
    """The content of an envelope; use nothing of it before a signature is verified.

    `timestamp` is a response of RFC 3161 about the first signature, which lies beside it.
    """

    payload: bytes
    signatures: tuple[Signature, ...]
    timestamp: bytes | None = None

    @property
    def digest(self) -> str:
        """Identifies a certificate: the SHA-256 of the payload."""
        return hashlib.sha256(self.payload).hexdigest()

    @property
    def first_signature(self) -> bytes:
        return bytes.fromhex(self.signatures[0].signature)

    def is_signed_by(self, key: SSlibKey) -> bool:
        pre_authentication = Envelope(self.payload, PAYLOAD_TYPE, {}).pae()
        for signature in self.signatures:
            try:
                key.verify_signature(signature, pre_authentication)
            except UnverifiedSignatureError:
                continue
            return True
        return False


def sign(payload: bytes, key: Ed25519PrivateKey) -> dict[str, Any]:
    """The envelope of a payload as a JSON object."""
    envelope = Envelope(payload, PAYLOAD_TYPE, {})
    envelope.sign(CryptoSigner(key))
    written: dict[str, Any] = envelope.to_dict()
    return written


def read_private_key(reference: str, root: Path) -> Ed25519PrivateKey:
    """The key that a reference such as `file:///safe/controlling.key` or `env://SEAL_KEY` names."""
    try:
        key = load_pem_private_key(read_credential(reference, root).encode(), password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm) as failure:
        raise DaybookError("PROOF_002", file=reference, kind="private", reason=_first_line(failure)) from None
    if not isinstance(key, Ed25519PrivateKey):
        raise DaybookError("PROOF_002", file=reference, kind="private", reason="it is a key of another kind")
    return key


def read_public_key(path: Path) -> SSlibKey:
    try:
        with path.open("rb") as stream:
            key = load_pem_public_key(stream.read(_KEY_BYTES))
    except OSError as failure:
        reason = failure.strerror or str(failure)
        raise DaybookError("PROOF_002", file=str(path), kind="public", reason=reason) from None
    except (ValueError, UnsupportedAlgorithm) as failure:
        raise DaybookError("PROOF_002", file=str(path), kind="public", reason=_first_line(failure)) from None
    if not isinstance(key, Ed25519PublicKey):
        raise DaybookError("PROOF_002", file=str(path), kind="public", reason="it is a key of another kind")
    return SSlibKey.from_crypto(key)


def public_pem(key: Ed25519PublicKey) -> bytes:
    return key.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)


def key_id(key: Ed25519PublicKey) -> str:
    """The id by which signatures name the key."""
    return SSlibKey.from_crypto(key).keyid


def _first_line(failure: Exception) -> str:
    return (str(failure).splitlines() or [type(failure).__name__])[0]


def read_document(path: Path) -> Any:
    """The JSON value in an untrusted file; PROOF_001 where the file is too large or is not JSON."""
    try:
        with path.open("rb") as stream:
            content = stream.read(MOST_BYTES + 1)
    except OSError as failure:
        raise malformed(path, failure.strerror or str(failure)) from None
    if len(content) > MOST_BYTES:
        raise malformed(path, f"it is larger than {MOST_BYTES >> 20} MB")
    return parse_json(content, path)


def parse_json(content: bytes, path: Path) -> Any:
    if count_values(content) > MOST_VALUES:
        raise malformed(path, f"it has more than {MOST_VALUES:,} values")
    try:
        return json.loads(content, object_pairs_hook=_distinct_keys, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as failure:
        reason = "it is nested too deeply" if isinstance(failure, RecursionError) else _first_line(failure)
        raise malformed(path, reason) from None


def count_values(content: bytes) -> int:
    """No fewer than the values of a JSON text: each follows one of these marks, and those in texts count, too."""
    return 1 + sum(map(content.count, (b",", b"[", b"{")))


def _distinct_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("a key occurs twice in one object")
    return members


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


def malformed(path: Path, reason: str) -> DaybookError:
    return DaybookError("PROOF_001", file=str(path), reason=reason)


def read_envelope(document: Any, path: Path) -> SignedPayload:
    """Raises PROOF_001 for a document that is not an envelope of an in-toto statement."""
    match document:
        case {"payload": str(payload), "payloadType": str(payload_type), "signatures": list(signatures)}:
            pass
        case _:
            raise malformed(path, "it is no DSSE envelope: payload, payloadType and signatures are expected")
    if payload_type != PAYLOAD_TYPE:
        raise malformed(path, f"its payload is {payload_type[:100]}, not {PAYLOAD_TYPE}")
    if not 1 <= len(signatures) <= _MOST_SIGNATURES:
        raise malformed(path, f"it has {len(signatures)} signatures")
    timestamp = document.get("timestamp")
    return SignedPayload(
        _decoded(payload, path),
        tuple(_read_signature(signature, path) for signature in signatures),
        _decoded(timestamp, path) if timestamp is not None else None,
    )


def _read_signature(signature: Any, path: Path) -> Signature:
    match signature:
        case {"keyid": str(keyid), "sig": str(sig)} if len(keyid) <= 200:
            return Signature(keyid, _decoded(sig, path).hex())
        case _:
            raise malformed(path, "a signature has no keyid or no sig")


def _decoded(text: Any, path: Path) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (TypeError, ValueError, binascii.Error):
        raise malformed(path, "a value is not base64") from None


def find_signer(signed: SignedPayload, keys: Mapping[str, SSlibKey]) -> str | None:
    """The name of the first trusted key that signed; None where none did."""
    return next((name for name, key in keys.items() if signed.is_signed_by(key)), None)


def envelope_text(envelope: Mapping[str, Any]) -> str:
    return json.dumps(envelope, indent=1, ensure_ascii=True) + "\n"


def trusted_keys(paths: Iterable[tuple[str, Path]]) -> dict[str, SSlibKey]:
    return {name: read_public_key(path) for name, path in paths}
