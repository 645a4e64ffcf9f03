"""`daybook.yaml`: the settings of a workspace."""

import re
from collections.abc import Iterator
from typing import Annotated, Any
from urllib.parse import urlsplit

from pydantic import Field, model_validator

from daybook.model.datasource import CredentialRef, StorageSettings
from daybook.model.declaration import (
    Declaration,
    Id,
    NonEmptyText,
    Violation,
    raise_violations,
    validated_by,
    violation,
)
from daybook.model.policy import ApprovalPolicy


def _check_duration(text: str) -> Iterator[Violation]:
    if not re.fullmatch(r"[0-9]{1,6}[hdw]", text):
        reason = "a duration is a number and h, d or w, such as 90d"
        yield violation("MODEL_028", where="the duration", reason=reason)


Duration = Annotated[str, validated_by(_check_duration), Field(json_schema_extra={"pattern": "^[0-9]{1,6}[hdw]$"})]


_UNIT_SECONDS = {"s": 1, "m": 60, "h": 3600}


def is_duration(text: str) -> bool:
    """Whether a text is a number and s, m or h."""
    return re.fullmatch(r"[1-9][0-9]{0,5}[smh]", text) is not None


def _check_idle_time(text: str) -> Iterator[Violation]:
    if not is_duration(text):
        reason = "a time is a number and s, m or h, such as 30m"
        yield violation("MODEL_028", where="the time", reason=reason)


IdleTime = Annotated[
    str, validated_by(_check_idle_time), Field(json_schema_extra={"pattern": "^[1-9][0-9]{0,5}[smh]$"})
]


def duration_seconds(text: str) -> int:
    """The seconds of a duration that is checked."""
    return int(text[:-1]) * _UNIT_SECONDS[text[-1]]


class EngineSettings(Declaration):
    """Where Spark runs: classically at a master, or over Connect at a remote."""

    master: str | None = Field(
        default=None, description="local[*], spark://…, yarn or k8s://…; by default all cores of this machine."
    )
    remote: str | None = Field(default=None, description="A Spark Connect server: sc://host:15002.")
    conf: dict[str, Any] = Field(default_factory=dict, description="Any Spark setting.")
    warm: IdleTime | None = Field(
        default=None,
        description=(
            "Keep an engine running for later commands, until it has been idle for this time: a number and s, m or h."
        ),
    )

    @property
    def needs_java_here(self) -> bool:
        """Whether Spark starts on this machine: at a Connect server it runs already."""
        return self.remote is None or not self.remote.startswith("sc://")


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
        default=(), description="Names of the server, in addition to those of this machine."
    )


_LOOPBACK_HOSTS = ("localhost", "127.0.0.1", "::1")


def _check_event_target(to: str) -> Iterator[Violation]:
    """An http or https address, or a file on this machine."""
    try:
        parts = urlsplit(to)
        is_address = bool(parts.hostname) and parts.username is None and parts.port != 0 and not parts.fragment
    except ValueError:
        is_address = False
        parts = urlsplit("")
    if parts.scheme == "file":
        if parts.netloc or not parts.path.strip("/") or ".." in parts.path.split("/"):
            yield violation("MODEL_028", where="to", reason="a file is written as file:///folder/events.jsonl")
    elif parts.scheme not in ("http", "https") or not is_address:
        reason = "events go to https://host/path, or to a file as file:///folder/events.jsonl"
        yield violation("MODEL_028", where="to", reason=reason)


EventTarget = Annotated[
    str, validated_by(_check_event_target), Field(json_schema_extra={"pattern": "^(https?://|file:///).+$"})
]


class OpenLineageSettings(Declaration):
    """Where the events of runs go."""

    to: EventTarget = Field(
        description="A receiver, https://host/api/v1/lineage, or a file that lines are added to, file:///…"
    )
    namespace: NonEmptyText | None = Field(
        default=None, description="The namespace of the jobs; by default the workspace's name."
    )
    credential_ref: CredentialRef | None = Field(
        default=None, description="Where the token of the receiver is: env://NAME or file://PATH."
    )

    @model_validator(mode="after")
    def _check(self) -> "OpenLineageSettings":
        parts = urlsplit(self.to)
        if self.credential_ref is not None and parts.scheme == "http" and parts.hostname not in _LOOPBACK_HOSTS:
            reason = "a token is sent only over https, or to this machine"
            raise_violations([violation("MODEL_028", "to", where="to", reason=reason)])
        return self


class LineageSettings(Declaration):
    """Where events about what runs read and write are sent."""

    openlineage: OpenLineageSettings | None = Field(default=None, description="Sends OpenLineage events.")


def _check_bucket_address(address: str) -> Iterator[Violation]:
    if re.fullmatch(r"(?:s3|gs)://[^/@:?#\s]+|abfss://[^/@:?#\s]+@[^/@:?#\s]+", address) is None:
        reason = "a bucket is written s3://bucket, gs://bucket or abfss://container@account"
        yield violation("MODEL_028", where="the bucket", reason=reason)


BucketAddress = Annotated[
    str, validated_by(_check_bucket_address), Field(json_schema_extra={"pattern": "^(s3|gs|abfss)://[^/]+$"})
]


# What the text of a schema begins with.
SCHEMA_ADDRESS = "catalog://"


class SchemaLocation(Declaration):
    """A schema of a data source of type `spark_catalog`."""

    datasource_id: Id = Field(description="The id of a data source of type `spark_catalog`.")
    schema_name: NonEmptyText = Field(alias="schema", description="A schema that is there already.")

    @property
    def address(self) -> str:
        """The schema as one text, which snapshots of runs keep."""
        return f"{SCHEMA_ADDRESS}{self.datasource_id}/{self.schema_name}"


class WorkspaceSettings(Declaration):
    name: NonEmptyText = Field(description="The workspace's name; definitions in a shared store belong to it.")
    store: NonEmptyText = Field(
        default="sqlite:///.daybook/store.db",
        description="The metadata store: an SQLite file, or postgresql://user@host/db for a team.",
    )
    sandbox: str | SchemaLocation | None = Field(
        default=None,
        description="Draft projects write below this folder, or into this schema, instead of to their destinations.",
    )
    engine: EngineSettings = Field(default=EngineSettings(), description="Where Spark runs.")
    state: NonEmptyText | SchemaLocation = Field(
        default=".daybook",
        description="Landed inputs, staging and scratch: a folder, a shared URI on a cluster, or a schema where this "
        "machine and Spark share nothing.",
    )
    storage: dict[BucketAddress, StorageSettings] = Field(
        default_factory=dict,
        description="How buckets are reached that no data source says it of, by their address: `s3://bucket`.",
    )
    retention: RetentionSettings = Field(default=RetentionSettings(), description="What `daybook gc` keeps.")
    catalogs: CatalogSettings = Field(
        default=CatalogSettings(), description="The catalogs that resolvers may call over HTTP."
    )
    approvals: ApprovalPolicy | None = Field(
        default=None,
        description="Proposes which acts need approval; in force is what `daybook policy adopt` put into the store.",
    )
    serve: ServeSettings = Field(default=ServeSettings(), description="The page of `daybook serve`.")
    lineage: LineageSettings = Field(
        default=LineageSettings(), description="Where events about what runs read and write are sent."
    )
    signers: dict[NonEmptyText, NonEmptyText] = Field(
        default_factory=dict,
        description="Who may seal periods: the files of public keys by name, relative to the workspace.",
    )
