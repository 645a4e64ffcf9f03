"""Data sources: named connections, one model a type."""

from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Field

from daybook.model.base import Declaration, Id, Text


class DataSourceBase(Declaration):
    id: Id
    name: Text
    description: str | None = None
    credential_ref: str | None = None


class FolderOptions(Declaration):
    """A folder relative to the workspace, absolute, or a URI; csv and json also take reader options."""

    path: Text
    options: dict[str, Any] = Field(default_factory=dict)


class PostgresqlOptions(Declaration):
    host: Text = "localhost"
    port: int = Field(default=5432, ge=1, le=65535)
    database: Text
    user: str | None = None
    schema_name: str = Field(default="public", alias="schema")


class SqliteOptions(Declaration):
    path: Text


class JdbcOptions(Declaration):
    url: Text
    driver: Text
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
