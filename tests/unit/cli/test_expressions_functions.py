import json

import pytest

from daybook.cli.app import main
from daybook.expression.functions.function_table import FUNCTIONS


def test_the_list_names_every_function(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["functions"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert all(any(line.startswith(f"{name}(") for line in lines) for name in FUNCTIONS)
    assert "ROUND(number, [places])" in "\n".join(lines)


def test_one_function_with_its_example(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["functions", "avg"]) == 0
    assert "ROUND(AVG(x), 2) = 1.67   over 1, 2, 2, NULL" in capsys.readouterr().out


def test_json_for_machines(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["functions", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert {entry["name"] for entry in listed} == set(FUNCTIONS)
    assert {entry["name"] for entry in listed if entry["is_aggregate"]} >= {"SUM", "COUNT"}


def test_an_unknown_function_is_wrong_input(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["functions", "roud"]) == 2
    shown = capsys.readouterr().err
    assert "EXPR_014" in shown
    assert "did you mean ROUND?" in shown
