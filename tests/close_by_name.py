"""The demonstration's close from CSV and a workbook on this machine to tables by name."""

import csv
from pathlib import Path
from typing import Any

import openpyxl
import pyarrow.csv
import pyarrow.parquet as pq
import yaml

from daybook.demo.generated_data import write_data
from daybook.demo.workspace_files import write_workspace

PROJECTS = ("close", "management-summary", "balances")


def write_close(root: Path, data: Path, catalog: str, schema: str, settings: dict[str, Any]) -> None:
    """The workspace; `data` keeps the files as the demonstration makes them, for those who calculate by hand."""
    write_workspace("close", root)
    write_data(data, 50)
    write_data(root / "data", 50)
    for file in sorted((root / "data/ledger").glob("*.parquet")):
        pyarrow.csv.write_csv(pq.read_table(file), file.with_suffix(".csv"))
        file.unlink()
    budgets = root / "data/budgets.csv"
    book = openpyxl.Workbook()
    sheet = book.worksheets[0]
    with budgets.open(newline="", encoding="utf-8") as stream:
        for row in csv.reader(stream):
            sheet.append(row)
    book.save(budgets.with_suffix(".xlsx"))
    budgets.unlink()
    replace_in(root / "datasets/budgets.yaml", {"data/budgets.csv": "data/budgets.xlsx"})
    tables = f"type: spark_catalog\n  options: {{catalog: {catalog}, schema: {schema}}}"
    folder = "type: delta\n  options: {path: warehouse}"
    ledger = {"type: parquet": "type: csv", '"{{identifier}}.parquet"': '"{{identifier}}.csv"'}
    replace_in(root / "sources.yaml", {**ledger, folder: tables})
    (root / "daybook.yaml").write_text(yaml.safe_dump({"name": "demo", **settings}))


def replace_in(file: Path, texts: dict[str, str]) -> None:
    content = file.read_text()
    for text, replacement in texts.items():
        assert text in content
        content = content.replace(text, replacement)
    file.write_text(content)
