"""`daybook.yaml`: the settings of a workspace."""

import re
from typing import Annotated, Any

from pydantic import Field, StringConstraints

from daybook.model.base import Declaration, Text

Duration = Annotated[str, StringConstraints(pattern=re.compile(r"^\d+[hdw]$"))]


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
