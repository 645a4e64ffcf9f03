"""The page about lineage shows what the command shows of the demo."""

import re
from pathlib import Path

import pytest

from daybook.cli.app import main
from daybook.demo.workspace_files import write_workspace
from daybook.workspace.lineage import LineagePicture, trace_columns
from daybook.workspace.mermaid import picture_as_mermaid
from daybook.workspace.open_workspace import open_workspace

PAGE = (Path(__file__).parents[3] / "docs" / "concepts" / "lineage.md").read_text(encoding="utf-8")


@pytest.fixture
def demo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    write_workspace("close", tmp_path / "close")
    monkeypatch.chdir(tmp_path / "close")
    return tmp_path / "close"


@pytest.mark.parametrize("example", re.findall(r"```console\n\$ daybook (.*?)\n```", PAGE, re.S))
def test_the_commands_print_what_the_page_shows(demo: Path, capsys: pytest.CaptureFixture[str], example: str) -> None:
    command, *shown = example.splitlines()
    assert main(command.split()) == 0
    printed = capsys.readouterr().out.splitlines()
    assert shown[-1] == "…"
    assert printed[: len(shown) - 1] == shown[:-1]


def edges(chart: str) -> set[tuple[str, str]]:
    names = dict(re.findall(r'^    (n\d+)\["(.*)"\]$', chart, re.M))
    return {(names[one], names[other]) for one, other in re.findall(r"^    (n\d+) --> (n\d+)$", chart, re.M)}


def test_the_picture_has_the_direct_inputs_of_the_headline(demo: Path) -> None:
    picture = trace_columns(open_workspace(demo), "management-summary", ["actual"], to_start=True).picture
    (root,) = (
        each.number
        for each in picture.nodes
        if each.project_id == "management-summary" and each.seq == 50 and each.role == "output"
    )
    reached, kept = {root}, []
    waiting = [root]
    while waiting:
        target = waiting.pop()
        found = [edge for edge in picture.edges if edge.target == target and edge.kind == "direct"]
        kept += found
        waiting += [edge.source for edge in found if edge.source not in reached]
        reached |= {edge.source for edge in found}
    (shown,) = re.findall(r"```mermaid\n(.*?)```", PAGE, re.S)
    assert edges(shown) == edges(picture_as_mermaid(LineagePicture(picture.nodes, tuple(kept))))
