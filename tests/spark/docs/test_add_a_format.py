"""The page about adding a format, followed to the letter: one line, one folder, and the format is there."""

import re
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import daybook.io.formats
from daybook.io.registry import format_named
from daybook.model import formats
from tests.workspaces import COLUMNS, Folder, to_path, to_table

PAGE = Path(__file__).parents[3] / "docs" / "howto" / "add-a-format.md"


@pytest.fixture
def orc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The format of the page, in a folder beside the others."""
    line, module = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL)
    folder = tmp_path / "formats" / "orc"
    folder.mkdir(parents=True)
    (folder / "__init__.py").touch()
    (folder / "format.py").write_text(module, encoding="utf-8")
    added = eval(f"{{{line.strip()}}}", {"FormatFacts": formats.FormatFacts})
    for name, facts in added.items():
        monkeypatch.setitem(formats.FORMATS, name, facts)
    monkeypatch.setattr(daybook.io.formats, "__path__", [*daybook.io.formats.__path__, str(tmp_path / "formats")])
    yield
    format_named.cache_clear()


def report(path: str) -> dict[str, Any]:
    return to_path(path, columns=["order_id", "amount"], order_by=["order_id"])


def test_the_new_format_is_written_and_read(orc: None, spark: SparkSession, tmp_path: Path) -> None:
    folder = Folder.new(tmp_path / "w", lambda: spark)
    folder.datasource("store", "orc", path="store")
    folder.project(to_table("sales", "store"), to_path("out/{{identifier}}.orc"), id_="write")
    january, february = folder.runs("2026-01..2026-02", "write", is_draft=True)
    assert [output.format for output in january.outputs] == ["orc", "orc"]
    assert (tmp_path / "w" / "out" / "2026-01.orc").is_file()

    folder.dataset("sales", COLUMNS, {"datasource_id": "store", "table": "sales"}, temporal_mode="period")
    folder.project(report("out/again.csv"), id_="read", input_="sales")
    folder.run("2026-02", "read", is_draft=True)
    assert folder.csv_rows("out/again.csv") == [{"order_id": "O-4", "amount": "70.00"}]

    folder.dataset("file", COLUMNS, {"path": "out/{{identifier}}.orc"})
    folder.project(report("out/file.csv"), id_="one", input_="file")
    folder.run("2026-01", "one", is_draft=True)
    assert [Decimal(row["amount"]) for row in folder.csv_rows("out/file.csv")] == [100, 50, 0]
    assert february.outputs[0].rows_written == 1
