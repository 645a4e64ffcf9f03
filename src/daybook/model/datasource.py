"""Data sources, which are named connections, and resolvers, whose rules give the locations of a table's periods."""

import ipaddress
import re
from collections.abc import Iterator
from typing import Annotated, Any, Literal, TypeAlias
from urllib.parse import urlsplit

from pydantic import Discriminator, Field, Tag, model_validator

from daybook.model.declaration import (
    Declaration,
    Expression,
    Id,
    NamedDeclaration,
    NonEmptyText,
    Violation,
    find_repeated,
    raise_violations,
    tag_by_type,
    validated_by,
    violation,
)
from daybook.model.formats import FileFormat, file_formats, options_schema

FOLDER_TAG = "<folder>"


def _check_credential_ref(reference: str) -> Iterator[Violation]:
    scheme, separator, rest = reference.partition("://")
    if not separator or scheme not in ("env", "file"):
        yield violation("MODEL_052", reason="it must begin with env:// or file://")
    elif not rest:
        yield violation("MODEL_052", reason=f"there is nothing after {scheme}://")


CredentialRef = Annotated[
    str,
    validated_by(_check_credential_ref),
    Field(json_schema_extra={"pattern": "^(env|file)://.+$"}, description="Where the secret is: env:// or file://."),
]


class DataSourceBase(NamedDeclaration):
    credential_ref: CredentialRef | None = Field(
        default=None, description="Where the password is: env://NAME or file://PATH; never the password itself."
    )


def _check_storage_credential_ref(reference: str) -> Iterator[Violation]:
    scheme, separator, rest = reference.partition("://")
    if separator and scheme == "profile" and rest:
        return
    if scheme == "profile":
        yield violation("MODEL_052", reason="there is nothing after profile://")
    else:
        yield from _check_credential_ref(reference)


StorageCredentialRef = Annotated[
    str,
    validated_by(_check_storage_credential_ref),
    Field(json_schema_extra={"pattern": "^(env|file|profile)://.+$"}),
]
_CREDENTIAL_DESCRIPTION = (
    "Who reads and writes: env://NAME or file://PATH with ID:SECRET or ID:SECRET:TOKEN in it, or profile://NAME; "
    "by default the provider's own chain."
)


def _check_endpoint(endpoint: str) -> Iterator[Violation]:
    try:
        parts = urlsplit(endpoint)
        is_address = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_address = False
        parts = urlsplit("")
    if not is_address or parts.username is not None or parts.path.strip("/") or parts.query or parts.fragment:
        reason = "it is the address of a server, http://host:port or https://host"
        yield violation("MODEL_028", where="endpoint", reason=reason)


Endpoint = Annotated[
    NonEmptyText, validated_by(_check_endpoint), Field(json_schema_extra={"pattern": "^https?://[^/@?#]+/?$"})
]


class StorageOptions(Declaration):
    """Where an object store is; all of it may be left out for the stores of the providers themselves."""

    endpoint: Endpoint | None = Field(
        default=None, description="The server of an S3-compatible store, such as http://localhost:9000."
    )
    region: NonEmptyText | None = Field(default=None, description="The region of the bucket.")
    path_style: bool | None = Field(
        default=None,
        description="Whether requests have the bucket in their path, not in the host; by default with an endpoint.",
    )


class StorageSettings(Declaration):
    """How one bucket is reached."""

    options: StorageOptions = Field(default=StorageOptions(), description="Where the store is.")
    credential_ref: StorageCredentialRef | None = Field(default=None, description=_CREDENTIAL_DESCRIPTION)


class FolderOptions(StorageOptions):
    """A folder relative to the workspace, absolute, or a URI, and how the files in it are written."""

    path: NonEmptyText = Field(description="A folder, relative to the workspace, absolute, or a URI.")
    options: dict[str, Any] = Field(
        default_factory=dict, json_schema_extra=options_schema, description="Options of the format."
    )


_HOST_NAME = re.compile(r"[A-Za-z0-9_]([A-Za-z0-9_.-]*[A-Za-z0-9_.])?")
# libpq takes a comma for the end of one host and @ for a socket without a file.
_SOCKET_FOLDER = re.compile(r"/[^,@\x00-\x1f]*")


def _check_host(host: str) -> Iterator[Violation]:
    """A host is never a text of parameters: that could name another database."""
    if _HOST_NAME.fullmatch(host) or _SOCKET_FOLDER.fullmatch(host):
        return
    try:
        ipaddress.ip_address(host.removeprefix("[").removesuffix("]"))
    except ValueError:
        reason = "it is the name or the address of a server, or the folder of its socket"
        yield violation("MODEL_028", where="host", reason=reason)


class PostgresqlOptions(Declaration):
    """A PostgreSQL database."""

    host: Annotated[NonEmptyText, validated_by(_check_host)] = Field(
        default="localhost", description="The server: its name, its address, or the folder of its socket."
    )
    port: int = Field(default=5432, ge=1, le=65535, description="Its port.")
    database: NonEmptyText = Field(description="The database's name.")
    user: str | None = Field(default=None, description="The user; by default that of libpq.")
    schema_name: str = Field(default="public", alias="schema", description="The schema its tables are in.")


class SqliteOptions(Declaration):
    """A SQLite database."""

    path: NonEmptyText = Field(description="The database file, relative to the workspace or absolute.")


def _check_jdbc_url(url: str) -> Iterator[Violation]:
    if not url.startswith("jdbc:"):
        yield violation("MODEL_028", where="url", reason="a JDBC URL begins with jdbc:")


class JdbcOptions(Declaration):
    """Any other database, through its JDBC driver."""

    url: Annotated[NonEmptyText, validated_by(_check_jdbc_url)] = Field(
        json_schema_extra={"pattern": "^jdbc:"}, description="The address, beginning with jdbc:."
    )
    driver: NonEmptyText = Field(description="The class name of the driver.")
    user: str | None = Field(default=None, description="The user.")


class SparkCatalogOptions(Declaration):
    """A schema of a catalog that the Spark session knows: Unity, Glue, Hive, Polaris, Nessie, or its own."""

    catalog: NonEmptyText = Field(
        default="spark_catalog", description="The catalog's name in Spark; by default the session's own."
    )
    schema_name: NonEmptyText = Field(default="default", alias="schema", description="The schema its tables are in.")
    provider: Literal["delta", "iceberg"] | None = Field(
        default=None, description="What new tables are; by default what the catalog is made for."
    )


CatalogKind = Literal["sql", "rest", "glue", "hive"]
_NAMESPACE = re.compile(r"[^./\\\x00-\x1f]+(\.[^./\\\x00-\x1f]+)*")
# They name code that pyiceberg would import and run.
_CODE_PROPERTIES = ("py-catalog-impl", "py-io-impl")


def _check_namespace(namespace: str) -> Iterator[Violation]:
    if not _NAMESPACE.fullmatch(namespace):
        reason = "a namespace is a name, or several with dots between them"
        yield violation("MODEL_028", where="namespace", reason=reason)


def _check_properties(properties: dict[str, str | int | bool]) -> Iterator[Violation]:
    for name in properties.keys() & {*_CODE_PROPERTIES, "type", "uri", "warehouse"}:
        reason = "it names code to be run" if name in _CODE_PROPERTIES else "it is an option of the data source"
        yield violation("MODEL_028", name, where=f"property {name}", reason=reason)


class IcebergOptions(Declaration):
    """An Iceberg catalog."""

    catalog: CatalogKind = Field(description="The kind of catalog, by its name in pyiceberg.")
    uri: NonEmptyText | None = Field(
        default=None,
        description="The address of the catalog; that of a `sql` catalog is by default `catalog.db` in the warehouse.",
    )
    warehouse: NonEmptyText | None = Field(
        default=None,
        description="Where new tables are: a folder, relative to the workspace, absolute, or a URI; of a `rest` "
        "catalog the name of a warehouse.",
    )
    namespace: Annotated[NonEmptyText, validated_by(_check_namespace)] = Field(
        default="default", description="The namespace of tables that are named without one."
    )
    properties: Annotated[dict[str, str | int | bool], validated_by(_check_properties)] = Field(
        default_factory=dict,
        description="Further properties of the catalog and its storage, by their names in pyiceberg. A secret is "
        "env://NAME or file://PATH.",
    )

    @model_validator(mode="after")
    def _check_address(self) -> "IcebergOptions":
        needed = {"sql": "warehouse", "rest": "uri", "hive": "uri", "glue": None}[self.catalog]
        if needed is not None and getattr(self, needed) is None:
            raise_violations([violation("MODEL_028", where=needed, reason=f"a {self.catalog} catalog needs it")])
        return self


class FolderSource(DataSourceBase):
    """A folder of files or of Delta tables."""

    type: FileFormat
    options: FolderOptions
    credential_ref: StorageCredentialRef | None = Field(default=None, description=_CREDENTIAL_DESCRIPTION)

    @property
    def storage(self) -> StorageSettings:
        """How the bucket that the folder is in is reached."""
        options = StorageOptions(
            endpoint=self.options.endpoint, region=self.options.region, path_style=self.options.path_style
        )
        return StorageSettings(options=options, credential_ref=self.credential_ref)


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


class SparkCatalogSource(DataSourceBase):
    """Tables by the names that the Spark session knows."""

    type: Literal["spark_catalog"]
    options: SparkCatalogOptions

    def in_schema(self, schema: str) -> "SparkCatalogSource":
        """The same data source with another schema as its own."""
        return self.model_copy(update={"options": self.options.model_copy(update={"schema_name": schema})})


class IcebergSource(DataSourceBase):
    """The Iceberg tables of a catalog."""

    type: Literal["iceberg"]
    options: IcebergOptions


def _datasource_tag(value: Any) -> str | None:
    """All formats of files share one model."""
    type_ = value.get("type") if isinstance(value, dict) else getattr(value, "type", None)
    if type_ is None:
        return None
    return FOLDER_TAG if type_ in file_formats() else f"<{type_}>"


DataSource: TypeAlias = Annotated[
    Annotated[FolderSource, Tag(FOLDER_TAG)]
    | Annotated[IcebergSource, Tag("<iceberg>")]
    | Annotated[PostgresqlSource, Tag("<postgresql>")]
    | Annotated[SqliteSource, Tag("<sqlite>")]
    | Annotated[JdbcSource, Tag("<jdbc>")]
    | Annotated[SparkCatalogSource, Tag("<spark_catalog>")],
    Discriminator(_datasource_tag),
]


class PathStrategy(Declaration):
    """A file or folder below a data source."""

    type: Literal["path"]
    datasource_id: Id = Field(description="The id of a data source.")
    path: NonEmptyText = Field(description="A path below the data source, with templates such as {{YYYY}}-{{MM}}.")


class TableStrategy(Declaration):
    """A table of a data source."""

    type: Literal["table"]
    datasource_id: Id = Field(description="The id of a data source.")
    table: NonEmptyText = Field(description="A table of the data source, with templates such as {{table_name}}.")
    schema_name: str | None = Field(default=None, alias="schema", description="The database schema.")


class CatalogStrategy(Declaration):
    """An HTTP endpoint that answers with locations."""

    type: Literal["catalog"]
    endpoint: NonEmptyText = Field(description="Its address; the host must be among `catalogs.allowed_hosts`.")
    method: Literal["GET", "POST"] = Field(default="GET", description="The HTTP method.")
    auth: str | None = Field(default=None, description="Where the token is: env:// or file://.")
    params: dict[str, Any] = Field(
        default_factory=dict, description="The parameters of the request; templates are allowed."
    )
    headers: dict[str, str] = Field(default_factory=dict, description="Additional headers of the request.")


Strategy: TypeAlias = Annotated[
    Annotated[PathStrategy, Tag("<path>")]
    | Annotated[TableStrategy, Tag("<table>")]
    | Annotated[CatalogStrategy, Tag("<catalog>")],
    tag_by_type(),
]


class ResolverRule(Declaration):
    """One rule of a resolver."""

    name: NonEmptyText = Field(description="The name of the rule in messages.")
    when: Expression | None = Field(
        default=None, description="An expression over period.* and table.name; without it, the rule always matches."
    )
    data_level: NonEmptyText = Field(default="any", description="The calendar level of one location, or any.")
    strategy: Strategy = Field(description="How the rule finds the data.")


def _check_distinct_names(resolver_rules: tuple[ResolverRule, ...]) -> Iterator[Violation]:
    for index, name in find_repeated(rule.name for rule in resolver_rules):
        yield violation("MODEL_053", index, "name", name=name)


class Resolver(NamedDeclaration):
    is_default: bool = Field(default=False, description="Used for datasets without a location and a resolver.")
    rules: Annotated[tuple[ResolverRule, ...], validated_by(_check_distinct_names)] = Field(
        min_length=1, description="Tried in order; the first rule whose condition is true is used."
    )
