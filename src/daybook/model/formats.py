"""The formats of files: their extensions and the options each takes; checks, readers, writers and pages go by it."""

import codecs
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from daybook.errors.suggestion import did_you_mean
from daybook.model.declaration import Violation, violation

FileFormat = Literal["delta", "parquet", "csv", "json"]
OptionKind = Literal["one character", "text", "encoding", "point or comma", "true or false"]

FORMAT_BY_EXTENSION: Mapping[str, FileFormat] = {
    "csv": "csv",
    "json": "json",
    "jsonl": "json",
    "ndjson": "json",
    "parquet": "parquet",
    "delta": "delta",
}


@dataclass(frozen=True, slots=True)
class FormatOption:
    """An option of a format; `elsewhere` is what other tools call it."""

    name: str
    kind: OptionKind
    default: str | bool | None
    meaning: str
    elsewhere: tuple[str, ...] = ()
    # Outputs are written with the default and nothing else.
    is_fixed_in_outputs: bool = False

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
            case "point or comma":
                return value in (".", ",")
            case "true or false":
                return isinstance(value, bool)

    def is_default(self, value: object) -> bool:
        if self.kind == "encoding":
            return _codec_name(str(value)) == self.default
        return value == self.default


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
            "point or comma",
            ".",
            "What stands before the fraction of a decimal or float.",
            ("decimal_separator", "decimalseparator", "dec"),
        ),
        FormatOption(
            "bom",
            "true or false",
            False,
            "Whether outputs begin with a byte order mark, by which Excel knows UTF-8; a file that is read may.",
            ("byte_order_mark", "byteordermark"),
        ),
        FormatOption(
            "spreadsheet_safe",
            "true or false",
            False,
            "Whether outputs put `'` before text and column names that a spreadsheet would take for a formula.",
        ),
    ),
    "json": (),
    "parquet": (),
    "delta": (),
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
            hint = f"outputs are written with {name}: {option.default!r}"
            yield violation("IO_011", name, hint=hint, format=f"{format_} output", option=f"{name}: {value!r}")


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
        case "text" | "encoding":
            return {**described, "type": "string"}
        case "point or comma":
            return {**described, "enum": [".", ","]}
        case "true or false":
            return {**described, "type": "boolean"}


def _suggest_option(name: str, known: Mapping[str, FormatOption]) -> str | None:
    folded = name.casefold()
    for option in known.values():
        if folded in option.elsewhere:
            return f"did you mean {option.name}?"
    return did_you_mean(name, known)


def _describe_option(option: FormatOption) -> str:
    if option.kind == "true or false":
        return option.kind
    if option.kind == "point or comma":
        return "'.' or ','"
    example = f", such as {option.default!r}" if option.default else ""
    return f"{'the name of an encoding' if option.kind == 'encoding' else option.kind}{example}"


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
