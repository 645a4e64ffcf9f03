"""Data sources: named connections, one model a type."""

from collections.abc import Iterator
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Field

from daybook.model.base import Declaration, Named, Text
from daybook.model.findings import Finding, checked_by, finding


def _says_where(reference: str) -> Iterator[Finding]:
    scheme, separator, rest = reference.partition("://")
    if not separator or scheme not in ("env", "file"):
        yield finding("MODEL_052", reason="it begins with neither env:// nor file://")
    elif not rest:
        yield finding("MODEL_052", reason=f"nothing follows {scheme}://")


CredentialRef = Annotated[
    str,
    checked_by(_says_where),
    Field(json_schema_extra={"pattern": "^(env|file)://.+$"}, description="Where the secret is: env:// or file://."),
]


class DataSourceBase(Named):
    credential_ref: CredentialRef | None = None


class FolderOptions(Declaration):
    """A folder relative to the workspace, absolute, or a URI; csv and json also take reader options."""

    path: Text = Field(description="A folder, relative to the workspace, absolute, or a URI.")
    options: dict[str, Any] = Field(default_factory=dict, description="Reader and writer options of the format.")


class PostgresqlOptions(Declaration):
    host: Text = "localhost"
    port: int = Field(default=5432, ge=1, le=65535)
    database: Text
    user: str | None = None
    schema_name: str = Field(default="public", alias="schema")


class SqliteOptions(Declaration):
    path: Text = Field(description="The database file, relative to the workspace or absolute.")


def _is_jdbc_url(url: str) -> Iterator[Finding]:
    if not url.startswith("jdbc:"):
        yield finding("MODEL_028", where="url", reason="a JDBC URL begins with jdbc:")


class JdbcOptions(Declaration):
    url: Annotated[Text, checked_by(_is_jdbc_url)] = Field(json_schema_extra={"pattern": "^jdbc:"})
    driver: Text = Field(description="The class name of the driver.")
    user: str | None = None


class FolderSource(DataSourceBase):
    type: Literal["delta", "parquet", "csv", "json"]
    options: FolderOptions


class PostgresqlSource(DataSourceBase):
    type: Literal["postgresql"]
    options: PostgresqlOptions


class SqliteSource(DataSourceBase):
    type: Literal["sqlite"]
    options: SqliteOptions


class JdbcSource(DataSourceBase):
    type: Literal["jdbc"]
    options: JdbcOptions


DataSource: TypeAlias = Annotated[
    FolderSource | PostgresqlSource | SqliteSource | JdbcSource, Field(discriminator="type")
]
