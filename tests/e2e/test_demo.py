"""The demonstration in a real terminal, and everything it suggests to try."""

import datetime
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pexpect
import pytest
from deltalake import DeltaTable

from tests.close_by_hand import by_account_type, close_by_hand

pytestmark = pytest.mark.slow

COLUMNS = 80
MINUTES = 60
ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b\].*?\x07")


@dataclass(frozen=True)
class Shown:
    """What a person sees at the end: control codes gone, lines as they stood last."""

    folder: Path
    text: str
    raw: str

    @property
    def lines(self) -> list[str]:
        return self.text.splitlines()


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Shown:
    here = tmp_path_factory.mktemp("newcomer")
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": str(COLUMNS)}
    terminal = pexpect.spawn(
        sys.executable,
        ["-m", "daybook", "demo"],
        cwd=str(here),
        env=environment,
        dimensions=(50, COLUMNS),
        encoding="utf-8",
        timeout=10 * MINUTES,
    )
    terminal.expect(pexpect.EOF)
    terminal.close()
    raw = terminal.before or ""
    plain = ESCAPES.sub("", raw).replace("\r\n", "\n")
    text = "\n".join(line.rsplit("\r", 1)[-1] for line in plain.split("\n"))
    assert terminal.exitstatus == 0, text
    return Shown(here / "daybook-demo", text, raw)


def daybook(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "daybook", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=10 * MINUTES)


def suggested(shown: Shown) -> dict[str, list[str]]:
    """The commands under "What to try next", by their first word."""
    found = re.findall(r"^  daybook (\S+)(.*?)  # ", shown.text, re.MULTILINE)
    commands: dict[str, list[str]] = {}
    for name, rest in found:
        commands.setdefault(name, []).append(f"{name}{rest}".strip())
    return commands


def test_the_headline_numbers_are_right(shown: Shown) -> None:
    expected = by_account_type(close_by_hand(shown.folder / "data", "2026-01"))
    assert len(expected) == 9
    for name, cell in expected.items():
        row = next(line for line in shown.lines if re.match(rf"  {name}\s+-?[\d,]+\.\d\d ", line))
        amounts = re.findall(r"-?[\d,]+\.\d\d(?= )", row)
        assert amounts == [f"{amount:,.2f}" for amount in (cell.actual, cell.budget, cell.actual - cell.budget)]


def test_every_operation_says_what_it_did(shown: Shown) -> None:
    assert re.search(r"10  Tidy up what people typed +25,\d{3} +25,\d{3}  changed", shown.text)
    assert re.search(r"50  Remove reversed journals +25,\d{3} +\d{3}  deleted", shown.text)
    assert re.search(r"70  Allocate shared services by headcount +24,\d{3} +8  changed", shown.text)
    assert re.search(r"120  Write to the warehouse +24,\d{3} +\d\d  written +\d+\.\d s", shown.text)


def test_variances_are_drawn_to_their_side(shown: Shown) -> None:
    totals = by_account_type(close_by_hand(shown.folder / "data", "2026-01"))
    for name in ("Revenue", "Cost of sales", "Personnel", "Marketing"):
        line = next(line for line in shown.lines if line.startswith(f"  {name} ") and "│" in line)
        left, right = line.split("│")
        is_good = totals[name].actual > totals[name].budget
        assert ("█" in right, "█" in left) == (is_good, not is_good)
    assert "\x1b[32m" in shown.raw
    assert "\x1b[31m" in shown.raw


def test_it_ends_by_building_the_quarter(shown: Shown) -> None:
    """January was closed already; the status shows that everything is up to date."""
    _, _, built = shown.text.partition("daybook build --period 2026-01..2026-03\n")
    built, _, status = built.partition("daybook status --period 2026-01..2026-03\n")
    for project in ("balances", "close", "management-summary"):
        for month, outcome in (("2026-01", "fresh"), ("2026-02", "ran"), ("2026-03", "ran")):
            assert re.search(rf"^{project} +{month} +{outcome} ", built, re.MULTILINE)
        assert re.search(rf"^{project} +fresh +fresh +fresh *$", status, re.MULTILINE)


def test_it_says_what_corrected_rates_would_move(shown: Shown) -> None:
    ends = (datetime.date(2026, 1, 1), datetime.date(2026, 1, 31))
    tables = [close_by_hand(shown.folder / "data", "2026-01", day) for day in ends]
    for label, table in zip(("before", "after"), tables, strict=True):
        (line,) = [line for line in shown.lines if line.startswith(f"{label} ")]
        assert f"{sum(cell.actual for cell in table.values()):,.2f}" in line
    (cause,) = [line for line in shown.lines if line.startswith("exchange-rates as of 2026-01-31")]
    assert "█" in cause


def test_it_fits_a_narrow_terminal(shown: Shown) -> None:
    assert [line for line in shown.lines if len(line.rstrip()) > COLUMNS] == []


def test_the_files_are_where_it_says(shown: Shown) -> None:
    places = re.findall(r"^  (daybook-demo/(?:out|warehouse)/\S+)", shown.text, re.MULTILINE)
    assert len(places) == 5
    assert all((shown.folder.parent / place).exists() for place in places)


def test_nothing_went_wrong_on_the_way(shown: Shown) -> None:
    assert "warning" not in shown.text
    assert "Traceback" not in shown.text


def test_what_it_suggests_works(shown: Shown) -> None:
    commands = suggested(shown)
    february, corrected = commands["run"]
    before = january(shown.folder)
    done = daybook(*february.split(), folder=shown.folder)
    assert done.returncode == 0, done.stderr
    assert january(shown.folder) == before
    assert daybook(*commands["show"][0].split(), folder=shown.folder).returncode == 0
    compared = daybook(*commands["diff"][0].split(), folder=shown.folder)
    assert compared.returncode == 0, compared.stderr
    assert "actual" in compared.stdout
    explained = daybook(*commands["explain"][0].split(), folder=shown.folder)
    assert explained.returncode == 0, explained.stderr
    assert "Actual and budget side by side (aggregate)" in explained.stdout
    replayed = daybook(*commands["replay"][0].split(), folder=shown.folder)
    assert replayed.returncode == 0, replayed.stderr
    assert "every output is the same" in replayed.stdout
    tested = daybook(*commands["test"][0].split(), folder=shown.folder)
    assert tested.returncode == 0, tested.stdout + tested.stderr
    done = daybook(*corrected.split(), folder=shown.folder)
    assert done.returncode == 0, done.stderr
    assert january(shown.folder) != before
    built = daybook(*commands["build"][0].split(), folder=shown.folder)
    assert built.returncode == 0, built.stdout + built.stderr
    # The close of January was as of another day.
    assert re.search(r"^close +2026-01 +ran ", built.stdout, re.MULTILINE)
    assert january(shown.folder) == before
    status = daybook(*commands["status"][0].split(), folder=shown.folder)
    assert status.returncode == 0, status.stderr
    # Of April there is the close alone.
    for project, april in (("balances", "never"), ("close", "fresh"), ("management-summary", "never")):
        assert re.search(rf"^{project} +fresh +fresh +fresh +{april}$", status.stdout, re.MULTILINE)


def test_a_broken_column_is_explained(shown: Shown) -> None:
    project = shown.folder / "projects" / "close.yaml"
    text = project.read_text(encoding="utf-8")
    assert "ROUND(amount * rates.rate, 2)" in text
    try:
        project.write_text(text.replace("ROUND(amount * rates", "ROUND(amout * rates"), encoding="utf-8")
        done = daybook("validate", folder=shown.folder)
    finally:
        project.write_text(text, encoding="utf-8")
    assert done.returncode == 2
    assert "projects/close.yaml:" in done.stderr
    assert "did you mean amount?" in done.stderr


def january(folder: Path) -> list[str]:
    table = DeltaTable(folder / "warehouse" / "actual_vs_budget").to_pyarrow_table()
    return sorted(str(row) for row in table.to_pylist() if row["_run_period"] == "2026-01")
