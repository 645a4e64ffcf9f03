"""What all declarations share."""

import re
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

ID_PATTERN = r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}"

Id = Annotated[str, StringConstraints(pattern=f"^{ID_PATTERN}$")]
Text = Annotated[str, StringConstraints(min_length=1)]
Expression = Annotated[str, StringConstraints(min_length=1), Field(json_schema_extra={"format": "daybook-expression"})]


class Declaration(BaseModel):
    """Something a user writes: frozen, and a key nobody knows is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, populate_by_name=True)


def slug(name: str) -> str:
    """The id a definition without one gets from its name."""
    return re.sub(r"[^A-Za-z0-9._]+", "-", name).strip("-._").lower()[:128]
