"""`for_each` makes one definition for each element, and puts in what was written without reading it again."""

import tracemalloc
from decimal import Decimal
from pathlib import Path

import pytest

from daybook.definitions.loading import load_text
from daybook.definitions.loading.loaded_workspace import read_workspace
from daybook.errors import DaybookError, flatten, render

JOURNALS = """
dataset:
  for_each: [{entity: de01, currency: EUR}, {entity: 0010, currency: USD}]
  id: journal-${entity}
  name: Journal of ${entity} in ${currency}, $${entity}
  main_table:
    name: journal
    columns: [{name: amount, type: "decimal(18,2)"}]
    location: {path: "data/${entity}/{{identifier}}.csv"}
"""
CLEAN = """
project:
  for_each: {entity: [de01, us01]}
  id: clean-${entity}
  input: {dataset_id: "journal-${entity}"}
  operations:
    - type: update
      arguments:
        assignments:
          - {column: entity, expression: '"${entity}" + wrong'}
    - type: output
      arguments: {destination: {location: "out/${entity}.csv"}}
"""


def test_each_element_makes_a_definition_with_its_values_as_they_are_written() -> None:
    first, second = load_text(JOURNALS, "journal.yaml")
    assert (first.id, second.id) == ("journal-de01", "journal-0010")
    assert second.model.name == "Journal of 0010 in USD, ${entity}"
    assert second.model.main_table.location.path == "data/0010/{{identifier}}.csv"


def test_one_name_with_a_list_means_the_same_as_a_list_of_mappings() -> None:
    listed = load_text(CLEAN, "a.yaml")
    mapped = load_text(CLEAN.replace("{entity: [de01, us01]}", "[{entity: de01}, {entity: us01}]"), "a.yaml")
    assert [one.model for one in listed] == [one.model for one in mapped]


def test_what_is_put_in_is_not_read_again() -> None:
    """A value that looks like a template, an expression or another type stays the text that it is."""
    text = JOURNALS.replace("{entity: 0010, currency: USD}", '{entity: "true", currency: "null"}')
    assert load_text(text, "a.yaml")[1].model.name == "Journal of true in null, ${entity}"


def test_an_unquoted_name_by_itself_keeps_the_number() -> None:
    text = CLEAN.replace(
        "  operations:", "  parameters:\n    limit:\n      type: decimal\n      default: ${n}\n  operations:"
    )
    text = text.replace("{entity: [de01, us01]}", "[{entity: de01, n: 1.10}, {entity: us01, n: 0.25}]")
    assert [one.model.parameters["limit"].default for one in load_text(text, "a.yaml")] == [
        Decimal("1.10"),
        Decimal("0.25"),
    ]


def test_keys_and_credentials_are_left_alone() -> None:
    text = """
resolver:
  for_each: {entity: [de01]}
  id: of-${entity}
  rules:
    - name: all
      data_level: any
      strategy:
        type: catalog
        endpoint: "https://catalog.example/${entity}"
        method: GET
        headers: {"${entity}": "${entity}"}
        auth: {type: bearer, credential_ref: "env://${entity}"}
"""
    with pytest.raises(DaybookError) as caught:
        load_text(text, "a.yaml")
    # The reference is refused as it stands; a value would have made it one.
    assert all("de01" not in str(error.parameters) for error in flatten(caught.value))


def test_an_error_names_file_line_and_element() -> None:
    text = CLEAN.replace("type: output", "type: outptu")
    with pytest.raises(DaybookError) as caught:
        load_text(text, "clean.yaml")
    (error,) = flatten(caught.value)
    assert error.code == "PROJECT_007"
    assert str(error.span) == "clean.yaml:11:13 (for_each element 1: entity de01; and 1 more)"


def test_an_error_of_one_element_names_that_element() -> None:
    text = JOURNALS.replace("id: journal-${entity}", "id: ${currency}").replace("USD", "-")
    with pytest.raises(DaybookError) as caught:
        load_text(text, "journal.yaml")
    (error,) = flatten(caught.value)
    assert (error.code, str(error.span)) == (
        "MODEL_026",
        "journal.yaml:4:7 (for_each element 2: entity 0010, currency -)",
    )


def test_a_place_in_an_expression_is_the_place_in_the_file() -> None:
    """After the inserted text, which is shorter than its name, columns are still those of the file."""
    project = load_text(CLEAN, "clean.yaml")[1]
    span = project.source.scalar("operations", 0, "arguments", "assignments", 0, "expression")
    assert span is not None
    wrong = span.within(span.text.index("wrong"), span.text.index("wrong") + 5)
    line = CLEAN.split("\n")[wrong.line - 1]
    assert line[wrong.column - 1 :].startswith("wrong")
    assert wrong.used_for == "for_each element 2: entity us01"


def test_a_secret_in_an_element_is_not_shown() -> None:
    text = CLEAN.replace("{entity: [de01, us01]}", "[{entity: de01, password: hunter2}]")
    with pytest.raises(DaybookError) as caught:
        load_text(text.replace("type: output", "type: outptu"), "a.yaml")
    assert "hunter2" not in render(caught.value)


def test_aliases_repeat_what_stands_in_the_document() -> None:
    text = """
dataset:
  id: a
  natural_key_columns: &key [entity, day]
  main_table:
    name: t
    columns:
      - &entity {name: entity, type: string}
      - {name: day, type: date}
    location: {path: a.csv}
---
project:
  id: p
  input: {dataset_id: a}
  operations:
    - {type: aggregate, arguments: {group_by: &by [entity], aggregations: [{column: n, expression: COUNT(*)}]}}
    - {type: output, arguments: {destination: {location: out.csv}, columns: [entity, n], order_by: *by}}
"""
    dataset, project = load_text(text, "a.yaml")
    assert dataset.model.natural_key_columns == ("entity", "day")
    assert project.model.operations[1].arguments.order_by == ("entity",)


def test_an_error_in_what_an_alias_repeats_names_both_places() -> None:
    text = "dataset:\n  id: a\n  main_table:\n    name: t\n    columns:\n      - &x {name: a, type: text}\n      - *x\n"
    with pytest.raises(DaybookError) as caught:
        load_text(text, "a.yaml")
    assert [str(error.span) for error in flatten(caught.value)] == ["a.yaml:6:28", "a.yaml:6:28 (by the alias at 7:9)"]


def test_what_is_made_is_bounded_in_memory() -> None:
    """A text of 60 kB that would make 900 million values is refused within 200 MB."""
    elements = ", ".join(map(str, range(900)))
    values = "&v [" + ", ".join(["x"] * 1000) + "]"
    text = f"dataset:\n  for_each: {{a: [{elements}]}}\n  id: d\n  x: [{values}, {', '.join(['*v'] * 9)}]\n"
    tracemalloc.start()
    with pytest.raises(DaybookError) as caught:
        load_text(text, "a.yaml")
    assert tracemalloc.get_traced_memory()[1] < 200_000_000
    tracemalloc.stop()
    assert "MODEL_090" in [error.code for error in flatten(caught.value)]


def test_ids_that_a_broken_file_may_make_are_not_reported_as_missing(tmp_path: Path) -> None:
    (tmp_path / "daybook.yaml").write_text("name: w\n")
    (tmp_path / "journal.yaml").write_text(JOURNALS.replace("name: journal\n", "nmae: journal\n"))
    workspace, _ = read_workspace(tmp_path)
    assert "journal-de01" in workspace.doubtful
    assert "ledger-de01" not in workspace.doubtful
    (broken,) = workspace.broken
    assert broken.may_define("dataset", "journal-us01")
