"""A name stays one name in every SQL text that it is put into."""

import json
import sqlite3
from contextlib import closing

import pytest

from daybook.definitions.loading import load_text
from daybook.errors import DaybookError, flatten
from daybook.expression import quote_identifier, quote_literal
from daybook.model.types import STRING
from tests.attacks.tables import identifiers


def definition(name: str) -> str:
    table = {"name": "t", "columns": [{"name": name, "type": "string"}]}
    return json.dumps({"dataset": {"id": "d", "main_table": table}})


@pytest.mark.parametrize("name", [name for name in identifiers.NAMES if name.isprintable()], ids=ascii)
def test_a_name_is_kept(name: str) -> None:
    (found,) = load_text(definition(name), "d.json")
    assert found.model.main_table.columns[0].name == name


@pytest.mark.parametrize("name", identifiers.REFUSED, ids=ascii)
def test_a_name_is_refused(name: str) -> None:
    with pytest.raises(DaybookError) as caught:
        load_text(definition(name), "d.json")
    assert all(error.code.startswith("MODEL_") for error in flatten(caught.value))


@pytest.mark.parametrize("name", identifiers.NAMES, ids=ascii)
def test_quoted_for_spark(name: str) -> None:
    quoted = quote_identifier(name)
    assert (quoted[0], quoted[-1]) == ("`", "`")
    assert "`" not in quoted[1:-1].replace("``", "")
    literal = quote_literal(name, STRING)
    assert literal.count("'") >= 2


@pytest.mark.parametrize("name", identifiers.NAMES, ids=ascii)
def test_quoted_for_sqlite(name: str) -> None:
    from daybook.io.formats.sqlite.format import quote_name

    with closing(sqlite3.connect(":memory:")) as connection, connection:
        connection.execute(f"create table {quote_name(name)} ({quote_name(name)} text)")
        connection.execute(f"insert into {quote_name(name)} values ('x')")
        cursor = connection.execute(f"select {quote_name(name)} from {quote_name(name)}")
        assert cursor.description[0][0] == name
        assert cursor.fetchall() == [("x",)]
