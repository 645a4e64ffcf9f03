"""A name in a database and the address of its server are only that."""

import json
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from psycopg.conninfo import conninfo_to_dict

from daybook.definitions.loading import load_text
from daybook.errors import DaybookError
from daybook.io.formats.postgresql.table import connection_parameters, connection_uri
from daybook.io.location_checks import location_identity
from daybook.model.datasource import PostgresqlOptions, PostgresqlSource
from daybook.resolve.location import Location, check_table_name, table_location
from tests.attacks.tables import databases


def source(host: str = "localhost", database: str = "d", **options: str) -> PostgresqlSource:
    given = PostgresqlOptions.model_validate({"host": host, "database": database, **options})
    return PostgresqlSource(id="pg", name="pg", type="postgresql", options=given)


@pytest.mark.parametrize("host", databases.HOSTS)
def test_a_host_that_is_more_than_a_server_is_refused(host: str) -> None:
    definition = {"datasource": {"id": "d", "type": "postgresql", "options": {"host": host, "database": "close"}}}
    with pytest.raises(DaybookError) as caught:
        load_text(json.dumps(definition), "d.json")
    assert caught.value.code.startswith("MODEL_")


@pytest.mark.parametrize("host", databases.SERVERS)
def test_every_way_to_name_a_server(host: str) -> None:
    found = conninfo_to_dict(connection_uri(source(host, "a/b?c=d e"), Path()))
    assert (found["host"], found["port"], found["dbname"]) == (host.strip("[]"), "5432", "a/b?c=d e")


def test_the_parameters_of_a_server_stand_for_themselves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PASSWORD", "p&host=evil w%20")
    given = source(user="u&dbname=other").model_copy(update={"credential_ref": "env://PASSWORD"})
    found = connection_parameters(given, Path())
    assert (found["user"], found["password"]) == ("u&dbname=other", "p&host=evil w%20")
    assert set(parse_qs(urlsplit(connection_uri(given, Path())).query)) == {"host", "port", "user", "password"}


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "[::1]", "LOCALHOST", "localhost.", "/run/postgresql"])
def test_one_server_in_every_spelling(host: str) -> None:
    here = Location("postgresql", table="t", datasource=source())
    there = Location("postgresql", table="t", schema="public", datasource=source(host))
    assert location_identity(here, Path()) == location_identity(there, Path())


@pytest.mark.parametrize("name", databases.LONG_NAMES)
def test_a_name_that_the_database_would_cut_is_refused(name: str, tmp_path: Path) -> None:
    for table, schema in ((name, None), ("t", name)):
        with pytest.raises(DaybookError) as caught:
            table_location(source(), table, schema, tmp_path)
        assert (caught.value.code, caught.value.parameters["table"]) == ("RESOLVE_038", name)
    check_table_name(source(), name[:-1], None)
