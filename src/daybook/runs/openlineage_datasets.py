"""Names and describes datasets by the naming rules of OpenLineage."""

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

from daybook.io.pins import FilesPin, LandedPin, Pin, TablePin
from daybook.model.dataset import ColumnDef
from daybook.model.datasource import IcebergSource, JdbcSource, PostgresqlSource, SparkCatalogSource, SqliteSource
from daybook.model.types import ColumnType
from daybook.plan.columns_read import How
from daybook.plan.lineage import InputColumn, PlanLineage
from daybook.resolve.location import Location, catalog_names

Json = dict[str, Any]
PRODUCER = "urn:daybook"
_FACETS = "https://openlineage.io/spec/facets"
_HADOOP_SCHEMES = {"s3a": "s3", "s3n": "s3", "gcs": "gs"}
_JDBC_SERVER = re.compile(
    r"jdbc:(?P<kind>[a-z0-9]+):(?:thin:)?@?//(?P<host>\[[0-9a-fA-F:]+\]|[\w.-]+)(?::(?P<port>\d+))?"
    r"(?:/(?P<database>[\w$.-]+))?(?P<rest>.*)"
)
_JDBC_DATABASE = re.compile(r"(?i);\s*database(?:Name)?=(?P<database>[\w$.-]+)")
# The name of the kind of database in a namespace, and the port where an address names none.
_DATABASES = {
    "mysql": ("mysql", 3306),
    "mariadb": ("mysql", 3306),
    "postgresql": ("postgres", 5432),
    "oracle": ("oracle", 1521),
    "sqlserver": ("sqlserver", 1433),
    "db2": ("db2", 50000),
    "redshift": ("redshift", 5439),
    "snowflake": ("snowflake", 443),
    "trino": ("trino", 8080),
}


def facet(name: str, version: str, /, **values: Any) -> Json:
    """A facet of the specification, with the address of its schema."""
    schema = f"{_FACETS}/{version}/{name}.json#/$defs/{name}"
    return {"_producer": PRODUCER, "_schemaURL": schema, **values}


def dataset_name(location: Location) -> tuple[str, str]:
    """The namespace and the name of a location; no user, password or query is part of them."""
    match location.datasource:
        case PostgresqlSource(options=options) if location.is_database:
            host = options.host if not options.host.startswith("/") else "localhost"
            name = f"{options.database}.{location.schema or options.schema_name}.{location.table}"
            return f"postgres://{host}:{options.port}", name
        case SqliteSource(options=options) if location.is_database:
            # The specification has no rule for it: a file, and a table in it.
            return "file", f"{options.path}/{location.table}"
        case IcebergSource(id=id_, options=options) if location.is_database:
            # The name of the table in its catalog; the address of the catalog is its namespace.
            return (options.uri or options.warehouse or id_).rstrip("/"), f"{location.schema}.{location.table}"
        case SparkCatalogSource() if location.is_database:
            # The specification has no rule for names of catalogs that may be of any kind.
            return "spark", ".".join(catalog_names(location))
        case JdbcSource(options=options) if location.is_database:
            return _jdbc_name(options.url, location)
        case _:
            return _file_name(location.uri or location.label)


def _jdbc_name(url: str, location: Location) -> tuple[str, str]:
    server_match = _JDBC_SERVER.fullmatch(url)
    table = f"{location.schema}.{location.table}" if location.schema else str(location.table)
    if server_match is None:
        kind = url.split(":")[1] if url.count(":") > 1 else "jdbc"
        return f"{kind}://{location.database.id}", table
    kind, port = _DATABASES.get(server_match["kind"], (server_match["kind"], None))
    server = (
        f"{kind}://{server_match['host']}:{server_match['port'] or port}"
        if server_match["port"] or port
        else f"{kind}://{server_match['host']}"
    )
    named = _JDBC_DATABASE.search(server_match["rest"])
    database = server_match["database"] or (named["database"] if named else None)
    return server, f"{database}.{table}" if database else table


def _file_name(uri: str) -> tuple[str, str]:
    if "://" not in uri:
        return "file", uri
    parts = urlsplit(uri)
    scheme = _HADOOP_SCHEMES.get(parts.scheme, parts.scheme)
    if scheme == "file":
        return "file", parts.path
    # On Azure the part before the @ is the container, elsewhere it would be a user.
    host = parts.netloc if scheme in ("abfss", "abfs", "wasbs", "wasb") else parts.netloc.rpartition("@")[2]
    is_store = scheme in ("s3", "gs")
    return f"{scheme}://{host}", parts.path.lstrip("/") if is_store else parts.path


def dataset(location: Location, columns: Iterable[tuple[str, ColumnType]], version: str | None) -> Json:
    """A dataset with what both sides of a run say of one."""
    namespace, name = dataset_name(location)
    source = location.datasource.id if location.datasource else namespace
    facets = {
        "schema": facet(
            "SchemaDatasetFacet", "1-2-0", fields=[{"name": column, "type": str(type_)} for column, type_ in columns]
        ),
        "dataSource": facet("DatasourceDatasetFacet", "1-0-1", name=source, uri=_source_uri(namespace, name)),
    }
    if version is not None:
        facets["version"] = facet("DatasetVersionDatasetFacet", "1-0-1", datasetVersion=version)
    return {"namespace": namespace, "name": name, "facets": facets}


def _source_uri(namespace: str, name: str) -> str:
    return f"file://{name}" if namespace == "file" else namespace


# The kind of a transformation, and its kind in more detail.
_TRANSFORMATIONS: Mapping[How, tuple[str, str]] = {
    "identity": ("DIRECT", "IDENTITY"),
    "transformation": ("DIRECT", "TRANSFORMATION"),
    "aggregation": ("DIRECT", "AGGREGATION"),
    "selector": ("INDIRECT", "FILTER"),
    "join": ("INDIRECT", "JOIN"),
    "group_by": ("INDIRECT", "GROUP_BY"),
    "order_by": ("INDIRECT", "SORT"),
    "condition": ("INDIRECT", "CONDITIONAL"),
    "window": ("INDIRECT", "WINDOW"),
}


def column_lineage(lineage: PlanLineage, seq: int, names: Mapping[str, list[tuple[str, str]]]) -> Json:
    """The columns that each written column comes from; what decides about all rows is listed once, for the dataset."""
    for_rows = lineage.inputs(seq, None)
    fields = {}
    for output_seq, column in lineage.columns:
        if output_seq == seq:
            own = {
                how: [source for source in sources if source not in for_rows.get(how, ())]
                for how, sources in lineage.inputs(seq, column).items()
            }
            fields[column] = {"inputFields": _input_fields(own, names)}
    return facet("ColumnLineageDatasetFacet", "1-2-0", fields=fields, dataset=_input_fields(for_rows, names))


def _input_fields(
    inputs: Mapping[How, Iterable[InputColumn]], names: Mapping[str, list[tuple[str, str]]]
) -> list[Json]:
    """Each column once, with all ways in which it arrives."""
    ways_by_column: dict[InputColumn, list[Json]] = {}
    for how, (kind, detail) in _TRANSFORMATIONS.items():
        for column in inputs.get(how, ()):
            if column.column is not None:
                ways_by_column.setdefault(column, []).append({"type": kind, "subtype": detail})
    return [
        {"namespace": namespace, "name": name, "field": column.column, "transformations": ways}
        for column, ways in sorted(ways_by_column.items(), key=lambda item: (item[0].dataset_id, item[0].column or ""))
        for namespace, name in names.get(column.dataset_id, ())
    ]


def declared_columns(columns: Iterable[ColumnDef]) -> Iterator[tuple[str, ColumnType]]:
    return ((column.name, column.type) for column in columns)


def pinned_versions(pins: Iterable[Pin]) -> Mapping[str, str]:
    """What was read, by address: the version of a table, or a digest of files."""
    versions: dict[str, str] = {}
    for pin in pins:
        match pin:
            case TablePin(uri=uri, version=version):
                versions[uri] = version.token
            case FilesPin(uri=uri, files=files):
                versions[uri] = _digest(repr(files))
            case LandedPin(uris=uris, files=landed):
                digest = _digest("".join(file.digest for file in landed)) if landed else pin.folder.rpartition("/")[2]
                versions |= dict.fromkeys(uris, digest)
    return versions


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]
