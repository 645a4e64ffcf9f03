"""Codes and the places that raise them agree: every code exists, gets its parameters, and is raised somewhere."""

import ast
import re
import string
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import typer.main

from daybook.cli.app import app
from daybook.errors import CODES, FAMILIES, Code, DaybookError, notice

SOURCES = Path(__file__).parents[3] / "src" / "daybook"
RAISING = {"DaybookError", "notice", "finding"}
ATTRIBUTES = {"span", "hint", "operation_seq", "causes"}
TESTS = Path(__file__).parents[2]
# A test that creates an error itself does not show that the product raises it.
CREATING = {"DaybookError", "notice", "Notice", "finding"}
CODE_NAME = re.compile(r"\b[A-Z]+_\d{3}\b")
EXPECTED_IN_FIXTURE = re.compile(r"(?:error: |⟦|\[)([A-Z]+_\d{3})\b")


@dataclass(frozen=True, slots=True)
class Raise:
    place: str
    code: str
    given: frozenset[str]
    has_more: bool


@cache
def raises() -> tuple[Raise, ...]:
    """Every call in the sources that words a code and names it literally."""
    return tuple(_raises())


def _raises() -> Iterator[Raise]:
    for path in sorted(SOURCES.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and _name(node.func) in RAISING and node.args:
                code = node.args[0]
                if isinstance(code, ast.Constant) and isinstance(code.value, str):
                    given = {keyword.arg for keyword in node.keywords if keyword.arg is not None}
                    has_more = any(keyword.arg is None for keyword in node.keywords)
                    place = f"{path.relative_to(SOURCES)}:{node.lineno}"
                    yield Raise(place, code.value, frozenset(given), has_more)


def _name(function: ast.expr) -> str:
    return function.id if isinstance(function, ast.Name) else ""


def placeholders(template: str) -> set[str]:
    return {field.split(".")[0].split("[")[0] for _, field, _, _ in string.Formatter().parse(template) if field}


def test_codes_get_the_parameters_of_their_messages() -> None:
    found = raises()
    assert len(found) > 100
    unknown = [one for one in found if one.code not in CODES]
    assert unknown == []
    short = [
        one for one in found if not one.has_more and not placeholders(CODES[one.code].message) <= one.given - ATTRIBUTES
    ]
    assert short == []


def test_the_sources_raise_exactly_the_codes_that_can_be_raised() -> None:
    texts = [path.read_text(encoding="utf-8") for path in SOURCES.rglob("*.py") if path.parent.name != "codes"]
    unused = {code for code in CODES if not any(f'"{code}"' in text for text in texts)}
    assert unused == {code for code, entry in CODES.items() if not entry.is_raised}


def test_a_replaced_code_names_codes_that_are_raised() -> None:
    for code, entry in CODES.items():
        assert all(CODES[replacement].is_raised for replacement in entry.replaced_by), code
        assert all(replacement in entry.explanation for replacement in entry.replaced_by), code


def test_every_code_is_expected_by_a_test() -> None:
    expected = _expected_codes()
    assert sorted(code for code, entry in CODES.items() if entry.is_raised and code not in expected) == []


def _expected_codes() -> set[str]:
    """The codes that tests expect: in strings of Python, as the error of a scenario, as a mark in a golden file."""
    expected: set[str] = set()
    for path in TESTS.rglob("*.py"):
        for text in _expecting_strings(ast.parse(path.read_text(encoding="utf-8"))):
            expected.update(CODE_NAME.findall(text))
    for path in (*TESTS.rglob("*.yaml"), *TESTS.rglob("*.txt")):
        expected.update(EXPECTED_IN_FIXTURE.findall(path.read_text(encoding="utf-8", errors="replace")))
    return expected


def _expecting_strings(module: ast.Module) -> Iterator[str]:
    """The strings of a module without its docstrings and without the errors that it creates itself."""
    created = {
        argument
        for node in ast.walk(module)
        if isinstance(node, ast.Call) and _name(node.func) in CREATING
        for argument in node.args
    }
    for node in ast.walk(module):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            created.add(node.value)
    for node in ast.walk(module):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in created:
            yield node.value


def test_codes_are_told_apart_and_explained() -> None:
    assert sum(len(family) for family in FAMILIES) == len(CODES)
    for name, code in CODES.items():
        assert name == code.code
        assert code.explanation.endswith("."), name
        assert not code.message.endswith("."), name


@pytest.mark.parametrize("code", [code for code in CODES.values() if code.hint], ids=lambda code: code.code)
def test_a_hint_goes_on_after_the_colon(code: Code) -> None:
    """`hint: write it so`: no capital unless it is a name, no full stop."""
    assert code.hint is not None
    first = code.hint.split()[0]
    assert first[0].islower() or first.isupper() or not first[0].isalpha()
    assert not code.hint.endswith(".") or code.hint.endswith("...")


def test_codes_get_the_parameters_of_their_hints() -> None:
    hinted = [one for one in raises() if CODES[one.code].hint and not one.has_more and "hint" not in one.given]
    assert hinted
    assert [one for one in hinted if not placeholders(CODES[one.code].hint or "") <= one.given - ATTRIBUTES] == []


@pytest.mark.parametrize("code", [code for code in CODES.values() if code.hint], ids=lambda code: code.code)
def test_a_hint_is_worded_with_parameters_of_the_message(code: Code) -> None:
    """Where parameters are handed on, only the message's are sure to be there."""
    assert placeholders(code.hint or "") <= placeholders(code.message)
    assert code.format_hint(dict.fromkeys(placeholders(code.message), 1))


def test_hints_are_worded() -> None:
    expected = "write amount, or choose another name"
    assert DaybookError("PROJECT_023", column="Amount", existing="amount").hint == expected
    assert notice("PROJECT_023", column="Amount", existing="amount").hint == expected
    assert (DaybookError("OUTPUT_003", reason="").hint or "").endswith("or destination: {location: ...}")


def test_commands_that_hints_name_exist_with_their_options() -> None:
    named = [(code, command) for code, entry in CODES.items() for command in COMMAND.findall(entry.hint or "")]
    assert len(named) > 30
    wrong = [(code, command) for code, command in named if not _takes_options(command)]
    assert wrong == []


COMMAND = re.compile(r"`daybook ([^`]+)`")


def _takes_options(written: str) -> bool:
    """Whether the command, below its groups, has every option that is written."""
    command: Any = typer.main.get_command(app)
    for word in (words := written.split()):
        if not hasattr(command, "commands") or word not in command.commands:
            break
        command = command.commands[word]
    known = {option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)}
    return {word.partition("=")[0] for word in words if word.startswith("-")} <= known
