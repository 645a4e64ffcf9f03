"""What is found in the formats and options of files before anything is read or written."""

from typing import Any

import pytest
import yaml

from daybook.definitions.loading.definition_texts import load_text
from daybook.errors import DaybookError
from daybook.io.bindings import checked_options
from daybook.model.formats import FORMATS
from daybook.resolve.definition_checks import format_errors

COLUMNS = [{"name": "a", "type": "string"}]


def dataset(location: Any) -> dict[str, Any]:
    return {"dataset": {"id": "d", "main_table": {"name": "d", "columns": COLUMNS, "location": location}}}


def datasource(type_: str, options: dict[str, Any]) -> dict[str, Any]:
    return {"datasource": {"id": "files", "type": type_, "options": {"path": "files", "options": options}}}


def output(location: Any) -> dict[str, Any]:
    written = {"type": "output", "arguments": {"destination": {"location": location}}}
    return {"project": {"id": "p", "input": {"dataset_id": "d"}, "operations": [written]}}


def found(definition: dict[str, Any]) -> list[DaybookError]:
    (loaded,) = load_text(yaml.safe_dump(definition), "some.yaml")
    return list(format_errors(loaded.model, loaded.source))


def marked(error: DaybookError) -> str:
    assert error.span is not None
    assert error.span.file == "some.yaml"
    return error.span.text[error.span.start : error.span.end]


@pytest.mark.parametrize(("mode", "code"), [("append", "IO_022"), ("replace_period", "IO_032")])
def test_one_file_holds_what_one_run_wrote(mode: str, code: str) -> None:
    def written(location: Any) -> list[DaybookError]:
        definition = output(location)
        definition["project"]["operations"][0]["arguments"]["mode"] = mode
        return found(definition)

    (error,) = written("out/x.csv")
    assert (error.code, marked(error)) == (code, mode)
    assert written({"path": "out/x", "format": "csv"}) == written({"path": "out/x.v1", "format": "delta"}) == []


@pytest.mark.parametrize(
    ("definition", "option", "hint"),
    [
        (dataset({"path": "d.csv", "options": {"sep": ";"}}), "sep", "did you mean delimiter?"),
        (
            dataset({"path": "d", "format": "csv", "options": {"delimeter": ";"}}),
            "delimeter",
            "did you mean delimiter?",
        ),
        (datasource("csv", {"Charset": "utf-8"}), "Charset", "did you mean encoding?"),
        (output({"path": "out.csv", "options": {"header": True}}), "header", None),
        (output({"path": "out.json", "options": {"delimiter": ";"}}), "delimiter", None),
        (dataset({"path": "d.parquet", "options": {"compression": "zstd"}}), "compression", None),
    ],
)
def test_an_option_the_format_does_not_have(definition: dict[str, Any], option: str, hint: str | None) -> None:
    (error,) = found(definition)
    assert (error.code, error.parameters["option"], marked(error)) == ("IO_011", option, option)
    if hint is not None:
        assert error.hint == hint


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("delimiter", ";;"),
        ("delimiter", ""),
        ("delimiter", "\n"),
        ("delimiter", "→"),
        ("delimiter", 5),
        ("quote", None),
        ("escape", "ab"),
        ("encoding", "utf-88"),
        ("encoding", "hex"),
        ("null_value", 0),
        ("spreadsheet_safe", "yes"),
    ],
)
def test_a_value_that_cannot_be_used(name: str, value: object) -> None:
    (error,) = found(datasource("csv", {name: value}))
    assert (error.code, marked(error)) == ("IO_011", name)
    assert error.hint
    assert name in error.hint
    with pytest.raises(DaybookError) as caught:
        checked_options("csv", {name: value})
    assert (caught.value.code, caught.value.parameters) == (error.code, error.parameters)


@pytest.mark.parametrize(("name", "value"), [("encoding", "latin-1"), ("null_value", "NULL")])
def test_what_only_readers_may_choose(name: str, value: str) -> None:
    options = {name: value}
    assert found(dataset({"path": "d.csv", "options": options})) == []
    (error,) = found(output({"path": "out.csv", "options": options}))
    assert (error.code, error.parameters["format"], marked(error)) == ("IO_011", "csv output", name)


def test_every_default_is_a_value_that_can_be_used() -> None:
    for format_, facts in FORMATS.items():
        defaults = {option.name: option.default for option in facts.options}
        assert checked_options(format_, defaults, is_output=True) == defaults
    assert checked_options("csv", {"encoding": "UTF8", "delimiter": "\t"}, is_output=True)["delimiter"] == "\t"


@pytest.mark.parametrize("location", ["out/x.ods", {"path": "out/{{identifier}}"}, {"path": "out/rep.{{MM}}"}])
def test_a_format_that_cannot_be_told(location: Any) -> None:
    for definition in (dataset(location), output(location)):
        (error,) = found(definition)
        assert (error.code, marked(error).strip("'")) == ("RESOLVE_037", error.parameters["path"])
        assert ".csv" in str(error.hint)


def test_what_is_right() -> None:
    for location in ("out/{{identifier}}.csv", {"path": "out/rep.{{MM}}", "format": "csv"}):
        assert found(dataset(location)) == found(output(location)) == []


@pytest.mark.parametrize(
    "location", [{"path": "out/x", "format": "xlsx"}, {"path": "out/x.xlsm"}, {"path": "out/x.csv", "format": "xlsx"}]
)
def test_a_workbook_is_written_to_a_file_that_is_named_like_one(location: dict[str, Any]) -> None:
    (error,) = found(output(location))
    assert (error.code, error.hint) == ("IO_056", "write to a path that ends in .xlsx")
    assert found(dataset(location)) == []
    assert found(output("out/{{identifier}}.xlsx")) == []


@pytest.mark.parametrize(
    ("options", "hint"),
    [
        ({"sheet": "a/b"}, "sheet takes up to 31 characters without [ ] : * ? / \\ and without ' at its ends"),
        ({"sheet": "x" * 32}, "sheet takes up to 31 characters without [ ] : * ? / \\ and without ' at its ends"),
        ({"header_row": 0}, "header_row takes a number from 1"),
        ({"long_numbers": "cut"}, "long_numbers takes 'refuse' or 'text'"),
        ({"sheet_name": "Budget"}, "did you mean sheet?"),
    ],
)
def test_options_of_workbooks_are_checked(options: dict[str, Any], hint: str) -> None:
    for definition in (dataset({"path": "d.xlsx", "options": options}), output({"path": "d.xlsx", "options": options})):
        (error,) = found(definition)
        assert (error.code, error.hint) == ("IO_011", hint)


def test_a_written_workbook_has_its_header_in_the_first_row() -> None:
    for options in ({"header_row": 3}, {"range": "A3:F9"}):
        (error,) = found(output({"path": "d.xlsx", "options": options}))
        assert (error.code, error.hint) == ("IO_011", f"outputs have no {next(iter(options))}")


def test_live_workbooks_keep_no_numbers_as_text() -> None:
    (error,) = found(output({"path": "d.xlsx", "options": {"live": True, "long_numbers": "text"}}))
    assert (error.code, marked(error)) == ("IO_011", "long_numbers")
