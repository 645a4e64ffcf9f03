"""The way a reader came from a number to its rows, kept in the address so that it can be shared and walked back."""

import base64
import binascii
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from urllib.parse import urlencode

from daybook.web.access import local_path

_MOST_STEPS = 12
_MOST_TEXT = 120


@dataclass(frozen=True, slots=True)
class TrailStep:
    """A page on the way; its address has no trail of its own."""

    text: str
    address: str


def parse_trail(text: str | None) -> tuple[TrailStep, ...]:
    """What an address carries; anything else than steps of this server is left out."""
    if not text:
        return ()
    try:
        found = json.loads(base64.urlsafe_b64decode(text.encode("ascii") + b"=" * (-len(text) % 4)))
        steps = [TrailStep(str(label)[:_MOST_TEXT], local_path(str(address))) for label, address in found]
    except (ValueError, TypeError, binascii.Error):
        return ()
    return tuple(steps[-_MOST_STEPS:])


def format_trail(steps: Iterable[TrailStep]) -> str:
    body = json.dumps([[step.text, step.address] for step in steps][-_MOST_STEPS:], ensure_ascii=False)
    return base64.urlsafe_b64encode(body.encode()).decode("ascii").rstrip("=")


def explain_address(
    run_id: str, seq: int, keys: Iterable[str] = (), *, trail: Iterable[TrailStep] = (), **more: str | int
) -> str:
    """Where the rows of an operation are shown; `keys` as they stand on a command line."""
    values: list[tuple[str, str]] = [("key", each) for each in keys]
    values += [(name, str(value)) for name, value in more.items()]
    if steps := tuple(trail):
        values.append(("trail", format_trail(steps)))
    return address_with(f"/runs/{run_id}/explain/{seq}", values)


def address_with(path: str, values: Iterable[tuple[str, str]] | Mapping[str, str]) -> str:
    query = urlencode(list(values.items()) if isinstance(values, Mapping) else list(values))
    return f"{path}?{query}" if query else path
