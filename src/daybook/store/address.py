"""The address of a store, parsed and checked from `store:` in daybook.yaml."""

from dataclasses import dataclass
from pathlib import Path
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from daybook.errors import DaybookError
from daybook.model.secrets import has_secret, host_has_secret, is_secret_name, mask_address


@dataclass(frozen=True, slots=True)
class EmbeddedStore:
    """A SQLite file of one workspace."""

    path: Path

    @property
    def backups(self) -> Path:
        """The folder that holds its backups."""
        return self.path.with_name(f"{self.path.name}-backups")

    def __str__(self) -> str:
        return str(self.path)


@dataclass(frozen=True, slots=True)
class SharedStore:
    """A PostgreSQL database that a team shares; what is left out comes from libpq's own defaults."""

    host: str | None
    port: int | None
    user: str | None
    database: str | None
    options: tuple[tuple[str, str], ...] = ()
    credential_ref: str | None = None

    def __str__(self) -> str:
        user = f"{self.user}@" if self.user else ""
        port = f":{self.port}" if self.port else ""
        return mask_address(f"postgresql://{user}{self.host or ''}{port}/{self.database or ''}")


StoreAddress = EmbeddedStore | SharedStore


def parse_address(url: str, root: Path) -> StoreAddress:
    scheme, separator, _ = url.partition("://")
    if not separator:
        raise DaybookError("STORE_001", url=mask_address(url), reason="it has no scheme")
    match scheme:
        case "sqlite":
            return _parse_embedded(url, root)
        case "postgresql" | "postgres":
            return _parse_shared(url)
        case _:
            raise DaybookError("STORE_001", url=mask_address(url), reason="it names no kind of store")


def store_exists(url: str, root: Path) -> bool:
    """Whether there is something to open: an embedded store's file, or a shared store, which is taken as given."""
    match parse_address(url, root):
        case EmbeddedStore(path):
            return path.exists()
        case SharedStore():
            return True


def _parse_embedded(url: str, root: Path) -> EmbeddedStore:
    rest = url.removeprefix("sqlite://")
    if not rest.startswith("/") or rest == "/" or "?" in rest:
        raise DaybookError("STORE_001", url=mask_address(url), reason="it names no file")
    return EmbeddedStore(root / unquote(rest[1:]))


def _parse_shared(url: str) -> SharedStore:
    if has_secret(url):
        raise DaybookError("STORE_002")
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise DaybookError("STORE_001", url=mask_address(url), reason="its host or port is malformed") from None
    if parts.fragment or "@" in parts.path:
        reason = "it has # or @ after the host; in a name they are written %23 and %40"
        raise DaybookError("STORE_001", url=mask_address(url), reason=reason)
    query = parse_qsl(parts.query, keep_blank_values=True)
    names = [name for name, _ in query]
    if parts.password or any(is_secret_name(name) for name in names if name != "credential_ref"):
        raise DaybookError("STORE_002")
    if any(host_has_secret(value) for name, value in query if name in ("host", "hostaddr")):
        raise DaybookError("STORE_002")
    if len(set(names)) < len(names):
        raise DaybookError("STORE_001", url=mask_address(url), reason="a parameter is given twice")
    options = dict(query)
    credential_ref = options.pop("credential_ref", None)
    return SharedStore(
        # The host of a socket folder is in the query, as in libpq.
        host=options.pop("host", None) or _host(parts),
        port=int(text) if (text := options.pop("port", None)) and text.isdigit() else port,
        user=options.pop("user", None) or (unquote(parts.username) if parts.username else None),
        database=options.pop("dbname", None) or unquote(parts.path.removeprefix("/")) or None,
        options=tuple(sorted(options.items())),
        credential_ref=credential_ref,
    )


def _host(parts: SplitResult) -> str | None:
    """A socket folder may also be percent-encoded as the host; urllib would lower its case."""
    authority = parts.netloc.rpartition("@")[2]
    return unquote(authority.partition(":")[0]) if "%" in authority else parts.hostname
