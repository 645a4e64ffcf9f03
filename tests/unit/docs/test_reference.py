"""The generated pages say what the code says today."""

import re

import pytest

from daybook.cli.app import main
from daybook.errors import CODES
from daybook.scenarios.scenario import DATASET_KEYS, SCENARIO_KEYS, Expectation, ScenarioHeader
from tools.reference.files import files_page
from tools.reference.formats import CAPABILITIES, ROOT, shown_formats
from tools.reference.pages import FOLDER, PAGES


@pytest.mark.parametrize("name", PAGES)
def test_the_page_is_current(name: str) -> None:
    assert (FOLDER / name).read_text(encoding="utf-8") == PAGES[name](), "write it again: make reference"


# A test that runs for all formats takes them from one of these.
SUITES = ("CASES", "ONE_FILES", "TABLES", "FORMATS")
TESTS_BY_FORMAT = [
    (test, name) for capability in CAPABILITIES for test, names in shown_formats(capability).items() for name in names
]


@pytest.mark.parametrize(("test", "name"), sorted(set(TESTS_BY_FORMAT)))
def test_a_capability_of_a_format_is_shown_by_a_test_of_this_format(test: str, name: str) -> None:
    file = ROOT / "tests" / test
    text = file.read_text(encoding="utf-8")
    suites = "|".join(SUITES)
    in_its_name = name in file.parts or name in file.stem
    assert in_its_name or re.search(rf"\b({suites}|{name}|{name.upper()})\b", text), f"{test} has nothing of {name}"


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
