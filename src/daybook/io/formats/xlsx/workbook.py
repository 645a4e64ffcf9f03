"""The parts of a workbook other than its cells: sheets, date system, styles, shared texts, names and tables."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from xml.etree.ElementTree import Element

from daybook.errors import DaybookError
from daybook.errors.error import did_you_mean
from daybook.io.formats.xlsx.cells import (
    MAX_STORED_TEXT,
    WHOLE_SHEET,
    Area,
    DateSystem,
    decode_text,
    is_too_long,
    parse_area,
    shows_dates,
    split_sheet,
)
from daybook.io.formats.xlsx.package import Package, Relationship

# Transitional and strict workbooks name the same elements in two namespaces.
MAIN_NAMESPACES = (
    "http://schemas.openxmlformats.org/spreadsheetml/2006/main",
    "http://purl.oclc.org/ooxml/spreadsheetml/main",
)
_LINK_NAMESPACES = (
    "http://schemas.openxmlformats.org/officeDocument/2006/relationships",
    "http://purl.oclc.org/ooxml/officeDocument/relationships",
)
# The name that Daybook gives to the rows of an output, by which it finds their sheet again.
ROWS_NAME = "daybook_rows"
_TRUE = ("1", "true", "on")


@dataclass(frozen=True, slots=True)
class Sheet:
    name: str
    part: str
    is_hidden: bool


@dataclass(frozen=True, slots=True)
class DefinedName:
    """`sheet` is set when the name belongs to one sheet."""

    name: str
    refers_to: str
    sheet: str | None


@dataclass(frozen=True, slots=True)
class Table:
    """A table of a sheet; `area` is its cells without those of its totals."""

    name: str
    sheet: str
    area: Area
    has_header: bool


@dataclass(frozen=True, slots=True)
class Selection:
    """The cells that are read: `area` begins with the header unless `header_row` names another row."""

    sheet: Sheet
    area: Area
    header_row: int | None = None


class Workbook:
    """An open workbook."""

    def __init__(self, package: Package) -> None:
        self.package = package
        self._part = self._main_part()
        self._links = package.relationships(self._part)
        tree = package.tree(self._part)
        properties = next(_children(tree, "workbookPr"), None)
        self.date_system = _date_system(properties)
        self.sheets = tuple(self._sheets(tree))
        self._names = tuple(self._defined_names(tree))
        if not self.sheets:
            raise package.broken("it has no sheets")

    def select(self, sheet: str | None, range_: str | None, header_row: int | None) -> Selection:
        """The cells that the options name; IO_051 when they are not clear."""
        if range_ is None:
            return Selection(self._sheet(sheet), WHOLE_SHEET, header_row)
        named_sheet = self._sheet(sheet) if sheet is not None else None
        named, area = self._find_range(range_, named_sheet)
        selected_sheet = self._sheet(named) if named is not None else named_sheet or self._sheet(None)
        if named_sheet is not None and selected_sheet != named_sheet:
            raise self._not_found(
                f"range {range_} is on sheet {selected_sheet.name}, not on {named_sheet.name}", "remove `sheet`"
            )
        return Selection(selected_sheet, area, header_row)

    def own_rows(self, sheet: Sheet) -> Area | None:
        """The header and the rows that Daybook wrote to a sheet, blank ones among them."""
        for name in self._names:
            named, rest = split_sheet(name.refers_to)
            if name.name == ROWS_NAME and named == sheet.name:
                return parse_area(rest)
        return None

    def date_styles(self) -> frozenset[int]:
        """The styles that show numbers as dates."""
        part = self._linked("styles")
        if part is None:
            return frozenset()
        tree = self.package.tree(part)
        codes = {
            _number(number_format, "numFmtId"): number_format.get("formatCode")
            for number_format in _descendants(tree, "numFmts", "numFmt")
        }
        styles = enumerate(_number(cell_format, "numFmtId") for cell_format in _descendants(tree, "cellXfs", "xf"))
        return frozenset(index for index, number in styles if shows_dates(number, codes.get(number)))

    def shared_texts(self) -> list[str | None]:
        part = self._linked("sharedStrings")
        return read_shared_texts(self.package, part) if part is not None else []

    def _main_part(self) -> str:
        for link in self.package.relationships("").values():
            if link.kind == "officeDocument":
                return link.target
        raise self.package.broken("it is not a spreadsheet")

    def _linked(self, kind: str) -> str | None:
        parts = (link.target for link in self._links.values() if link.kind == kind)
        return next((part for part in parts if self.package.has(part)), None)

    def _sheets(self, tree: Element) -> Iterator[Sheet]:
        for element in _descendants(tree, "sheets", "sheet"):
            link = self._links.get(_link_id(element)) or Relationship("", "")
            if link.kind == "worksheet":
                yield Sheet(element.get("name", ""), link.target, element.get("state", "visible") != "visible")

    def _defined_names(self, tree: Element) -> Iterator[DefinedName]:
        order = [element.get("name", "") for element in _descendants(tree, "sheets", "sheet")]
        for element in _descendants(tree, "definedNames", "definedName"):
            local = _number(element, "localSheetId", -1)
            sheet = order[local] if 0 <= local < len(order) else None
            yield DefinedName(element.get("name", ""), (element.text or "").strip(), sheet)

    def _sheet(self, name: str | None) -> Sheet:
        if name is None:
            return self._only_sheet()
        for sheet in self.sheets:
            if sheet.name.casefold() == name.casefold():
                return sheet
        names = [sheet.name for sheet in self.sheets]
        hint = did_you_mean(name, names) or f"its sheets are {', '.join(names)}"
        raise self._not_found(f"there is no sheet {name}", hint)

    def _only_sheet(self) -> Sheet:
        """The sheet of Daybook's own rows, or the one that can be seen."""
        for name in self._names:
            if name.name == ROWS_NAME and (sheet := split_sheet(name.refers_to)[0]) is not None:
                return self._sheet(sheet)
        visible = [sheet for sheet in self.sheets if not sheet.is_hidden] or list(self.sheets)
        if len(visible) > 1:
            names = ", ".join(sheet.name for sheet in visible)
            raise self._not_found(f"it has {len(visible)} sheets: {names}", "name one: `options: {sheet: ...}`")
        return visible[0]

    def _find_range(self, text: str, sheet: Sheet | None) -> tuple[str | None, Area]:
        """The sheet that a range names, if it names one, and its cells."""
        named, rest = split_sheet(text)
        if (area := parse_area(rest)) is not None:
            return named, area
        if named is not None:
            raise self._not_found(f"range {text} is not valid", "write it like Budget!A3:F200")
        if (defined_name := self._find_name(text, sheet)) is not None:
            named, rest = split_sheet(defined_name.refers_to.removeprefix("="))
            area = parse_area(rest)
            if named is None or area is None:
                problem = f"the name {text} refers to {defined_name.refers_to}, which is not one range of cells"
                raise self._not_found(problem, "give the range itself")
            return named, area
        tables = {table.name.casefold(): table for table in self._tables()}
        if (table := tables.get(text.casefold())) is not None:
            if not table.has_header:
                raise self._not_found(f"table {text} has no header row", "switch its header row on")
            return table.sheet, table.area
        names = (name.name for name in self._names if not name.name.startswith("_xlnm."))
        hint = did_you_mean(text, [*names, *(table.name for table in tables.values())])
        raise self._not_found(f"there is no range {text}", hint or "write it like A3:F200, or give a name or table")

    def _find_name(self, text: str, sheet: Sheet | None) -> DefinedName | None:
        """A name of the sheet comes before one of the workbook."""
        same = [name for name in self._names if name.name.casefold() == text.casefold()]
        own = [name for name in same if sheet is not None and name.sheet == sheet.name]
        shared = [name for name in same if name.sheet is None]
        elsewhere = same if sheet is None and len(same) == 1 else []
        return next(iter((*own, *shared, *elsewhere)), None)

    def _tables(self) -> Iterator[Table]:
        for sheet in self.sheets:
            for link in self.package.relationships(sheet.part).values():
                if link.kind != "table":
                    continue
                tree = self.package.tree(link.target)
                name = tree.get("displayName", tree.get("name", ""))
                area = parse_area(tree.get("ref", ""))
                if area is None:
                    raise self.package.broken(f"table {name} has no cells")
                rows = replace(area, bottom=area.bottom - _number(tree, "totalsRowCount"))
                yield Table(name, sheet.name, rows, _number(tree, "headerRowCount", 1) > 0)

    def _not_found(self, problem: str, hint: str | None) -> DaybookError:
        return DaybookError("IO_051", file=self.package.file, problem=problem, hint=hint)


def local_name(name: str) -> str:
    """The name of an element of spreadsheets as the parser gives it, without its namespace; '' for all others."""
    namespace, _, local = name.rpartition(" ")
    return local if namespace in MAIN_NAMESPACES else ""


def read_shared_texts(package: Package, part: str) -> list[str | None]:
    """The texts that cells refer to by number; formatted runs are put together, readings in small script left out.

    A text that is longer than a cell is None, and no more of it than that is kept.
    """
    texts: list[str | None] = []
    pieces: list[str] = []
    state = {"is_text": False, "is_reading": False}
    length = 0

    def start(name: str, _: dict[str, str]) -> None:
        nonlocal length
        tag = local_name(name)
        if tag == "si":
            pieces.clear()
            length = 0
        elif tag == "rPh":
            state["is_reading"] = True
        elif tag == "t":
            state["is_text"] = not state["is_reading"]

    def end(name: str) -> None:
        tag = local_name(name)
        if tag == "si":
            text = "" if length > MAX_STORED_TEXT else decode_text("".join(pieces))
            texts.append(None if length > MAX_STORED_TEXT or is_too_long(text) else text)
            pieces.clear()
        elif tag == "rPh":
            state["is_reading"] = False
        elif tag == "t":
            state["is_text"] = False

    def data(text: str) -> None:
        nonlocal length
        if state["is_text"]:
            length += len(text)
            if length <= MAX_STORED_TEXT:
                pieces.append(text)

    for _ in package.parse(part, start, end, data):
        pass
    return texts


def _date_system(properties: Element | None) -> DateSystem:
    if properties is not None and properties.get("date1904", "0").lower() in _TRUE:
        return DateSystem.SINCE_1904
    if properties is not None and properties.get("dateCompatibility", "1").lower() not in _TRUE:
        return DateSystem.ISO
    return DateSystem.SINCE_1900


def _children(element: Element, tag: str) -> Iterator[Element]:
    for namespace in MAIN_NAMESPACES:
        yield from element.findall(f"{{{namespace}}}{tag}")


def _descendants(element: Element, parent: str, tag: str) -> Iterator[Element]:
    for container in _children(element, parent):
        yield from _children(container, tag)


def _link_id(element: Element) -> str:
    return next((link_id for name in _LINK_NAMESPACES if (link_id := element.get(f"{{{name}}}id"))), "")


def _number(element: Element, name: str, default: int = 0) -> int:
    text = element.get(name, "")
    return int(text) if re.fullmatch("-?[0-9]{1,9}", text) else default
