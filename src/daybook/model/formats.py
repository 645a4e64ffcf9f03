"""The formats of files: their extensions and the options each takes; checks, readers, writers and pages go by it."""

import codecs
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from daybook.errors.suggestion import did_you_mean
from daybook.model.declaration import Violation, violation

FileFormat = Literal["delta", "parquet", "csv", "json", "xlsx"]
OptionKind = Literal["one character", "text", "encoding", "one of", "number from 1", "true or false", "sheet name"]

FORMAT_BY_EXTENSION: Mapping[str, FileFormat] = {
    "csv": "csv",
    "json": "json",
    "jsonl": "json",
    "ndjson": "json",
    "parquet": "parquet",
    "delta": "delta",
    "xlsx": "xlsx",
    "xlsm": "xlsx",
}


_SHEET_NAME = re.compile(r"(?!')[^\[\]:*?/\\\x00-\x1f]{1,31}(?<!')")
_VERSIONED_FORMATS = frozenset({"delta"})


def keeps_versions(format_: str) -> bool:
    """Whether tables stay readable as they were before later writes."""
    return format_ in _VERSIONED_FORMATS


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
    "Whether outputs put `'` before text and column names that a spreadsheet would take for a formula.",
)

FORMAT_OPTIONS: Mapping[str, tuple[FormatOption, ...]] = {
    "csv": (
        FormatOption(
            "delimiter", "one character", ",", "What stands between two fields.", ("sep", "separator", "fieldsep")
        ),
        FormatOption(
            "quote", "one character", '"', "What encloses a field; doubled, it stands for itself.", ("quotechar",)
        ),
        FormatOption(
            "escape",
            "one character",
            None,
            "What makes the character after it a plain one, when a file is read; outputs double the quote.",
            ("escapechar",),
        ),
        FormatOption(
            "encoding",
            "encoding",
            "utf-8",
            "How text is stored, by its Python name; outputs are always UTF-8.",
            ("charset",),
            is_fixed_in_outputs=True,
        ),
        FormatOption(
            "null_value",
            "text",
            "",
            "The unquoted field that is read as NULL; outputs write NULL as an empty field.",
            ("na_values", "nullvalue", "null"),
            is_fixed_in_outputs=True,
        ),
        FormatOption(
            "decimal",
            "one of",
            ".",
            "What stands before the fraction of a decimal or float.",
            ("decimal_separator", "decimalseparator", "dec"),
            choices=(".", ","),
        ),
        FormatOption(
            "bom",
            "true or false",
            False,
            "Whether outputs begin with a byte order mark, by which Excel knows UTF-8; a file that is read may.",
            ("byte_order_mark", "byteordermark"),
        ),
        _SPREADSHEET_SAFE,
    ),
    "json": (),
    "parquet": (),
    "delta": (),
    "xlsx": (
        FormatOption(
            "sheet",
            "sheet name",
            None,
            "The sheet to read, needed where a workbook has several; outputs write the rows to it, by default `Data`.",
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
            "The cells to read, their header included: `A3:F200`, or a name or a table of the workbook.",
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
    ),
}


def option_violations(format_: str, given: Mapping[str, Any], *, is_output: bool = False) -> Iterator[Violation]:
    """Options the format does not have, and values that cannot be used."""
    known = {option.name: option for option in FORMAT_OPTIONS[format_]}
    for name, value in given.items():
        option = known.get(name)
        if option is None:
            yield violation("IO_011", name, hint=_suggest_option(name, known), format=format_, option=name)
        elif not option.accepts(value):
            hint = f"{name} takes {_describe_option(option)}"
            yield violation("IO_011", name, hint=hint, format=format_, option=f"{name}: {value!r}")
        elif is_output and option.is_fixed_in_outputs and not option.is_default(value):
            fixed = f"outputs are written with {name}: {option.default!r}"
            hint = fixed if option.default is not None else f"outputs have no {name}"
            yield violation("IO_011", name, hint=hint, format=f"{format_} output", option=f"{name}: {value!r}")
    if given.get("live") is True and given.get("long_numbers") == "text":
        hint = "formulas compute with numbers, so leave out live or long_numbers"
        yield violation("IO_011", "long_numbers", hint=hint, format="xlsx with live", option="long_numbers: 'text'")


def options_schema(schema: dict[str, Any]) -> None:
    """What editors offer: the options of all formats, none of which two formats share with another meaning."""
    schema["properties"] = {
        option.name: _value_schema(option) for options in FORMAT_OPTIONS.values() for option in options
    }
    schema["additionalProperties"] = False


def _value_schema(option: FormatOption) -> dict[str, Any]:
    described: dict[str, Any] = {"description": option.meaning, "default": option.default}
    match option.kind:
        case "one character":
            one: dict[str, Any] = {"type": "string", "minLength": 1, "maxLength": 1}
            return {**described, **({"anyOf": [one, {"type": "null"}]} if option.default is None else one)}
        case "text" | "encoding" | "sheet name":
            return {**described, "type": "string"}
        case "one of":
            return {**described, "enum": list(option.choices)}
        case "true or false":
            return {**described, "type": "boolean"}
        case "number from 1":
            return {**described, "type": "integer", "minimum": 1}


def _suggest_option(name: str, known: Mapping[str, FormatOption]) -> str | None:
    folded = name.casefold()
    for option in known.values():
        if folded in option.elsewhere:
            return f"did you mean {option.name}?"
    return did_you_mean(name, known)


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
        found = codecs.lookup(name).name
    except (LookupError, ValueError):
        return None
    return None if found.replace("_", "-") in _NO_FILE_ENCODINGS else found
