"""`daybook.yaml`: the settings of a workspace."""

import re
from collections.abc import Iterator
from typing import Annotated, Any

from pydantic import Field

from daybook.model.declaration import Declaration, NonEmptyText, Violation, validated_by, violation


def _check_duration(text: str) -> Iterator[Violation]:
    if not re.fullmatch(r"[0-9]{1,6}[hdw]", text):
        reason = "a duration is a number and h, d or w, such as 90d"
        yield violation("MODEL_028", where="the duration", reason=reason)


Duration = Annotated[str, validated_by(_check_duration), Field(json_schema_extra={"pattern": "^[0-9]{1,6}[hdw]$"})]


_UNIT_SECONDS = {"s": 1, "m": 60, "h": 3600}


def _check_idle_time(text: str) -> Iterator[Violation]:
    if not re.fullmatch(r"[1-9][0-9]{0,5}[smh]", text):
        reason = "a time is a number and s, m or h, such as 30m"
        yield violation("MODEL_028", where="the time", reason=reason)


IdleTime = Annotated[
    str, validated_by(_check_idle_time), Field(json_schema_extra={"pattern": "^[1-9][0-9]{0,5}[smh]$"})
]


def idle_seconds(text: str) -> int:
    """The seconds of an idle time that is checked."""
    return int(text[:-1]) * _UNIT_SECONDS[text[-1]]


class EngineSettings(Declaration):
    """Where Spark runs: classically at a master, or over Connect at a remote."""

    master: str | None = Field(
        default=None, description="local[*], spark://…, yarn or k8s://…; left out, all cores of this machine."
    )
    remote: str | None = Field(default=None, description="A Spark Connect server: sc://host:15002.")
    sail: bool = Field(default=False, description="Whether the Connect server is Sail.")
    conf: dict[str, Any] = Field(default_factory=dict, description="Any Spark setting.")
    warm: IdleTime | None = Field(
        default=None,
        description="Keep an engine running for later commands, until it was idle this long: a number and s, m or h.",
    )


class RetentionSettings(Declaration):
    """What `daybook gc` keeps; nothing is removed otherwise."""

    runs: Duration = Field(default="90d", description="How long runs are kept: a number and h, d or w.")
    versions: int = Field(default=24, ge=1, description="How many versions of a table are kept.")


class CatalogSettings(Declaration):
    """Hosts the catalog strategy of resolvers may call."""

    allowed_hosts: tuple[NonEmptyText, ...] = Field(default=(), description="Names of hosts; no other host is called.")


class ServeSettings(Declaration):
    """Who may open the page of `daybook serve`, and under which names it is reached."""

    tokens: dict[NonEmptyText, NonEmptyText] = Field(
        default_factory=dict, description="Tokens by name, each as env://NAME or file://PATH."
    )
    hosts: tuple[NonEmptyText, ...] = Field(
        default=(), description="Names of the server, beside those of this machine."
    )


class WorkspaceSettings(Declaration):
    name: NonEmptyText = Field(description="The workspace's name; definitions in a shared store belong to it.")
    store: NonEmptyText = Field(
        default="sqlite:///.daybook/store.db",
        description="The metadata store: an SQLite file, or postgresql://user@host/db for a team.",
    )
    sandbox: str | None = Field(
        default=None, description="Draft projects write below this folder instead of to their destinations."
    )
    engine: EngineSettings = Field(default=EngineSettings(), description="Where Spark runs.")
    state: NonEmptyText = Field(
        default=".daybook", description="Landed inputs, staging and scratch; a shared URI on a cluster."
    )
    retention: RetentionSettings = Field(default=RetentionSettings(), description="What `daybook gc` keeps.")
    catalogs: CatalogSettings = Field(default=CatalogSettings(), description="What resolvers may ask over HTTP.")
    serve: ServeSettings = Field(default=ServeSettings(), description="The page of `daybook serve`.")
