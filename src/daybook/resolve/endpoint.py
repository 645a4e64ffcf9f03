"""The addresses a catalog strategy may call."""

import re
from dataclasses import dataclass
from urllib.parse import urlsplit

from daybook.errors import DaybookError, Span

_PORTS = {"http": 80, "https": 443}
_LOOPBACK = ("localhost", "127.0.0.1", "::1")
_PRINTABLE = re.compile(r"[!-~]+")


@dataclass(frozen=True, slots=True)
class Endpoint:
    """An http or https address; `target` is its path with the query."""

    scheme: str
    host: str
    port: int
    target: str

    @property
    def authority(self) -> str:
        """`host:port`, as a host is written in `catalogs.allowed_hosts`; the scheme's own port is left out."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def is_private(self) -> bool:
        """Whether nobody on the way can read what is sent."""
        return self.scheme == "https" or self.host in _LOOPBACK

    def __str__(self) -> str:
        # The query may carry what users would not like to see in a log.
        return f"{self.scheme}://{self.authority}{self.target.partition('?')[0]}"


def parse_endpoint(url: str, *, span: Span | None = None) -> Endpoint:
    """The parts of an address, if it is one that Daybook calls at all."""
    if not _PRINTABLE.fullmatch(url) or "{" in url or "\\" in url:
        raise DaybookError("RESOLVE_060", span=span, problem="it is not a plain http or https address")
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise DaybookError("RESOLVE_060", span=span, problem="its host or port is malformed") from None
    if parts.scheme not in _PORTS:
        raise DaybookError("RESOLVE_060", span=span, problem="only http and https are called")
    if parts.username is not None or parts.password is not None:
        raise DaybookError("RESOLVE_060", span=span, problem="it has a user or password; use auth")
    if not parts.hostname:
        raise DaybookError("RESOLVE_060", span=span, problem="it has no host")
    if parts.fragment:
        raise DaybookError("RESOLVE_060", span=span, problem="it has a fragment")
    target = parts.path or "/"
    if parts.query:
        target += f"?{parts.query}"
    host = parts.hostname.removesuffix(".")
    return Endpoint(parts.scheme, host, _PORTS[parts.scheme] if port is None else port, target)


def check_allowed(endpoint: Endpoint, allowed_hosts: tuple[str, ...], *, span: Span | None = None) -> None:
    """Hosts are allowed by name in `daybook.yaml`, each with its port unless that is the scheme's own."""
    if endpoint.authority not in {host.lower() for host in allowed_hosts}:
        raise DaybookError("RESOLVE_061", span=span, host=endpoint.authority)
