"""Data sources: named connections, one model a type."""

from collections.abc import Iterator
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Field

from daybook.model.base import Declaration, Named, Text
from daybook.model.findings import Finding, checked_by, finding
from daybook.model.formats import FileFormat, options_schema


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
    credential_ref: CredentialRef | None = Field(
        default=None, description="Where the password is: env://NAME or file://PATH; never the password itself."
    )


class FolderOptions(Declaration):
    """A folder relative to the workspace, absolute, or a URI, and how the files in it are written."""

    path: Text = Field(description="A folder, relative to the workspace, absolute, or a URI.")
    options: dict[str, Any] = Field(
        default_factory=dict, json_schema_extra=options_schema, description="Options of the format."
    )


class PostgresqlOptions(Declaration):
    """A PostgreSQL database."""

    host: Text = Field(default="localhost", description="The server.")
    port: int = Field(default=5432, ge=1, le=65535, description="Its port.")
    database: Text = Field(description="The database's name.")
    user: str | None = Field(default=None, description="The user; left out, libpq decides.")
    schema_name: str = Field(default="public", alias="schema", description="The schema its tables are in.")


class SqliteOptions(Declaration):
    """A SQLite database."""

    path: Text = Field(description="The database file, relative to the workspace or absolute.")


def _is_jdbc_url(url: str) -> Iterator[Finding]:
    if not url.startswith("jdbc:"):
        yield finding("MODEL_028", where="url", reason="a JDBC URL begins with jdbc:")


class JdbcOptions(Declaration):
    """Any other database, through its JDBC driver."""

    url: Annotated[Text, checked_by(_is_jdbc_url)] = Field(
        json_schema_extra={"pattern": "^jdbc:"}, description="The address, beginning with jdbc:."
    )
    driver: Text = Field(description="The class name of the driver.")
    user: str | None = Field(default=None, description="The user.")


class FolderSource(DataSourceBase):
    """A folder of files or of Delta tables."""

    type: FileFormat
    options: FolderOptions


class PostgresqlSource(DataSourceBase):
    """A PostgreSQL database."""

    type: Literal["postgresql"]
    options: PostgresqlOptions


class SqliteSource(DataSourceBase):
    """A SQLite file."""

    type: Literal["sqlite"]
    options: SqliteOptions


class JdbcSource(DataSourceBase):
    """Any other database."""

    type: Literal["jdbc"]
    options: JdbcOptions


DataSource: TypeAlias = Annotated[
    FolderSource | PostgresqlSource | SqliteSource | JdbcSource, Field(discriminator="type")
]
