"""The secret of a data source, where it has one."""

from pathlib import Path

from daybook.model.credential import read_credential


def secret(reference: str | None, workspace: Path) -> str | None:
    """What a `credential_ref` points at; None when there is none."""
    return None if reference is None else read_credential(reference, workspace)
