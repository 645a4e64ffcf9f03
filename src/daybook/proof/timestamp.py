"""Time stamps of RFC 3161: an authority confirms that a signature existed at a time."""

import datetime
import urllib.error
import urllib.request
from pathlib import Path
from urllib.parse import urlsplit

from cryptography import x509
from rfc3161_client import (
    TimestampRequestBuilder,
    TimeStampResponse,
    VerificationError,
    VerifierBuilder,
    decode_timestamp_response,
)

from daybook.errors import DaybookError

_SECONDS = 30
# An answer with its certificates has some thousand bytes.
_MOST_BYTES = 1 << 20
_MOST_CERTIFICATES = 20


def request_timestamp(url: str, signature: bytes) -> bytes:
    """The response of an authority about a signature; PROOF_009 where it is not a time stamp of that signature."""
    if urlsplit(url).scheme not in ("http", "https"):
        raise DaybookError("PROOF_009", url=url, reason="an address begins with https:// or http://")
    request = TimestampRequestBuilder().data(signature).nonce(nonce=True).cert_request(cert_request=True).build()
    headers = {"Content-Type": "application/timestamp-query", "Accept": "application/timestamp-reply"}
    try:
        post = urllib.request.Request(url, request.as_bytes(), headers)
        with urllib.request.urlopen(post, timeout=_SECONDS) as reply:
            answer: bytes = reply.read(_MOST_BYTES + 1)
    except (OSError, ValueError, urllib.error.HTTPError) as failure:
        raise DaybookError("PROOF_009", url=url, reason=_reason(failure)) from None
    try:
        response = decode_timestamp_response(answer)
        imprint = response.tst_info.message_imprint.message
        is_answer = imprint == request.message_imprint.message and response.tst_info.nonce == request.nonce
    except ValueError as failure:
        raise DaybookError("PROOF_009", url=url, reason=_reason(failure)) from None
    if not is_answer:
        raise DaybookError("PROOF_009", url=url, reason="it stamped something else")
    return answer


def _reason(failure: Exception) -> str:
    reason = getattr(failure, "reason", None) or failure
    return (str(reason).splitlines() or [type(failure).__name__])[0][:300]


def read_authorities(path: Path) -> tuple[x509.Certificate, ...]:
    """The certificates of authorities in a PEM file; PROOF_010 when there are none."""
    try:
        with path.open("rb") as stream:
            certificates = x509.load_pem_x509_certificates(stream.read(_MOST_BYTES))
    except OSError as failure:
        raise DaybookError("PROOF_010", file=str(path), reason=failure.strerror or str(failure)) from None
    except ValueError as failure:
        raise DaybookError("PROOF_010", file=str(path), reason=_reason(failure)) from None
    return tuple(certificates[:_MOST_CERTIFICATES])


def timestamp_time(timestamp: bytes) -> datetime.datetime | None:
    """The time in a time stamp, of whichever authority; None where it cannot be decoded."""
    response = _decode(timestamp)
    return None if response is None else response.tst_info.gen_time


def timestamp_problem(timestamp: bytes, signature: bytes, authorities: tuple[x509.Certificate, ...]) -> str | None:
    """Why a trusted authority did not stamp this signature; None where one did."""
    response = _decode(timestamp)
    if response is None:
        return "it cannot be read"
    builder = VerifierBuilder()
    for certificate in authorities:
        builder = builder.add_root_certificate(certificate)
    try:
        builder.build().verify_message(response, signature)
    except (VerificationError, ValueError) as failure:
        return _reason(failure)
    return None


def _decode(timestamp: bytes) -> TimeStampResponse | None:
    try:
        response = decode_timestamp_response(timestamp)
        # The response of an authority that refuses has no such information.
        _ = response.tst_info.gen_time
    except ValueError:
        return None
    return response
