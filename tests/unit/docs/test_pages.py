"""Pages can be found: each is in the navigation, and links lead to files that are there."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PAGES = sorted((ROOT / "docs").rglob("*.md"))


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
