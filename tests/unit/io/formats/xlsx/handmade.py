"""Workbooks written by hand, part by part, so that tests can hold what no library writes."""

import zipfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from daybook.io.formats.xlsx.format import XlsxRows
from daybook.io.landing.batches import Batch
from daybook.model.dataset import ColumnDef, Dataset, MainTable
from daybook.model.definition import DatasetVersion
from daybook.resolve.location import Location

MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
STRICT_MAIN = "http://purl.oclc.org/ooxml/spreadsheetml/main"
LINKS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE_LINKS = "http://schemas.openxmlformats.org/package/2006/relationships"

# The styles of the sheets below: 0 general, 1 a built-in date, 2 a date of its own, 3 date and time, 4 hours.
STYLES = f"""<styleSheet xmlns="{MAIN}"><numFmts><numFmt numFmtId="164" formatCode="dd\\.mm\\.yyyy;@"/>
<numFmt numFmtId="165" formatCode="[h]:mm"/></numFmts>
<cellXfs><xf numFmtId="0"/><xf numFmtId="14"/><xf numFmtId="164"/><xf numFmtId="22"/><xf numFmtId="165"/></cellXfs>
</styleSheet>"""


def text(place: str, value: str) -> str:
    return f'<c r="{place}" t="inlineStr"><is><t xml:space="preserve">{value}</t></is></c>'


def number(place: str, value: object, style: int = 0) -> str:
    return f'<c r="{place}" s="{style}"><v>{value}</v></c>'


def row(position: int, *cells: str, attributes: str = "") -> str:
    return f'<row r="{position}"{attributes}>{"".join(cells)}</row>'


def sheet_xml(*rows: str, after: str = "", namespace: str = MAIN) -> str:
    return (
        f'<?xml version="1.0" encoding="UTF-8"?><worksheet xmlns="{namespace}" xmlns:r="{LINKS}">'
        f"<sheetData>{''.join(rows)}</sheetData>{after}</worksheet>"
    )


def links_xml(*links: tuple[str, str, str]) -> str:
    found = (f'<Relationship Id="{i}" Type="{LINKS}/{kind}" Target="{target}"/>' for i, kind, target in links)
    return f'<Relationships xmlns="{PACKAGE_LINKS}">{"".join(found)}</Relationships>'


def write_workbook(
    path: Path,
    sheets: Mapping[str, str],
    *,
    properties: str = "",
    names: str = "",
    hidden: Sequence[str] = (),
    shared: str | None = None,
    parts: Mapping[str, str | bytes] | None = None,
    namespace: str = MAIN,
) -> Path:
    """A workbook of these sheets, each its XML; `parts` adds or replaces."""
    numbered = list(enumerate(sheets, start=1))
    listed = "".join(
        f'<sheet name="{name}" sheetId="{i}" state="{"hidden" if name in hidden else "visible"}" r:id="rId{i}"/>'
        for i, name in numbered
    )
    links = [(f"rId{i}", "worksheet", f"worksheets/sheet{i}.xml") for i, _ in numbered]
    links.append(("rStyles", "styles", "styles.xml"))
    everything: dict[str, str | bytes] = {
        "[Content_Types].xml": "<Types/>",
        "_rels/.rels": links_xml(("rId1", "officeDocument", "xl/workbook.xml")),
        "xl/workbook.xml": (
            f'<workbook xmlns="{namespace}" xmlns:r="{LINKS}"><workbookPr {properties}/>'
            f"<sheets>{listed}</sheets><definedNames>{names}</definedNames></workbook>"
        ),
        "xl/styles.xml": STYLES.replace(MAIN, namespace),
        **{f"xl/worksheets/sheet{i}.xml": sheets[name] for i, name in numbered},
    }
    if shared is not None:
        links.append(("rShared", "sharedStrings", "sharedStrings.xml"))
        everything["xl/sharedStrings.xml"] = f'<sst xmlns="{namespace}">{shared}</sst>'
    everything["xl/_rels/workbook.xml.rels"] = links_xml(*links)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in {**everything, **(parts or {})}.items():
            archive.writestr(name, content)
    return path


def sheet_rows(path: Path, types: Mapping[str, str], **options: Any) -> XlsxRows:
    columns = tuple(ColumnDef.model_validate({"name": name, "type": type_}) for name, type_ in types.items())
    dataset = Dataset(id="budget", name="Budget", main_table=MainTable(name="budget", columns=columns))
    return XlsxRows(str(path), Location("xlsx", uri=str(path), options=options), DatasetVersion(dataset, 1))


def read_batches(path: Path, types: Mapping[str, str], **options: Any) -> list[Batch]:
    return list(sheet_rows(path, types, **options).batches())


def read(path: Path, types: Mapping[str, str], **options: Any) -> list[tuple[Any, ...]]:
    """The rows as Python values, the columns in the order of `types`."""

    def rows() -> Iterator[tuple[Any, ...]]:
        for batch in read_batches(path, types, **options):
            yield from zip(*(batch.columns[name].to_pylist() for name in types), strict=True)

    return list(rows())
