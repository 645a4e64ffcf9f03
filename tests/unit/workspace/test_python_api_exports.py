"""What `import daybook` gives: exactly what the page on Python documents, and no more."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import daybook
from daybook.demo.workspace_files import write_workspace
from daybook.workspace import open_workspace

WORKSPACE = Path(open_workspace.__file__).parent
PAGE = Path(__file__).parents[3] / "docs" / "reference" / "api.md"


def test_the_export_list_is_the_documented_one() -> None:
    documented = PAGE.read_text(encoding="utf-8").partition("## Names\n")[2].partition("are public")[0]
    assert re.findall(r"`(\w+)`", documented) == daybook.__all__


@pytest.mark.parametrize("name", daybook.__all__)
def test_every_name_is_there(name: str) -> None:
    assert getattr(daybook, name).__name__ == name


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="nothing"):
        daybook.nothing  # noqa: B018


def test_every_member_of_a_workspace_and_a_run_is_documented() -> None:
    page = PAGE.read_text(encoding="utf-8")
    for owner in (daybook.Workspace, daybook.Run):
        for name in vars(owner):
            if not name.startswith("_"):
                assert re.search(rf"^\| `{name}[(`]", page, re.MULTILINE), f"{owner.__name__}.{name}"


def use_cases() -> Iterator[tuple[str, str]]:
    """Every function that does something with an opened workspace."""
    for module in sorted(WORKSPACE.glob("*.py")):
        for node in ast.parse(module.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef) and not node.name.startswith("_") and node.args.args:
                annotation = node.args.args[0].annotation
                if annotation is not None and "OpenedWorkspace" in ast.unparse(annotation):
                    yield module.stem, node.name


def test_every_use_case_has_a_method() -> None:
    """Except for what concerns the user's machine rather than a workspace, and two answers that are given at once."""
    text = (WORKSPACE / "python_api" / "workspace.py").read_text(encoding="utf-8")
    of_machine = {"start_engine", "stop_engine", "engine_status", "engines_of"}
    # Status and graph, each of which has a method.
    of_both = {"close_overview"}
    found = [(module, name) for module, name in use_cases() if name not in of_machine | of_both]
    assert len(found) > 20
    assert [
        f"{module}.{name}"
        for module, name in found
        if not re.search(rf"\b{name}(\(\s*self\._opened|\)$)", text, re.MULTILINE)
    ] == []


def test_validating_finds_structure_and_meaning_without_spark(tmp_path: Path) -> None:
    write_workspace("starter", tmp_path)
    assert daybook.Workspace(tmp_path).validate() == ()
    project = tmp_path / "projects" / "monthly-sales.yaml"
    text = project.read_text(encoding="utf-8")
    project.write_text(text.replace("{{identifier}}", "{{identifer}}"), encoding="utf-8")
    structure = daybook.Workspace(tmp_path).validate()
    line = 1 + next(index for index, line in enumerate(text.splitlines()) if "{{identifier}}" in line)
    assert [error.span.line for error in structure if error.span] == [line]
    project.write_text(text.replace("SUM(fee)", "SUM(fees)"), encoding="utf-8")
    assert [error.code for error in daybook.Workspace(tmp_path).validate()] == ["AGGREGATE_004"]


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(daybook.DaybookError) as caught:
        daybook.Workspace(tmp_path / "nowhere")
    assert caught.value.code == "MODEL_064"


def test_a_run_does_not_begin_with_what_validating_finds(tmp_path: Path) -> None:
    write_workspace("starter", tmp_path)
    project = tmp_path / "projects" / "monthly-sales.yaml"
    text = project.read_text(encoding="utf-8")
    project.write_text(text.replace("{{identifier}}.csv", "{{identifier}}.docx"), encoding="utf-8")
    with pytest.raises(daybook.DaybookError) as caught:
        daybook.Workspace(tmp_path).run("monthly-sales", "2026-01")
    assert caught.value.code == "RESOLVE_037"
    assert caught.value.span is not None
    assert not (tmp_path / ".daybook").exists()
