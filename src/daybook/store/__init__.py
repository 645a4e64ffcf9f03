"""Metadata: what is defined in which versions, what ran, who owns which slice.

Importing this package is cheap; the database libraries are imported when a store is opened.
"""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from daybook.store.records import Credential
    from daybook.store.store import MetadataStore

__all__ = ["create_empty_store", "open_store"]


def open_store(
    url: str, *, root: Path, migrate: bool = False, credential: "Credential | None" = None
) -> "MetadataStore":
    """The store of a workspace at `root`.

    An embedded store is created and migrated as needed. A shared one is set up or migrated only with
    `migrate`, which `daybook apply` and `daybook doctor` ask for. `credential` says who uses it; by default the user of
    this process.
    """
    from daybook.store.store import open_store as opening

    return opening(url, root=root, migrate=migrate, credential=credential)


def create_empty_store(folder: Path) -> "MetadataStore":
    """An empty store in a temporary folder, for commands that read before anything was stored."""
    from daybook.store.store import create_empty_store as creating

    return creating(folder)
