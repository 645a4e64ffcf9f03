"""Columns of outputs that come from what changes elsewhere."""

from dataclasses import dataclass
from typing import Annotated

from daybook.model.json_fields import named


@dataclass(frozen=True, slots=True)
class TouchedColumns:
    """Columns of an output that come from what changes elsewhere; `causes` are kinds and ids."""

    project_id: Annotated[str, named("project")]
    output_seq: Annotated[int, named("output")]
    columns: tuple[str, ...]
    causes: tuple[str, ...]
