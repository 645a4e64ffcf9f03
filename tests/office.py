"""LibreOffice, by which tests see a workbook as a spreadsheet program does."""

import os
import re
import shutil
import subprocess
import zipfile
from pathlib import Path
from typing import Any

import openpyxl
import pytest

# 0 computes every formula again when a workbook is opened, whoever wrote it.
_SETTINGS = """<?xml version="1.0" encoding="UTF-8"?>
<oor:items xmlns:oor="http://openoffice.org/2001/registry">
<item oor:path="/org.openoffice.Office.Calc/Formula/Load">
<prop oor:name="OOXMLRecalcMode" oor:op="fuse"><value>0</value></prop></item>
</oor:items>
"""


def find_office() -> str:
    """The program; a test that needs it is skipped where it is missing, and fails under CI."""
    program = shutil.which("soffice") or shutil.which("libreoffice")
    if program is not None:
        return program
    reason = "LibreOffice is missing: apt-get install --no-install-recommends libreoffice-calc"
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)


def convert(path: Path, kind: str, folder: Path) -> Path:
    """The workbook opened, computed and saved by LibreOffice."""
    profile = folder / "profile"
    settings = profile / "user" / "registrymodifications.xcu"
    settings.parent.mkdir(parents=True, exist_ok=True)
    settings.write_text(_SETTINGS)
    converted = folder / "converted"
    command = [find_office(), f"-env:UserInstallation=file://{profile}", "--headless", "--norestore"]
    subprocess.run(
        [*command, "--convert-to", kind, "--outdir", str(converted), str(path)],
        check=True,
        capture_output=True,
        timeout=240,
    )
    return converted / f"{path.stem}.{kind.partition(':')[0]}"


def without_stored_values(path: Path, copy: Path) -> Path:
    """A copy whose formulas all have the value 0, so that right values can only come from computing them."""
    with zipfile.ZipFile(path) as source, zipfile.ZipFile(copy, "w", zipfile.ZIP_DEFLATED) as target:
        for part in source.namelist():
            content = source.read(part)
            if part.startswith("xl/worksheets/"):
                content = re.sub(rb"(</f>)<v>[^<]*</v>", rb"\1<v>0</v>", content)
            target.writestr(part, content)
    return copy


def sheet_values(path: Path, sheet: str) -> list[dict[str, Any]]:
    """The stored values of a sheet by its header."""
    rows = openpyxl.load_workbook(path, data_only=True)[sheet].iter_rows(values_only=True)
    header = next(rows)
    return [dict(zip(map(str, header), row, strict=True)) for row in rows]


def sheet_formulas(path: Path, sheet: str) -> dict[str, str]:
    """The formulas of a sheet by their cells."""
    rows = openpyxl.load_workbook(path)[sheet].iter_rows()
    return {cell.coordinate: str(cell.value) for row in rows for cell in row if cell.data_type == "f"}
