"""Tables of the catalogs of a Spark session: their provider, columns and versions."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from daybook.engine.java.session import current_session
from daybook.errors import DaybookError
from daybook.expression import quote_identifier
from daybook.io.column_types import arrow_equivalent
from daybook.io.iceberg_names import ICEBERG_NAMES
from daybook.io.writer import declared_type_text
from daybook.model.datasource import DataSource, SparkCatalogSource
from daybook.model.definition import TableVersion
from daybook.resolve.location import Location, catalog_names

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# Providers that keep versions, and replace the rows of a condition atomically.
Provider: TypeAlias = Literal["delta", "iceberg"]
_PROVIDERS: Mapping[str, Provider] = {"delta": "delta", "iceberg": "iceberg"}
_MISSING = frozenset({"TABLE_OR_VIEW_NOT_FOUND", "SCHEMA_NOT_FOUND", "NO_SUCH_TABLE_EXCEPTION"})
_RETENTION = re.compile(r"delta\.deletedFileRetentionDuration=(?:interval )?(?P<duration>[^,\]]+)")
_DEFAULT_RETENTION = "7 days"
# A property of a table that an output created and has not written rows to yet.
CREATED_BY = "daybook.created_by"
# Words in the class of a catalog, by the provider of the tables that it creates.
_PROVIDER_WORDS: tuple[tuple[str, Provider], ...] = (("iceberg", "iceberg"), ("delta", "delta"), ("unity", "delta"))


def active_session() -> "SparkSession":
    """The current session, through which catalogs are reached; IO_031 without one."""
    spark = current_session()
    if spark is None:
        raise DaybookError("IO_031", format="spark_catalog", missing="a Spark session")
    return spark


def session_errors() -> tuple[type[Exception], ...]:
    """What a session raises where a catalog fails.

    A classic one turns Spark's exceptions into Python's, and passes those of a catalog's own library on as py4j's.
    """
    from pyspark.errors import PySparkException

    try:
        from py4j.protocol import Py4JJavaError
    except ImportError:
        # The client of Spark Connect alone does without py4j.
        return (PySparkException,)
    return PySparkException, Py4JJavaError


@dataclass(frozen=True, slots=True)
class TableName:
    """A table as Spark names it."""

    catalog: str
    schema: str
    table: str

    @classmethod
    def of(cls, location: Location) -> "TableName":
        return cls(*catalog_names(location))

    @property
    def sql(self) -> str:
        return ".".join(map(quote_identifier, (self.catalog, self.schema, self.table)))

    @property
    def schema_sql(self) -> str:
        return ".".join(map(quote_identifier, (self.catalog, self.schema)))

    def metadata(self, name: str) -> str:
        """One of Iceberg's tables about a table."""
        return f"{self.sql}.{quote_identifier(name)}"

    def beside(self, table: str) -> "TableName":
        return TableName(self.catalog, self.schema, table)


@dataclass(frozen=True, slots=True)
class CatalogTable:
    """A table as the catalog describes it; without `provider` it keeps no versions that can be named."""

    name: TableName
    provider: Provider | None
    # What the catalog calls it: a provider, or the kind of view.
    kind: str
    partitions: tuple[str, ...]
    properties: str

    @property
    def retention(self) -> str | None:
        """For how long files of Delta stay that no newest version needs, as the table says it or by default."""
        if self.provider != "delta":
            return None
        match = _RETENTION.search(self.properties)
        return match["duration"] if match else _DEFAULT_RETENTION

    def is_created_by(self, key: str) -> bool:
        """Whether an output made it empty and has not filled it yet."""
        return f"{CREATED_BY}={key}" in self.properties


def require_catalog_source(datasource: DataSource | None) -> SparkCatalogSource:
    if not isinstance(datasource, SparkCatalogSource):
        raise ValueError("a table of a catalog needs a data source of that type")
    return datasource


def find_table(spark: "SparkSession", name: TableName) -> CatalogTable | None:
    """The table, None where it does not exist; IO_012 where the catalog fails."""
    try:
        # Spark writes an error into its log when it describes a table that is not there.
        if not spark.catalog.tableExists(name.sql):
            return None
        rows = spark.sql(f"DESCRIBE TABLE EXTENDED {name.sql}").collect()
    except session_errors() as failure:
        if is_missing(failure):
            return None
        raise catalog_error(name, failure) from failure
    described = [(str(row[0]), str(row[1])) for row in rows]
    starts = [index for index, (key, _) in enumerate(described) if key.startswith("# Detailed")]
    facts = dict(described[starts[-1] :]) if starts else {}
    kind = facts.get("Provider", "").lower() or facts.get("Type", "table").lower()
    if "view" in facts.get("Type", "").lower():
        kind = "view"
    return CatalogTable(
        name, _PROVIDERS.get(kind), kind, tuple(_partition_columns(described)), facts.get("Table Properties", "")
    )


def _partition_columns(described: list[tuple[str, str]]) -> Iterator[str]:
    """The columns listed below the heading of partitions."""
    is_inside = False
    for key, _ in described:
        if key.startswith("# Partition"):
            is_inside = True
        elif is_inside and key.startswith("# col_name"):
            continue
        elif is_inside and (not key or key.startswith("#")):
            return
        elif is_inside:
            yield key


def require_table(spark: "SparkSession", name: TableName) -> CatalogTable:
    table = find_table(spark, name)
    if table is None:
        raise DaybookError("IO_001", location=name.sql, hint=f"the session knows no such table in {name.schema_sql}")
    return table


def is_missing(failure: Exception) -> bool:
    return _condition(failure) in _MISSING or "NoSuchNamespaceException" in str(failure)


def _condition(failure: Exception) -> str:
    from pyspark.errors import PySparkException

    return (failure.getCondition() or "") if isinstance(failure, PySparkException) else ""


def failure_text(failure: Exception) -> str:
    """All that a failure says, with its condition."""
    return f"{_condition(failure)} {failure}"


def catalog_error(name: TableName, failure: Exception) -> DaybookError:
    return DaybookError("IO_012", location=name.sql, reason=failure_reason(failure))


def failure_reason(failure: Exception) -> str:
    """The first line of an error of Spark or of a catalog's library, without its stack."""
    # Spark looks its own messages up again when asked for one, and does not know those of other libraries.
    lines = [line.strip() for line in str(failure).splitlines() if line.strip()]
    # The first line of py4j names a call.
    texts = [line.removeprefix(": ") for line in lines if not line.startswith("An error occurred while calling")]
    return next(iter(texts), "no reason given")


def stored_name(column: str, provider: Provider) -> str:
    """The name of a column in a table of a provider."""
    return ICEBERG_NAMES.get(column, column) if provider == "iceberg" else column


def as_stored(df: "DataFrame", provider: Provider) -> "DataFrame":
    """Rows with the column names that a table of the provider uses."""
    return df.withColumnsRenamed(ICEBERG_NAMES) if provider == "iceberg" else df


def as_named(df: "DataFrame", provider: Provider | None) -> "DataFrame":
    """Rows of a table with the column names that Daybook uses."""
    names = {stored: name for name, stored in ICEBERG_NAMES.items()}
    return df.withColumnsRenamed(names) if provider == "iceberg" else df


def stored_types(spark: "SparkSession", table: CatalogTable) -> dict[str, str | None]:
    """The columns of a table with the types they would be declared with."""
    schema = as_named(spark.table(table.name.sql), table.provider).schema
    return {field.name: declared_type_text(arrow_equivalent(field.dataType)) for field in schema}


def current_version(spark: "SparkSession", table: CatalogTable) -> str:
    """The token of the version of a table now; that of a table of Iceberg without snapshots is empty."""
    if table.provider == "delta":
        return str(spark.sql(f"DESCRIBE HISTORY {table.name.sql} LIMIT 1").collect()[0]["version"])
    rows = spark.sql(f"SELECT snapshot_id FROM {table.name.metadata('refs')} WHERE name = 'main'").collect()
    return str(rows[0][0]) if rows else ""


def table_id(spark: "SparkSession", table: CatalogTable) -> str:
    """Identifies a table after another was created under its name; snapshot ids of Iceberg are unique without it."""
    if table.provider == "delta":
        return str(spark.sql(f"DESCRIBE DETAIL {table.name.sql}").collect()[0]["id"])
    return ""


def versioned_frame(spark: "SparkSession", name: TableName, token: str) -> "DataFrame":
    """The rows of a version."""
    if not token:
        return spark.table(name.sql).limit(0)
    return spark.sql(f"SELECT * FROM {name.sql} VERSION AS OF {int(token)}")


def table_version(provider: Provider, token: str) -> TableVersion:
    return TableVersion("spark_catalog", f"{provider}:{token}")


def version_token(version: TableVersion) -> str:
    return version.token.rpartition(":")[2]


def new_table_provider(spark: "SparkSession", source: SparkCatalogSource) -> Provider | None:
    """The provider of new tables: of the data source, else by the class of the catalog or the session default."""
    if source.options.provider is not None:
        return source.options.provider
    keys = (f"spark.sql.catalog.{source.options.catalog}", "spark.sql.sources.default")
    for setting in (str(spark.conf.get(key, "") or "").lower() for key in keys):
        for word, provider in _PROVIDER_WORDS:
            if word in setting:
                return provider
    return None


_STAGED = re.compile(r"daybook_(?P<run>[0-9a-z_]+)_(?P<seq>\d+)_[0-9a-f]{8}")


def staged_name(key: str) -> str:
    """The name of a staged table, of letters, digits and `_`, which most catalogs accept."""
    return re.sub(r"[^0-9a-z]", "_", key.lower())


def run_of_staged(table: str) -> str | None:
    """The run that a staged table belongs to: ids of runs have `-` between their parts and no `_`."""
    match = _STAGED.fullmatch(table)
    return match["run"].replace("_", "-") if match else None


def tables_beginning(spark: "SparkSession", schema: TableName, prefix: str) -> list[str]:
    """The tables of a schema with a prefix; none where the schema does not exist."""
    try:
        rows = spark.sql(f"SHOW TABLES IN {schema.schema_sql} LIKE '{prefix}*'").collect()
    except session_errors() as failure:
        if is_missing(failure):
            return []
        raise catalog_error(schema, failure) from failure
    return [str(row["tableName"]) for row in rows if str(row["tableName"]).startswith(prefix)]


def require_schema(spark: "SparkSession", name: TableName) -> None:
    """IO_001 where the session knows no such schema, IO_012 where its catalog fails."""
    try:
        is_there = spark.catalog.databaseExists(name.schema_sql)
    except session_errors() as failure:
        raise catalog_error(name, failure) from failure
    if not is_there:
        hint = f"create it (`CREATE SCHEMA {name.schema_sql}`), or name another one"
        raise DaybookError("IO_001", location=name.schema_sql, hint=hint)


def drop_table(spark: "SparkSession", name: TableName, provider: Provider | None) -> None:
    """Drop a table with its files, which catalogs of Iceberg keep unless told to purge."""
    purge = " PURGE" if provider == "iceberg" else ""
    spark.sql(f"DROP TABLE IF EXISTS {name.sql}{purge}").collect()
