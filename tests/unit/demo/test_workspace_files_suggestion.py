"""What the demonstration suggests to break breaks as it says."""

import json
import re
from pathlib import Path

import pytest

from daybook.cli.app import main
from daybook.cli.demo import show_next_steps
from daybook.demo.workspace_files import make_demo_workspace
from tests.unit.cli.test_run_results import RESULT


def test_the_mistake_is_found_at_its_place(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "demo"
    make_demo_workspace(folder)
    show_next_steps(folder, [RESULT])
    hint = " ".join(capsys.readouterr().err.split())
    suggested = re.search(r"in (\S+), operation (\d+), write the expression (.+?), and run `daybook validate`", hint)
    assert suggested is not None
    path, seq, wrong = suggested.groups()
    text = (folder / path).read_text(encoding="utf-8")
    right = wrong.replace("amout", "amount")
    assert text.count(right) == 1
    (folder / path).write_text(text.replace(right, wrong), encoding="utf-8")
    assert main(["validate", "-w", str(folder), "--json"]) == 2
    errors = json.loads(capsys.readouterr().out)["errors"]
    assert errors[0]["operation_seq"] == int(seq)
    assert "amout" in errors[0]["message"]
    assert errors[0]["hint"] == "did you mean amount?"


def test_it_says_how_to_open_the_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    show_next_steps(tmp_path, [RESULT])
    hint = capsys.readouterr().err
    assert re.search(r"^  daybook serve +# all of it in a browser$", hint, re.MULTILINE)
    assert re.search(r"^  daybook report close@2026-01 +# ", hint, re.MULTILINE)
