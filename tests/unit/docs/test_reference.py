"""The generated pages say what the code says today."""

import re

import pytest

from daybook.cli.app import main
from daybook.errors import CODES
from daybook.scenarios.scenario import DATASET_KEYS, SCENARIO_KEYS, Expectation, ScenarioHeader
from tools.reference.files import files_page
from tools.reference.formats import CAPABILITIES, ROOT
from tools.reference.pages import FOLDER, PAGES


@pytest.mark.parametrize("name", PAGES)
def test_the_page_is_current(name: str) -> None:
    assert (FOLDER / name).read_text(encoding="utf-8") == PAGES[name](), "write it again: make reference"


def test_every_capability_of_a_format_is_shown_by_a_test() -> None:
    missing = [capability.test for capability in CAPABILITIES if not (ROOT / "tests" / capability.test).is_file()]
    assert missing == []


def test_every_code_has_its_entry() -> None:
    entries = re.findall(r"^### (\w+)$", PAGES["errors.md"](), re.MULTILINE)
    assert sorted(entries) == sorted(CODES)


def test_every_command_has_its_section(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    listed = capsys.readouterr().out.partition("Begin:\n")[2].partition("Exit codes:")[0]
    names = re.findall(r"^  (\w+)  ", listed, re.MULTILINE)
    assert len(names) > 20
    page = PAGES["commands.md"]()
    for name in names:
        assert f"\n## daybook {name}\n" in page


def test_links_within_the_files_page_lead_somewhere() -> None:
    page = files_page()
    targets = {title.lower() for title in re.findall(r"^#+ (\w+)$", page, re.MULTILINE)}
    links = set(re.findall(r"\]\(#([\w-]+)\)", page))
    assert links
    assert links <= targets


def test_every_key_of_a_scenario_is_on_the_files_page() -> None:
    scenario = files_page().partition("\n## Scenario\n")[2]
    keys = set(re.findall(r"^\| \**`(\w+)`", scenario, re.MULTILINE))
    assert keys == {*ScenarioHeader.model_fields, *SCENARIO_KEYS, *DATASET_KEYS, *Expectation.model_fields}
