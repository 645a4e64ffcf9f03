"""What the loader makes of what was evidently meant."""

from decimal import Decimal
from typing import Any

import pytest

from daybook.definitions.loading import MappingNode, compose_documents, load_text
from daybook.definitions.loading.text import decode_utf8
from daybook.errors import DaybookError, flatten
from daybook.model.project import Project
from daybook.model.source_map import plain_value


def operations(text: str) -> Project:
    (definition,) = load_text(f"project:\n  name: P\n  input: {{dataset_id: orders}}\n  operations:\n{text}", "p.yaml")
    model = definition.model
    assert isinstance(model, Project)
    return model


def scalar(text: str) -> Any:
    return plain_value(compose_documents(f"value: {text}\n", "a.yaml").documents[0])["value"]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("on", "on"),
        ("yes", "yes"),
        ("No", "No"),
        ("12:30:45", "12:30:45"),
        ("2026-01", "2026-01"),
        ("2026-01-31", "2026-01-31"),
        ("2026-01-31T00:00:00Z", "2026-01-31T00:00:00Z"),
        ("1_000", "1_000"),
        ("017", 17),
        ("0o17", 15),
        ("0x1F", 31),
        ("-12", -12),
        ("+12", 12),
        ("1.10", Decimal("1.10")),
        (".5", Decimal("0.5")),
        ("1e3", Decimal("1E+3")),
        ("0.1000000000000000000000000001", Decimal("0.1000000000000000000000000001")),
        ("1.", Decimal("1")),
        (".", "."),
        ("+", "+"),
        (".nan", ".nan"),
        ("~", None),
        ("null", None),
        ("True", True),
        ("'true'", "true"),
        ('"12"', "12"),
        ("9" * 101, "9" * 101),
        ("1e999999999", "1e999999999"),
    ],
)
def test_scalars_are_read_as_yaml_1_2_does(text: str, value: object) -> None:
    found = scalar(text)
    assert found == value
    assert type(found) is type(value)


def test_decimals_keep_the_digits_that_were_written() -> None:
    (document,) = compose_documents("rows: [{amount: 100.00}]\n", "a.yaml").documents
    assert isinstance(document, MappingNode)
    assert str(plain_value(document)["rows"][0]["amount"]) == "100.00"


def test_numbers_become_the_text_that_was_written_where_text_is_meant() -> None:
    (definition,) = load_text(
        "dataset:\n  id: 2026\n  name: 1.10\n  main_table:\n    name: 0o17\n    columns: [{name: 1, type: string}]\n",
        "d.yaml",
    )
    dataset = definition.model
    assert (dataset.id, dataset.name, dataset.main_table.name) == ("2026", "1.10", "0o17")
    assert dataset.main_table.columns[0].name == "1"


def test_numbers_as_expressions_and_keys_are_the_text_that_was_written() -> None:
    project = operations(
        "    - {type: update, arguments: {assignments: [{column: rate, expression: 0.10}]}}\n"
        "    - {type: delete, selector: true_flag}\n"
    )
    assert project.operations[0].model_dump()["arguments"]["assignments"][0]["expression"] == "0.10"


def test_list_order_counts_without_seq() -> None:
    project = operations("    - {type: delete, name: first}\n    - {type: delete}\n")
    assert [(one.seq, one.id, one.name) for one in project.operations] == [
        (1, "op-1", "first"),
        (2, "op-2", "delete 2"),
    ]


def test_operations_are_kept_in_the_order_they_execute() -> None:
    project = operations(
        "    - {seq: 30, type: delete}\n    - {order: 10, type: delete}\n    - {seq: 20, type: delete}\n"
    )
    assert [(one.seq, one.id) for one in project.operations] == [(10, "op-10"), (20, "op-20"), (30, "op-30")]


def test_selector_among_the_arguments_moves_to_the_operation() -> None:
    (operation,) = operations(
        "    - {type: update, parameters: {selector: a = 1, assignments: [{column: a, expression: '2'}]}}\n"
    ).operations
    assert operation.model_dump()["selector"] == "a = 1"


def test_id_from_name_and_name_from_id() -> None:
    first, second = load_text(
        "datasource: {name: Großes Lager 2, type: sqlite, options: {path: a}}\n---\n"
        "datasource: {id: Lake_1, type: sqlite, options: {path: a}}\n",
        "d.yaml",
    )
    assert (first.id, first.model.name) == ("gro-es-lager-2", "Großes Lager 2")
    assert (second.id, second.model.name) == ("Lake_1", "Lake_1")


def test_a_name_without_letters_needs_an_id() -> None:
    with pytest.raises(DaybookError) as caught:
        load_text("datasource: {name: 倉庫, type: sqlite, options: {path: a}}\n", "d.yaml")
    assert caught.value.code == "MODEL_027"
    assert caught.value.hint is not None
    assert "write an id" in caught.value.hint


@pytest.mark.parametrize(("written", "meant"), [("selectr", "selector"), ("argumnets", "arguments"), ("sqe", "seq")])
def test_unknown_keys_suggest_the_nearest(written: str, meant: str) -> None:
    with pytest.raises(DaybookError) as caught:
        operations(f"    - {{type: delete, {written}: 1}}\n")
    (error,) = [one for one in flatten(caught.value) if one.code == "MODEL_020"]
    assert error.hint == f"did you mean {meant}?"


def test_a_byte_order_mark_is_no_part_of_the_text() -> None:
    assert decode_utf8(b"\xef\xbb\xbfa: 1", "a.yaml") == "a: 1"


def test_windows_line_ends_keep_places() -> None:
    with pytest.raises(DaybookError) as caught:
        load_text("datasource:\r\n  id: a\r\n  type: sqlite\r\n  optoins: {path: a}\r\n", "d.yaml")
    error = next(one for one in flatten(caught.value) if one.code == "MODEL_020")
    assert error.span is not None
    assert (error.span.line, error.span.column) == (4, 3)


@pytest.mark.parametrize("open_", ["[", "{a: "])
def test_nesting_is_bounded(open_: str) -> None:
    with pytest.raises(DaybookError) as caught:
        load_text(f"dataset: {open_ * 100_000}", "d.yaml")
    assert caught.value.code == "MODEL_008"
    with pytest.raises(DaybookError) as caught:
        load_text('{"dataset": ' + "[" * 100_000, "d.json")
    assert caught.value.code == "MODEL_008"


def test_fifty_levels_are_fine() -> None:
    assert not compose_documents("[" * 50 + "]" * 50, "a.yaml").errors
    assert not compose_documents("[" * 50 + "]" * 50, "a.json").errors
    assert [error.code for error in compose_documents("[" * 51 + "]" * 51, "a.yaml").errors] == ["MODEL_008"]
    assert [error.code for error in compose_documents("[" * 51 + "]" * 51, "a.json").errors] == ["MODEL_008"]


def test_tabs_are_named() -> None:
    with pytest.raises(DaybookError) as caught:
        load_text("dataset:\n\tid: a\n", "d.yaml")
    assert caught.value.code == "MODEL_009"
    assert caught.value.span is not None
    assert (caught.value.span.line, caught.value.span.column) == (2, 1)


@pytest.mark.parametrize(
    ("written", "meant"),
    [("int", "integer"), ("VARCHAR", "string"), ("datetime", "timestamp"), ("bool", "boolean"), ("decimla", "decimal")],
)
def test_unknown_types_suggest_ours(written: str, meant: str) -> None:
    with pytest.raises(DaybookError) as caught:
        load_text(f"dataset: {{id: d, main_table: {{name: t, columns: [{{name: a, type: {written}}}]}}}}\n", "d.yaml")
    assert (caught.value.code, caught.value.hint) == ("MODEL_040", f"did you mean {meant}?")


def test_a_place_covers_the_whole_of_a_flow_collection() -> None:
    with pytest.raises(DaybookError) as caught:
        load_text("datasource: {id: a, type: sqlite, options: [1, 2]}\n", "d.yaml")
    span = caught.value.span
    assert span is not None
    assert span.text[span.start : span.end] == "[1, 2]"
