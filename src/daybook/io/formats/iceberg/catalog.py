"""Opens the catalog of a data source and the tables in it, by pyiceberg."""

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType

from pyiceberg import exceptions as iceberg_errors
from pyiceberg.catalog import Catalog
from pyiceberg.io import FileIO, load_file_io
from pyiceberg.partitioning import PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import CreateTableTransaction, Table
from sqlalchemy.engine import make_url
from sqlalchemy.exc import SQLAlchemyError

from daybook.errors import DaybookError
from daybook.io.filesystem import join_uri
from daybook.io.storage import PROVIDER_STORAGE, Storage
from daybook.model.datasource import DataSource, IcebergSource
from daybook.model.secrets import is_secret_reference, mask_secrets, read_credential
from daybook.resolve.location import Location
from daybook.resolve.paths import absolute_root, canonical_uri, is_remote

# It warns of every commit that is tried again, which users do not need to know.
logging.getLogger("pyiceberg").addHandler(logging.NullHandler())

# A SQL catalog may be shared by several, each with a name of its own; this is the one that pyiceberg takes by default.
_CATALOG_NAME = "default"
_FILE_IO = "pyiceberg.io.pyarrow.PyArrowFileIO"
# The data folder that a catalog prescribes for new tables, where it manages the bucket.
_DATA_DEFAULT = "table-default.write.data.path"
_FILE_IO_PROPERTY = "py-io-impl"
# A table may name classes that pyiceberg would import and run.
_CODE_PROPERTIES = (_FILE_IO_PROPERTY, "write.py-location-provider.impl")

# The errors of pyiceberg and of the libraries below it, which have no common base class.
STORAGE_ERRORS: tuple[type[Exception], ...] = (
    iceberg_errors.RESTError,
    iceberg_errors.CommitFailedException,
    iceberg_errors.ValidationException,
    iceberg_errors.ValidationError,
    iceberg_errors.NoSuchNamespaceError,
    iceberg_errors.NoSuchTableError,
    iceberg_errors.TableAlreadyExistsError,
    iceberg_errors.NotInstalledError,
    iceberg_errors.SignError,
    iceberg_errors.ResolveError,
    iceberg_errors.WaitingForLockException,
    SQLAlchemyError,
    OSError,
)


@contextmanager
def catalog_errors(label: str, code: str = "IO_012") -> Iterator[None]:
    """Turns errors of a catalog or its storage into IO_012, without secrets that they may contain."""
    try:
        yield
    except STORAGE_ERRORS as failure:
        # The further lines are a SQL statement or links.
        first_line = next(iter(str(failure).strip().splitlines()), type(failure).__name__)
        reason = mask_secrets(first_line)
        raise DaybookError(code, location=label, reason=reason) from failure


@contextmanager
def opened_catalog(
    source: DataSource, workspace: Path, storage: Storage = PROVIDER_STORAGE, *, creates: bool = False
) -> Iterator[Catalog | None]:
    """The catalog; None where the file of a SQL catalog is not there yet and may not be made."""
    if not isinstance(source, IcebergSource):
        raise TypeError(f"{source.id} is no catalog")
    properties = _properties(source, workspace)
    properties |= storage.iceberg_options(properties.get("warehouse", ""))
    if source.options.catalog == "sql" and (file := _sqlite_file(properties["uri"])) is not None:
        if creates:
            file.parent.mkdir(parents=True, exist_ok=True)
        elif not file.is_file():
            yield None
            return
    with catalog_errors(source.id):
        try:
            catalog = _open(source, dict(properties))
        except SQLAlchemyError:
            # Two processes that open a new catalog at the same time both create its tables.
            catalog = _open(source, properties)
    try:
        yield catalog
    finally:
        catalog.close()


@contextmanager
def opened_table(location: Location, workspace: Path, storage: Storage = PROVIDER_STORAGE) -> Iterator[Table | None]:
    """The table at a location; None where there is none."""
    with opened_catalog(location.database, workspace, storage) as catalog:
        yield None if catalog is None else load_table(catalog, location, storage)


def load_table(catalog: Catalog, location: Location, storage: Storage = PROVIDER_STORAGE) -> Table | None:
    with catalog_errors(location.label):
        try:
            table = catalog.load_table(table_identifier(location))
        except (iceberg_errors.NoSuchTableError, iceberg_errors.NoSuchNamespaceError):
            return None
    if code := next((name for name in _CODE_PROPERTIES if name in table.properties), None):
        raise feature_error(location.label, f"code of its own ({code})")
    table.io = _file_io(catalog, table, storage)
    return table


def create_table(
    catalog: Catalog,
    location: Location,
    schema: Schema,
    spec: PartitionSpec,
    storage: Storage,
    address: str | None = None,
) -> CreateTableTransaction:
    """A transaction that creates a table when it is committed."""
    properties = {}
    if (folder := catalog.properties.get(_DATA_DEFAULT)) is not None:
        # A folder for each table, so that files staged for one are not attributed to another.
        properties["write.data.path"] = join_uri(folder, location.schema or "", location.table_name)
    identifier = table_identifier(location)
    transaction = catalog.create_table_transaction(identifier, schema, address, spec, properties=properties)
    table = transaction._table
    table.io = _file_io(catalog, table, storage)
    return transaction


def has_own_data_folder(catalog: Catalog) -> bool:
    """Whether the files of new tables are elsewhere than their metadata."""
    return _DATA_DEFAULT in catalog.properties


def _file_io(catalog: Catalog, table: Table, storage: Storage) -> FileIO:
    """What is said of a bucket for all clients holds for this one, too; else what the catalog says.

    pyiceberg mixes the properties of the table in, whose writers could send requests and keys to a server of theirs.
    """
    own = table.metadata.properties
    lent = {name: value for name, value in table.io.properties.items() if own.get(name) != value}
    options = storage.iceberg_options(canonical_uri(table.location()))
    return load_file_io({**catalog.properties, **lent, **options, _FILE_IO_PROPERTY: _FILE_IO}, table.location())


def allowed_folders(table: Table, location: Location, workspace: Path) -> tuple[str, ...]:
    """Where the files of a table may be: its own folder, its warehouse, and where the data source puts new files."""
    options = location.database.options if isinstance(location.database, IcebergSource) else None
    places = [table.location(), location.occupied_path(workspace)]
    if options is not None:
        places += [options.warehouse, str(options.properties.get(_DATA_DEFAULT, ""))]
    return tuple(place for place in places if place)


def create_namespace(catalog: Catalog, location: Location) -> None:
    """Safe when two processes create it at the same time."""
    namespace = table_identifier(location)[:-1]
    try:
        catalog.create_namespace_if_not_exists(namespace)
    except (iceberg_errors.NamespaceAlreadyExistsError, SQLAlchemyError):
        if not catalog.namespace_exists(namespace):
            raise


def table_identifier(location: Location) -> tuple[str, ...]:
    return (*(location.schema or "").split("."), location.table_name)


def feature_error(label: str, feature: str, hint: str | None = None) -> DaybookError:
    """IO_010 for a feature that changes how the files of a table must be read or written."""
    hint = hint or "read it as a table of a data source of type spark_catalog, or rewrite it without the feature"
    return DaybookError("IO_010", format="Iceberg", location=label, feature=feature, hint=hint)


def _open(source: IcebergSource, properties: dict[str, str]) -> Catalog:
    """Not by `pyiceberg.catalog.load_catalog`, which adds settings of the user's files and environment."""
    catalog = _new_catalog(source, properties)
    load = catalog._load_file_io

    def load_ours(properties: Mapping[str, str] = MappingProxyType({}), location: str | None = None) -> FileIO:
        """Neither a table nor the server of a catalog says which class of Python is imported."""
        return load({**properties, _FILE_IO_PROPERTY: _FILE_IO}, location)

    catalog._load_file_io = load_ours  # type: ignore[method-assign]
    return catalog


def _new_catalog(source: IcebergSource, properties: dict[str, str]) -> Catalog:
    name = properties.pop("name", _CATALOG_NAME)
    match source.options.catalog:
        case "sql":
            from pyiceberg.catalog.sql import SqlCatalog

            return SqlCatalog(name, **properties)
        case "rest":
            from pyiceberg.catalog.rest import RestCatalog

            return RestCatalog(name, **properties)
        case "glue":
            from pyiceberg.catalog.glue import GlueCatalog

            return GlueCatalog(name, **properties)
        case "hive":
            from pyiceberg.catalog.hive import HiveCatalog

            return HiveCatalog(name, **properties)


def _properties(source: IcebergSource, workspace: Path) -> dict[str, str]:
    options = source.options
    properties = {_FILE_IO_PROPERTY: _FILE_IO}
    for name, value in options.properties.items():
        text = str(value).lower() if isinstance(value, bool) else str(value)
        properties[name] = read_credential(text, workspace) if is_secret_reference(text) else text
    if options.warehouse is not None:
        is_name = options.catalog == "rest" or is_remote(options.warehouse)
        properties["warehouse"] = options.warehouse if is_name else absolute_root(options.warehouse, workspace)
    if options.catalog == "sql":
        properties["uri"] = _sql_address(options.uri, properties["warehouse"], workspace)
    elif options.uri is not None:
        # pyiceberg adds the version of the protocol itself.
        properties["uri"] = options.uri.rstrip("/").removesuffix("/v1") if options.catalog == "rest" else options.uri
    if source.credential_ref is not None:
        properties |= _credential(source, read_credential(source.credential_ref, workspace), properties)
    return properties


def _sql_address(uri: str | None, warehouse: str, workspace: Path) -> str:
    """Of a file in the warehouse without an address; a relative path of SQLite is relative to the workspace."""
    if uri is None:
        return f"sqlite:///{warehouse}/catalog.db"
    url = make_url(uri)
    if url.get_backend_name() != "sqlite" or not url.database or url.database == ":memory:":
        return uri
    return f"sqlite:///{workspace.absolute() / url.database}"


def _sqlite_file(uri: str) -> Path | None:
    url = make_url(uri)
    is_file = url.get_backend_name() == "sqlite" and url.database not in (None, "", ":memory:")
    return Path(str(url.database)) if is_file else None


def _credential(source: IcebergSource, secret: str, properties: dict[str, str]) -> dict[str, str]:
    """The secret of a data source as properties of its kind of catalog."""
    match source.options.catalog:
        case "rest":
            if ":" not in secret:
                return {"token": secret}
            # A client id and its secret are exchanged for a token, by default at the catalog itself.
            tokens = properties.get("oauth2-server-uri", f"{properties['uri']}/v1/oauth/tokens")
            return {"credential": secret, "oauth2-server-uri": tokens}
        case "sql":
            url = make_url(properties["uri"]).set(password=secret)
            return {"uri": url.render_as_string(hide_password=False)}
        case "glue":
            key, _, rest = secret.partition(":")
            secret_key, _, token = rest.partition(":")
            keys = {"client.access-key-id": key, "client.secret-access-key": secret_key}
            return {**keys, "client.session-token": token} if token else keys
        case "hive":
            raise DaybookError("IO_012", location=source.id, reason="a hive catalog takes no credential_ref")
