"""Connections to PostgreSQL: psycopg for statements, the same address as a URI for ADBC."""

from pathlib import Path
from urllib.parse import quote

import psycopg

from daybook.errors import DaybookError
from daybook.io.credentials import secret
from daybook.model.datasource import DataSource, PostgresqlSource


def options_of_source(datasource: DataSource | None) -> PostgresqlSource:
    if not isinstance(datasource, PostgresqlSource):
        raise ValueError("a PostgreSQL table needs a data source of that type")
    return datasource


def address(source: PostgresqlSource, workspace: Path) -> str:
    """A libpq URI; a host that begins with a slash is the folder of a socket."""
    options = source.options
    password = secret(source.credential_ref, workspace)
    user = quote(options.user or "", safe="")
    login = f"{user}:{quote(password, safe='')}@" if password is not None else (f"{user}@" if user else "")
    database = quote(options.database, safe="")
    if options.host.startswith("/"):
        return f"postgresql://{login}/{database}?host={quote(options.host, safe='')}&port={options.port}"
    return f"postgresql://{login}{options.host}:{options.port}/{database}"


def connect(source: PostgresqlSource, workspace: Path) -> psycopg.Connection:
    try:
        return psycopg.connect(address(source, workspace))
    except psycopg.Error as failure:
        place = f"{source.options.host}:{source.options.port}/{source.options.database}"
        raise DaybookError("IO_012", location=f"{source.id} ({place})", reason=str(failure).strip()) from failure
