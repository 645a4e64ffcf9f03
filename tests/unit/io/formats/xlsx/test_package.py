"""Files that are no workbooks, are damaged, protected or made to do harm: each a coded error."""

import zipfile
from pathlib import Path

import pytest

from daybook.errors import DaybookError
from daybook.io.formats.xlsx import package
from tests.unit.io.formats.xlsx.handmade import MAIN, number, read, row, sheet_xml, text, write_workbook

MONEY = {"amount": "decimal(18,2)"}
ROWS = (row(1, text("A1", "amount")), row(2, number("A2", 1)))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "budget.xlsx"


def refusal(path: Path) -> DaybookError:
    with pytest.raises(DaybookError) as caught:
        read(path, MONEY)
    assert caught.value.code == "IO_050"
    return caught.value


def test_an_empty_file_is_refused(path: Path) -> None:
    path.write_bytes(b"")
    assert "it is empty" in refusal(path).message


def test_a_text_file_is_refused(path: Path) -> None:
    path.write_text("amount\n1\n")
    assert "not a zip archive" in refusal(path).message


def test_a_workbook_with_a_password_says_so(path: Path) -> None:
    path.write_bytes(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 600 + "EncryptedPackage".encode("utf-16-le"))
    assert "password" in refusal(path).message


def test_an_old_workbook_says_so(path: Path) -> None:
    path.write_bytes(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 600 + "Workbook".encode("utf-16-le"))
    assert ".xls)" in refusal(path).message


@pytest.mark.parametrize(
    ("parts", "said"), [(["xl/workbook.bin"], ".xlsb"), (["mimetype", "content.xml"], "OpenDocument")]
)
def test_other_kinds_of_workbooks_are_named(path: Path, parts: list[str], said: str) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        for part in parts:
            archive.writestr(part, "")
    assert said in refusal(path).message


def test_an_archive_of_something_else_is_refused(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("readme.txt", "hello")
    assert "not a spreadsheet" in refusal(path).message


def test_a_cut_file_is_refused(path: Path) -> None:
    write_workbook(path, {"Budget": sheet_xml(*ROWS)})
    path.write_bytes(path.read_bytes()[:-40])
    refusal(path)


def test_a_damaged_part_is_refused(path: Path) -> None:
    write_workbook(path, {"Budget": sheet_xml(*ROWS)})
    with zipfile.ZipFile(path) as archive:
        start = archive.getinfo("xl/worksheets/sheet1.xml").header_offset + 80
    data = bytearray(path.read_bytes())
    data[start : start + 20] = b"\xff" * 20
    path.write_bytes(bytes(data))
    refusal(path)


def test_a_part_that_is_encrypted_is_refused(path: Path) -> None:
    write_workbook(path, {"Budget": sheet_xml(*ROWS)})
    data = bytearray(path.read_bytes())
    for magic, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        at = -1
        while (at := data.find(magic, at + 1)) >= 0:
            data[at + offset] |= 1
    path.write_bytes(bytes(data))
    assert "encrypted" in refusal(path).message


@pytest.mark.parametrize(
    "sheet",
    [
        "<worksheet",
        "<worksheet><sheetData></worksheet>",
        f'<worksheet xmlns="{MAIN}"/>',
        sheet_xml(ROWS[0], row(3, number("A3", 1)), row(2, number("A2", 1))),
        sheet_xml('<row r="0"><c r="A0"><v>1</v></c></row>'),
        sheet_xml('<row r="1048577"><c r="A1048577"><v>1</v></c></row>'),
        sheet_xml('<row r="1"><c r="XFE1"><v>1</v></c></row>'),
        sheet_xml('<row r="1"><c r="1"><v>1</v></c></row>'),
        sheet_xml('<row r="1"><c r="A1" t="s"><v>0</v></c></row>'),
        sheet_xml('<row r="1"><c r="A1" t="s"><v>-1</v></c></row>'),
        sheet_xml('<row r="1"><c r="A1" t="odd"><v>0</v></c></row>'),
        sheet_xml('<row r="1"><c r="A1" t="b"><v>2</v></c></row>'),
        sheet_xml('<row r="1"><c r="A1"><v>1,5</v></c></row>'),
        sheet_xml('<row r="1"><c r="A1"><v>1e999</v></c></row>'),
        sheet_xml('<row r="1"><c r="A1"><v>1e-99999999999</v></c></row>'),
        sheet_xml('<row r="1"><c r="A1"><v>nan</v></c></row>'),
        sheet_xml(f'<row r="1"><c r="A1"><v>{"9" * 500}</v></c></row>'),
        sheet_xml('<row r="1"><c r="A1" t="d"><v>2026-02-30</v></c></row>'),
        sheet_xml(row(1, text("A1", "x" * 2_000_000))),
    ],
)
def test_a_damaged_sheet_is_refused(path: Path, sheet: str) -> None:
    refusal(write_workbook(path, {"Budget": sheet}))


def test_a_missing_sheet_is_refused(path: Path) -> None:
    with zipfile.ZipFile(write_workbook(path, {"Budget": sheet_xml(*ROWS)})) as archive:
        parts = {name: archive.read(name) for name in archive.namelist() if "sheet1" not in name}
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    assert "no part xl/worksheets/sheet1.xml" in refusal(path).message


LAUGHS = "".join(f'<!ENTITY l{i} "{f"&l{i - 1};" * 10}">' for i in range(1, 10))
ENTITIES = {
    "growing": f'<!DOCTYPE w [<!ENTITY l0 "ha">{LAUGHS}]>',
    "file": '<!DOCTYPE w [<!ENTITY l9 SYSTEM "file:///etc/hostname">]>',
    "empty": "<!DOCTYPE w>",
}


@pytest.mark.parametrize("kind", ENTITIES)
def test_no_entity_is_ever_expanded(path: Path, kind: str) -> None:
    sheet = sheet_xml(row(1, text("A1", "amount")), row(2, text("A2", "&l9;")))
    hostile = sheet.replace("<worksheet", f"{ENTITIES[kind]}<worksheet", 1)
    assert "document type" in refusal(write_workbook(path, {"Budget": hostile})).message


def test_a_sheet_that_grows_beyond_measure_is_refused_while_it_is_unpacked(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(package, "_FREE_BYTES", 1 << 20)
    rows = [*ROWS, row(3, text("A3", "1"), f"<!--{' ' * (4 << 20)}-->")]
    assert "is larger than" in refusal(write_workbook(path, {"Budget": sheet_xml(*rows)})).message


def test_a_tag_that_never_ends_is_refused(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(package, "_MAX_TOKEN_BYTES", 1 << 20)
    rows = [*ROWS, f'<row r="3" spans="{" " * (2 << 20)}"/>']
    assert "a tag of more than" in refusal(write_workbook(path, {"Budget": sheet_xml(*rows)})).message


def test_a_crowd_of_parts_is_refused(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(package, "_MAX_PARTS", 4)
    assert "parts" in refusal(write_workbook(path, {"Budget": sheet_xml(*ROWS)})).message


def test_links_to_other_places_are_not_followed(path: Path) -> None:
    links = (
        '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
        '<Relationship Id="rId1" Type="x/worksheet" TargetMode="External" Target="file:///etc/hostname"/>'
        "</Relationships>"
    )
    write_workbook(path, {"Budget": sheet_xml(*ROWS)}, parts={"xl/_rels/workbook.xml.rels": links})
    assert "no sheets" in refusal(path).message


def test_macros_are_not_looked_at(path: Path) -> None:
    write_workbook(path, {"Budget": sheet_xml(*ROWS)}, parts={"xl/vbaProject.bin": b"\0\1\2"})
    assert len(read(path, MONEY)) == 1
