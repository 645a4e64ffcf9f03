"""Columns of outputs that come from what changes elsewhere."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TouchedColumns:
    """Columns of an output that come from what changes elsewhere; `causes` are kinds and ids."""

    project_id: str
    output_seq: int
    columns: tuple[str, ...]
    causes: tuple[str, ...]
