"""What a table behind a JDBC driver needs, without Spark."""

from pathlib import Path

import pytest

from daybook.definitions.loading import load_text
from daybook.errors import DaybookError
from daybook.io.registry import format_named, writer_for
from daybook.io.target import SliceOwner, TableTarget
from daybook.io.writer import Commit
from daybook.resolve.location import table_location

SOURCE = """
datasource:
  id: books
  type: jdbc
  options: {url: "jdbc:derby:books", driver: org.example.Driver}
"""


@pytest.fixture
def target(tmp_path: Path) -> TableTarget:
    (definition,) = load_text(SOURCE, "books.yaml")
    return TableTarget(
        location=table_location(definition.model, "totals", None, tmp_path),
        mode="replace",
        columns=(),
        run_id="r",
        operation_seq=1,
        owner=SliceOwner("p", "o"),
        workspace=tmp_path,
    )


def test_a_commit_needs_a_session(target: TableTarget) -> None:
    with pytest.raises(DaybookError) as caught:
        writer_for("jdbc").check(target)
    assert (caught.value.code, caught.value.parameters["format"]) == ("IO_031", "jdbc")


def test_rows_of_a_run_cannot_be_read_without_spark(target: TableTarget) -> None:
    with pytest.raises(DaybookError) as caught:
        format_named("jdbc").committed_rows(target, Commit(1))
    assert (caught.value.code, caught.value.parameters["run_id"]) == ("RUN_085", "r")
