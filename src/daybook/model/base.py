"""What all declarations share."""

import re
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

ID_PATTERN = r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}"

Id = Annotated[str, StringConstraints(pattern=f"^{ID_PATTERN}$")]
Text = Annotated[str, StringConstraints(min_length=1)]
# Fits the integers of every store.
MAX_NUMBER = 2_147_483_647

Expression = Annotated[str, StringConstraints(min_length=1), Field(json_schema_extra={"format": "daybook-expression"})]


class Declaration(BaseModel):
    """Something a user writes: frozen, and a key nobody knows is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, populate_by_name=True)


def _needs_id_or_name(schema: dict[str, Any]) -> None:
    schema["required"] = [key for key in schema.get("required", ()) if key not in ("id", "name")]
    schema["anyOf"] = [{"required": ["id"]}, {"required": ["name"]}]


class Named(Declaration):
    """A definition: without an id it gets the slug of its name, without a name it is called by its id."""

    model_config = ConfigDict(json_schema_extra=_needs_id_or_name)

    id: Id = Field(description="What references name; opaque and immutable. Left out, the slug of the name.")
    name: Text = Field(description="A label for people. Left out, the id.")
    description: str | None = Field(default=None, description="A note for people.")

    @model_validator(mode="before")
    @classmethod
    def _complete(cls, data: Any) -> Any:
        if not isinstance(data, dict):
            return data
        id_, name = data.get("id"), data.get("name")
        if id_ is None and isinstance(name, str) and (made := slug(name)):
            return {**data, "id": made}
        if name is None and isinstance(id_, str):
            return {**data, "name": id_}
        return data


def slug(name: str) -> str:
    """The id a definition without one gets from its name."""
    return re.sub(r"[^A-Za-z0-9._]+", "-", name).strip("-._").lower()[:128]
