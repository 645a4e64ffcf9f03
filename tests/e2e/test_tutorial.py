"""Pages that can be followed do what they say."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.tutorial import Change, Command, File, Ids, apply, steps

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
MINUTES = 60


# A page, or the part of a page that begins with a heading, and the least number of its commands.
TUTORIAL_OF_A_GROUP = "## 13. "
PAGES = [("tutorial.md", "", 10), ("tutorial.md", TUTORIAL_OF_A_GROUP, 15), ("howto/why-did-it-change.md", "", 5)]


@pytest.mark.slow
@pytest.mark.parametrize(("page", "heading", "commands"), PAGES)
def test_a_page_does_what_it_says(page: str, heading: str, commands: int, tmp_path: Path) -> None:
    program = Path(sys.executable).parent
    environment = {**os.environ, "PATH": f"{program}{os.pathsep}{os.environ['PATH']}"}
    # The second part of the tutorial says that a checkout lies beside the reader's folder.
    (tmp_path / "daybook").symlink_to(ROOT)
    folder = tmp_path / "books"
    folder.mkdir()
    ids = Ids()
    executed = 0
    for step in steps(part_of(page, heading)):
        match step:
            case File() | Change():
                apply(step, folder)
            case Command(words=words) if words.startswith("cd "):
                folder = (folder / words.removeprefix("cd ")).resolve(strict=True)
            case Command():
                done = subprocess.run(
                    ids.in_command(step.words),
                    shell=True,
                    cwd=folder,
                    env=environment,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    text=True,
                    check=False,
                    timeout=10 * MINUTES,
                )
                shown = f"$ {step.words}\n{done.stdout}"
                assert done.returncode == step.exit_code, shown
                assert ids.differences(step.expected, done.stdout) is None, shown
                assert "Traceback" not in done.stdout
                executed += 1
    assert executed >= commands


def part_of(page: str, heading: str) -> str:
    """A part from its heading on; without one, what is before the second part of the tutorial."""
    text = (DOCS / page).read_text(encoding="utf-8")
    first, found, second = text.partition(f"\n{TUTORIAL_OF_A_GROUP}")
    assert found or not heading
    return second if heading else first


def test_a_page_that_lies_is_found_out() -> None:
    ids = Ids()
    assert ids.differences(("a 1", "b 2"), "a  1\nb   2\n") is None
    assert ids.differences(("a 1", "b 3"), "a 1\nb 2\n") is not None
    assert ids.differences(("a 1", "c"), "a 1\nb 2\nc\n") is not None
    assert ids.differences(("a 1", "...", "c"), "a 1\nb 2\nc\n") is None
    assert ids.differences(("run 20260202-090000-a1b2c3",), "run 20270303-101010-ffffff") is None
    assert ids.in_command("retry 20260202-090000-a1b2c3") == "retry 20270303-101010-ffffff"
    assert ids.differences(("run 20260202-090000-a1b2c3",), "run 20270303-101010-eeeeee") is not None
    assert ids.differences(("in 1.0 s",), "in 27.3 s") is None
