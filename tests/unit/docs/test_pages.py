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
    layers = re.findall(r"^\| `(\w+)` \|", ARCHITECTURE, re.MULTILINE)
    assert sorted(layers) == sorted(path.parent.name for path in SOURCE.glob("*/__init__.py"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_modules_that_a_page_names_exist(page: Path) -> None:
    named = re.findall(r"`((?:\w+/)+\w+\.py)`", page.read_text(encoding="utf-8"))
    assert [path for path in named if not ((SOURCE / path).is_file() or (ROOT / path).is_file())] == []


def test_functions_that_the_architecture_page_names_are_in_their_files() -> None:
    named = re.findall(r"`((?:\w+/)+\w+\.py)`(?:,| \()\s*\(?`(\w+)`\)?", ARCHITECTURE)
    assert ("runs/attempt/start.py", "prepare_run") in named
    for path, function in named:
        body = ast.parse((SOURCE / path).read_text(encoding="utf-8")).body
        assert function in {node.name for node in body if isinstance(node, ast.FunctionDef | ast.ClassDef)}, path
