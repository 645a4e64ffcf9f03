"""`daybook.yaml`: the settings of a workspace."""

import re
from collections.abc import Iterator
from typing import Annotated, Any

from pydantic import Field

from daybook.model.base import Declaration, Text
from daybook.model.findings import Finding, checked_by, finding


def _is_duration(text: str) -> Iterator[Finding]:
    if not re.fullmatch(r"[0-9]{1,6}[hdw]", text):
        reason = "a duration is a number and h, d or w, such as 90d"
        yield finding("MODEL_028", where="the duration", reason=reason)


Duration = Annotated[str, checked_by(_is_duration), Field(json_schema_extra={"pattern": "^[0-9]{1,6}[hdw]$"})]


class EngineSettings(Declaration):
    master: str | None = None
    remote: str | None = None
    sail: bool = False
    conf: dict[str, Any] = Field(default_factory=dict)


class Retention(Declaration):
    runs: Duration = "90d"
    versions: int = Field(default=24, ge=1)


class Catalogs(Declaration):
    """Hosts the catalog strategy of resolvers may call."""

    allowed_hosts: tuple[Text, ...] = ()


class WorkspaceFile(Declaration):
    name: Text
    store: Text = "sqlite:///.daybook/store.db"
    sandbox: str | None = None
    engine: EngineSettings = EngineSettings()
    state: Text = ".daybook"
    retention: Retention = Retention()
    catalogs: Catalogs = Catalogs()
