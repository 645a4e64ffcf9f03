"""The example for Dagster with the program itself: its job builds a small workspace with Spark."""

import os
import sys
from pathlib import Path

import pytest

from daybook.workspace.close import close_status
from daybook.workspace.lifecycle import activate_projects
from daybook.workspace.open_workspace import open_workspace
from tests.unit.docs.test_examples import RUN_JOB, orchestrated
from tests.workspaces import Folder, assign, to_table


def test_the_job_of_dagster_builds_the_numbers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the last node reads has been written by the first."""
    program = tmp_path / "bin" / "daybook"
    program.parent.mkdir()
    path = os.pathsep.join(sys.path)
    program.write_text(f'#!/bin/sh\nPYTHONPATH={path!r} exec {sys.executable} -m daybook "$@"\n')
    program.chmod(0o755)
    chain = Folder.for_commands(tmp_path / "w")
    chain.project(assign("x", "1"), to_table(register_as_dataset="booked"), id_="maker")
    chain.project(to_table("copy"), id_="reader", input_="booked")
    activate_projects(open_workspace(chain.root))
    monkeypatch.setenv("DAYBOOK_WORKSPACE", str(chain.root))
    monkeypatch.setenv("DAYBOOK_PERIOD", "2026-01")
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")

    assert orchestrated("dagster", RUN_JOB) == "True"

    nodes = close_status(open_workspace(chain.root), period="2026-01").nodes
    assert {each.node.project: each.state for each in nodes} == {"maker": "fresh", "reader": "fresh"}
    assert sorted(row["order_id"] for row in chain.table("copy")) == ["O-1", "O-2", "O-3"]
