"""Parameters: declared with a type, given as text or as values of Python, exactly."""

import datetime
from decimal import Decimal
from typing import Any

import pytest

from daybook.definitions.loading import load_text
from daybook.errors import DaybookError, flatten
from daybook.model.parameter import Parameter, by_project, parameter_texts, parameter_values, parse_settings, read_value
from daybook.model.serialization import encode_definition
from daybook.model.types import Value, parse_type

NAIVE = datetime.datetime.fromisoformat("2026-01-31T10:00:00")

PROJECT = """
project:
  id: close
  input: {dataset_id: orders}
  parameters:
    %s
  operations:
    - {type: output, arguments: {destination: {location: out.csv}}}
"""


def load(parameters: str) -> Any:
    (definition,) = load_text(PROJECT % parameters, "close.yaml")
    return definition


def findings(parameters: str) -> list[DaybookError]:
    with pytest.raises(DaybookError) as caught:
        load(parameters)
    return list(flatten(caught.value))


@pytest.mark.parametrize(
    ("type_", "given", "value"),
    [
        ("string", "", ""),
        ("string", "a'); DROP TABLE x; --", "a'); DROP TABLE x; --"),
        ("integer", "-12", -12),
        ("integer", 9223372036854775807, 2**63 - 1),
        ("decimal", "250", Decimal(250)),
        ("decimal(5,2)", "999.99", Decimal("999.99")),
        ("decimal(5,2)", "1.500", Decimal("1.5")),
        ("decimal(5,2)", 7, Decimal(7)),
        ("decimal(2,2)", "0.25", Decimal("0.25")),
        ("float", "1e-3", 0.001),
        ("float", 2, 2.0),
        ("boolean", "TRUE", True),
        ("boolean", False, False),
        ("date", "2024-02-29", datetime.date(2024, 2, 29)),
        ("date", datetime.date(2026, 1, 31), datetime.date(2026, 1, 31)),
        ("timestamp", "2026-01-31T12:00:00+02:00", datetime.datetime(2026, 1, 31, 10, tzinfo=datetime.UTC)),
        ("timestamp", "2026-01-31", datetime.datetime(2026, 1, 31, tzinfo=datetime.UTC)),
        ("timestamp", NAIVE, datetime.datetime(2026, 1, 31, 10, tzinfo=datetime.UTC)),
    ],
)
def test_a_value_is_read_exactly_in_its_type(type_: str, given: object, value: object) -> None:
    found = read_value(given, parse_type(type_))
    assert (found, type(found)) == (value, type(value))


@pytest.mark.parametrize(
    ("type_", "given"),
    [
        ("string", 7),
        ("string", "\ud800"),
        ("integer", "1.0"),
        ("integer", "9223372036854775808"),
        ("integer", True),
        ("integer", ""),
        ("decimal(5,2)", "1.005"),
        ("decimal(5,2)", "1000"),
        ("decimal(5,2)", 0.1),
        ("decimal", "1e5"),
        ("decimal", Decimal("NaN")),
        ("decimal", True),
        ("decimal", "NULL"),
        ("float", "nan"),
        ("float", "1e999"),
        ("boolean", "yes"),
        ("boolean", 1),
        ("date", "2026-02-30"),
        ("date", NAIVE),
        ("date", "31.01.2026"),
        ("timestamp", "2026-01-31T25:00:00Z"),
        ("timestamp", datetime.date(2026, 1, 31)),
    ],
)
def test_what_is_not_exactly_a_value_of_the_type_is_refused(type_: str, given: object) -> None:
    with pytest.raises(ValueError, match=r"."):
        read_value(given, parse_type(type_))


def test_recorded_texts_give_the_same_values_again() -> None:
    declared = {
        name: Parameter.model_validate({"type": type_})
        for name, type_ in {"a": "decimal(18,2)", "b": "timestamp", "c": "float", "d": "boolean", "e": "string"}.items()
    }
    moment = datetime.datetime(2026, 1, 31, 10, 30, 0, 123456, tzinfo=datetime.UTC)
    values: dict[str, Value] = {"a": Decimal("1.20"), "b": moment, "c": 0.1, "d": False, "e": 'x"\n'}
    assert parameter_values("p", declared, parameter_texts(values)) == values


def test_a_default_is_a_value_of_its_type() -> None:
    project = load("threshold: {type: 'decimal(18,2)', default: 100.00}").model
    assert project.parameters["threshold"].default == Decimal("100.00")


def test_a_default_of_another_type_points_at_it() -> None:
    (error,) = findings("threshold: {type: 'decimal(18,2)', default: 100.005}")
    assert (error.code, error.parameters["value"]) == ("PROJECT_048", "100.005")
    assert error.span is not None
    assert error.span.line == 6


def test_a_parameter_is_named_like_a_column_in_an_expression() -> None:
    (error,) = findings("my-threshold: {type: decimal}")
    assert (error.code, error.parameters["name"]) == ("PROJECT_047", "my-threshold")


def test_an_unknown_key_of_a_parameter_is_an_error_with_the_key_that_was_meant() -> None:
    (error,) = findings("threshold: {type: decimal, defualt: 5}")
    assert error.hint is not None
    assert "default" in error.hint


def test_a_description_is_no_change_of_the_structure_but_a_default_is() -> None:
    digests = [
        encode_definition("project", load(text).model).structure_digest
        for text in (
            "description: {type: integer, default: 1}",
            "description: {type: integer, default: 1, description: how many}",
            "description: {type: integer, default: 2}",
        )
    ]
    assert digests[0] == digests[1] != digests[2]


def test_a_run_must_give_what_has_no_default_and_only_what_is_declared() -> None:
    declared = load("{a: {type: integer}, b: {type: integer, default: 2}}").model.parameters
    assert parameter_values("close", declared, {"a": "1"}) == {"a": 1, "b": 2}
    with pytest.raises(DaybookError) as caught:
        parameter_values("close", declared, {"c": "1", "b": "x"})
    assert [error.code for error in flatten(caught.value)] == ["RUN_047", "RUN_048", "RUN_049"]


def test_settings_of_a_command_line_have_a_name_and_a_value_each_name_once() -> None:
    assert parse_settings(["a=1", "b=", "c=x=y"]) == {"a": "1", "b": "", "c": "x=y"}
    for words in (["a"], ["=1"], ["a=1", "a=2"]):
        with pytest.raises(DaybookError) as caught:
            parse_settings(words)
        assert caught.value.code == "RUN_050"


def test_a_build_names_the_project_which_may_have_dots() -> None:
    assert by_project({"close.v2.threshold": "250"}) == {"close.v2": {"threshold": "250"}}
    with pytest.raises(DaybookError) as caught:
        by_project({"threshold": "250"})
    assert caught.value.code == "RUN_050"
