"""The facts about every format that need no package: extensions, options, kinds of tables.

A line of `FORMATS` and a folder below `daybook.io.formats` are a format; checks, readers, writers and pages go by both.
"""

import codecs
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field
from pydantic_core import PydanticKnownError

from daybook.errors.error import did_you_mean
from daybook.model.declaration import Violation, violation

OptionKind = Literal["one character", "text", "encoding", "one of", "number from 1", "true or false", "sheet name"]

_SHEET_NAME = re.compile(r"(?!')[^\[\]:*?/\\\x00-\x1f]{1,31}(?<!')")


@dataclass(frozen=True, slots=True)
class FormatOption:
    """An option of a format; `elsewhere` is what other tools call it."""

    name: str
    kind: OptionKind
    default: str | bool | int | None
    meaning: str
    elsewhere: tuple[str, ...] = ()
    # Outputs are written with the default and nothing else.
    is_fixed_in_outputs: bool = False
    choices: tuple[str, ...] = ()

    def accepts(self, value: object) -> bool:
        if value is None:
            return self.default is None
        match self.kind:
            case "one character":
                return isinstance(value, str) and len(value.encode()) == 1 and value not in "\r\n"
            case "text":
                return isinstance(value, str)
            case "encoding":
                return isinstance(value, str) and _codec_name(value) is not None
            case "one of":
                return value in self.choices
            case "sheet name":
                return isinstance(value, str) and _SHEET_NAME.fullmatch(value) is not None
            case "true or false":
                return isinstance(value, bool)
            case "number from 1":
                return isinstance(value, int) and not isinstance(value, bool) and value >= 1

    def is_default(self, value: object) -> bool:
        if self.kind == "encoding":
            return _codec_name(str(value)) == self.default
        return value == self.default


_SPREADSHEET_SAFE = FormatOption(
    "spreadsheet_safe",
    "true or false",
    False,
    "Whether outputs put `'` before text and column names that a spreadsheet would read as a formula.",
)

_CSV_OPTIONS = (
    FormatOption(
        "delimiter", "one character", ",", "The character between two fields.", ("sep", "separator", "fieldsep")
    ),
    FormatOption(
        "quote",
        "one character",
        '"',
        "The character around a field; inside a field it is written twice.",
        ("quotechar",),
    ),
    FormatOption(
        "escape",
        "one character",
        None,
        "The escape character when a file is read; outputs write a quote twice instead.",
        ("escapechar",),
    ),
    FormatOption(
        "encoding",
        "encoding",
        "utf-8",
        "The encoding of the text, by its Python name; outputs are always UTF-8.",
        ("charset",),
        is_fixed_in_outputs=True,
    ),
    FormatOption(
        "null_value",
        "text",
        "",
        "The unquoted field that is read as NULL; outputs write NULL as an empty field. In a file of one column they "
        'write it as `""`, which is then NULL for numbers, dates and truth values, and for text if the header is in '
        "quotes, too.",
        ("na_values", "nullvalue", "null"),
        is_fixed_in_outputs=True,
    ),
    FormatOption(
        "decimal",
        "one of",
        ".",
        "The decimal separator.",
        ("decimal_separator", "decimalseparator", "dec"),
        choices=(".", ","),
    ),
    FormatOption(
        "bom",
        "true or false",
        False,
        "Whether outputs begin with a byte order mark, so that Excel recognises UTF-8; a file that "
        "is read may have one.",
        ("byte_order_mark", "byteordermark"),
    ),
    _SPREADSHEET_SAFE,
)

_XLSX_OPTIONS = (
    FormatOption(
        "sheet",
        "sheet name",
        None,
        "The sheet to read, required if a workbook has several. Outputs write the rows to it, by default `Data`.",
        ("sheet_name", "sheetname", "worksheet"),
    ),
    FormatOption(
        "header_row",
        "number from 1",
        None,
        "The row that names the columns when a workbook is read; by default the first that is not blank.",
        ("header", "headerrow", "skiprows"),
        is_fixed_in_outputs=True,
    ),
    FormatOption(
        "range",
        "text",
        None,
        "The cells to read, including the header: `A3:F200`, or a name or a table of the workbook.",
        ("area", "cells", "table", "usecols"),
        is_fixed_in_outputs=True,
    ),
    FormatOption(
        "live",
        "true or false",
        False,
        "Whether outputs write the summary rows of aggregates as formulas over a sheet with the detail rows.",
        ("formulas",),
    ),
    FormatOption(
        "long_numbers",
        "one of",
        "refuse",
        "What outputs do with a number of more than 15 digits: `refuse` it, or write its column as `text`.",
        choices=("refuse", "text"),
    ),
    _SPREADSHEET_SAFE,
)


@dataclass(frozen=True, slots=True)
class FormatFacts:
    """What holds for every table of a format; a path that ends in one of `extensions` has this format."""

    extensions: tuple[str, ...] = ()
    options: tuple[FormatOption, ...] = ()
    # Its tables are in a database or catalog, which has a data source of its own; otherwise they are files and folders.
    is_database: bool = False
    # A path with an extension is one file; in formats that say no every table is a folder.
    has_single_files: bool = True
    # A table of a data source may be the file `orders.csv` instead of the folder `orders`.
    has_table_files: bool = False
    # Every output is one file whose name ends so.
    output_extension: str | None = None
    # Tables stay readable as they were before later writes.
    keeps_versions: bool = False
    # Longer names of tables and columns are cut by the database, so that two of them become one.
    max_name_bytes: int | None = None
    # What has to be installed for it: `daybook[extra]`.
    extra: str | None = None

    def is_cut(self, name: str) -> bool:
        return self.max_name_bytes is not None and len(name.encode()) > self.max_name_bytes


_DELTA_OPTIONS = (
    FormatOption(
        "shallow_clones",
        "true or false",
        False,
        "Whether a table may name data files outside of its folder when it is read, as a shallow clone does.",
        ("shallow_clone",),
        is_fixed_in_outputs=True,
    ),
)

FORMATS: dict[str, FormatFacts] = {
    "delta": FormatFacts(("delta",), _DELTA_OPTIONS, has_single_files=False, keeps_versions=True),
    "iceberg": FormatFacts(is_database=True, keeps_versions=True, extra="iceberg"),
    "parquet": FormatFacts(("parquet",)),
    "csv": FormatFacts(("csv",), _CSV_OPTIONS, has_table_files=True),
    "json": FormatFacts(("json", "jsonl", "ndjson"), has_table_files=True),
    "xlsx": FormatFacts(("xlsx", "xlsm"), _XLSX_OPTIONS, has_table_files=True, output_extension="xlsx"),
    "postgresql": FormatFacts(is_database=True, max_name_bytes=63),
    "sqlite": FormatFacts(is_database=True),
    "jdbc": FormatFacts(is_database=True),
    "spark_catalog": FormatFacts(is_database=True, keeps_versions=True, max_name_bytes=255),
}


def file_formats() -> tuple[str, ...]:
    """The formats whose tables are files and folders."""
    return tuple(name for name, facts in FORMATS.items() if not facts.is_database)


def formats_by_extension() -> dict[str, str]:
    """The format that a path with an extension has."""
    return {extension: name for name, facts in FORMATS.items() for extension in facts.extensions}


def _check_file_format(name: str) -> str:
    if name not in file_formats():
        expected = ", ".join(f"'{format_name}'" for format_name in file_formats())
        raise PydanticKnownError("literal_error", {"expected": expected})
    return name


def _list_file_formats(schema: dict[str, Any]) -> None:
    schema["enum"] = list(file_formats())


FileFormat = Annotated[str, AfterValidator(_check_file_format), Field(json_schema_extra=_list_file_formats)]


def option_violations(format_: str, values: Mapping[str, Any], *, is_output: bool = False) -> Iterator[Violation]:
    """Options the format does not have, and values that cannot be used."""
    options = {option.name: option for option in FORMATS[format_].options}
    for name, value in values.items():
        option = options.get(name)
        if option is None:
            yield violation("IO_011", name, hint=_suggest_option(name, options), format=format_, option=name)
        elif not option.accepts(value):
            hint = f"{name} takes {_describe_option(option)}"
            yield violation("IO_011", name, hint=hint, format=format_, option=f"{name}: {value!r}")
        elif is_output and option.is_fixed_in_outputs and not option.is_default(value):
            fixed = f"outputs are written with {name}: {option.default!r}"
            hint = fixed if option.default is not None else f"outputs have no {name}"
            yield violation("IO_011", name, hint=hint, format=f"{format_} output", option=f"{name}: {value!r}")
    if values.get("live") is True and values.get("long_numbers") == "text":
        hint = "formulas compute with numbers, so remove live or long_numbers"
        yield violation("IO_011", "long_numbers", hint=hint, format="xlsx with live", option="long_numbers: 'text'")


def options_schema(schema: dict[str, Any]) -> None:
    """What editors offer: the options of all formats, none of which two formats share with another meaning."""
    schema["properties"] = {
        option.name: _value_schema(option) for facts in FORMATS.values() for option in facts.options
    }
    schema["additionalProperties"] = False


def _value_schema(option: FormatOption) -> dict[str, Any]:
    described: dict[str, Any] = {"description": option.meaning, "default": option.default}
    match option.kind:
        case "one character":
            character: dict[str, Any] = {"type": "string", "minLength": 1, "maxLength": 1}
            return {**described, **({"anyOf": [character, {"type": "null"}]} if option.default is None else character)}
        case "text" | "encoding" | "sheet name":
            return {**described, "type": "string"}
        case "one of":
            return {**described, "enum": list(option.choices)}
        case "true or false":
            return {**described, "type": "boolean"}
        case "number from 1":
            return {**described, "type": "integer", "minimum": 1}


def _suggest_option(name: str, options: Mapping[str, FormatOption]) -> str | None:
    folded = name.casefold()
    for option in options.values():
        if folded in option.elsewhere:
            return f"did you mean {option.name}?"
    return did_you_mean(name, options)


def _describe_option(option: FormatOption) -> str:
    if option.kind == "true or false":
        return option.kind
    if option.kind == "one of":
        return " or ".join(map(repr, option.choices))
    if option.kind == "sheet name":
        return "up to 31 characters without [ ] : * ? / \\ and without ' at its ends"
    example = f", such as {option.default!r}" if option.default else ""
    words = {"encoding": "the name of an encoding", "number from 1": "a number from 1"}
    return f"{words.get(option.kind, option.kind)}{example}"


# What Python counts among its encodings and no file of text is stored in.
_NO_FILE_ENCODINGS = frozenset({"charmap", "idna", "punycode", "raw-unicode-escape", "undefined", "unicode-escape"})


def _codec_name(name: str) -> str | None:
    """What Python calls an encoding of text."""
    try:
        "a".encode(name)
        codec_name = codecs.lookup(name).name
    except (LookupError, ValueError):
        return None
    return None if codec_name.replace("_", "-") in _NO_FILE_ENCODINGS else codec_name
