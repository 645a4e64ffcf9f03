"""Pages can be found: each is in the navigation, and links lead to files that are there."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PAGES = sorted((ROOT / "docs").rglob("*.md"))
SOURCE = ROOT / "src" / "daybook"
ARCHITECTURE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")


def test_every_page_is_in_the_navigation() -> None:
    listed = set(re.findall(r"(\S+\.md)$", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"), re.MULTILINE))
    assert listed == {page.relative_to(ROOT / "docs").as_posix() for page in PAGES}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_lead_to_files(page: Path) -> None:
    text = re.sub(r"```.*?```|`[^`\n]*`", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    for target in re.findall(r"\]\(([^)\s#:]+)[)#]", text):
        assert (page.parent / target).exists(), target


def test_a_page_is_called_by_its_title() -> None:
    """Without titles of their own, the navigation takes those of the pages."""
    entries = re.findall(r"^ *- (.*\.md)$", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"), re.MULTILINE)
    assert [entry for entry in entries if ": " in entry] == []
    listed = re.findall(r"^- \[(.*)\]\((.*\.md)\)$", (ROOT / "docs/index.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert listed
    for title, page in listed:
        assert (ROOT / "docs" / page).read_text(encoding="utf-8").startswith(f"# {title}\n"), page


def test_the_front_page_leads_to_every_page() -> None:
    front = (ROOT / "docs/index.md").read_text(encoding="utf-8")
    records = {page for page in PAGES if page.parent.name == "adr" and page.name != "index.md"}
    wanted = {page.relative_to(ROOT / "docs").as_posix() for page in PAGES if page not in records} - {"index.md"}
    assert wanted <= set(re.findall(r"\]\((\S+\.md)\)", front))


def test_the_architecture_page_lists_every_layer() -> None:
    layers = re.findall(r"^\| `(\w+)` \|", ARCHITECTURE.partition("```")[0], re.MULTILINE)
    assert sorted(layers) == sorted(path.parent.name for path in SOURCE.glob("*/__init__.py"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_modules_that_a_page_names_exist(page: Path) -> None:
    named = re.findall(r"`((?:\w+/)+\w+\.py)`", page.read_text(encoding="utf-8"))
    assert [path for path in named if not ((SOURCE / path).is_file() or (ROOT / path).is_file())] == []


def test_the_architecture_page_names_functions_classes_and_folders_that_exist() -> None:
    named = re.findall(r"`((?:\w+/)+\w+\.py)`(?:,| \()\s*\(?`(\w+)`\)?", ARCHITECTURE)
    assert ("runs/attempt/prepare.py", "prepare_runs") in named
    defined = {path: _definitions(SOURCE / path) for path, _ in named}
    assert [f"{path}: {name}" for path, name in named if name not in defined[path]] == []
    classes = set().union(*map(_definitions, SOURCE.rglob("*.py")))
    assert [name for name in re.findall(r"`([A-Z]\w+[a-z]\w*)`", ARCHITECTURE) if name not in classes] == []
    folders = {path.name for path in SOURCE.rglob("*") if path.is_dir()}
    assert [name for name in re.findall(r"`(?:\w+/)*(\w+)/`", ARCHITECTURE) if name not in folders] == []


def _definitions(path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        match node:
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                found.add(name)
            case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
                found.add(name)
    return found
