"""What a shell gets when the tab key is pressed."""

from collections.abc import Callable
from pathlib import Path

import pytest

from daybook.cli.app import main
from daybook.cli.root_options import workspace_option
from daybook.store import open_store
from tests.unit.store.samples import NOW, PROCESS, new_run, nobody_is_dead

FILES = {
    "daybook.yaml": "name: test\n",
    "orders.yaml": (
        "dataset:\n"
        "  id: orders\n"
        "  main_table:\n"
        "    name: orders\n"
        "    columns: [{name: amount, type: integer}]\n"
        "    location: {path: orders.csv}\n"
    ),
    "close.yaml": (
        "project:\n"
        "  id: close\n"
        "  input: {dataset_id: orders}\n"
        "  operations: [{type: output, arguments: {destination: {location: out.csv}}}]\n"
    ),
}
Tab = Callable[[str], list[str]]


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "workspace"
    folder.mkdir()
    for name, text in FILES.items():
        (folder / name).write_text(text)
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def tab(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Tab:
    def press(line: str) -> list[str]:
        words = line.split()
        with monkeypatch.context() as environment:
            environment.setenv("_DAYBOOK_COMPLETE", "complete_bash")
            environment.setenv("COMP_WORDS", line)
            environment.setenv("COMP_CWORD", str(len(words) if line.endswith(" ") else len(words) - 1))
            capsys.readouterr()
            main([])
        told = capsys.readouterr()
        assert told.err == ""
        return told.out.split()

    return press


@pytest.fixture
def with_runs(root: Path) -> Path:
    assert main(["apply", "--quiet"]) == 0
    with open_store("sqlite:///.daybook/store.db", root=root) as store:
        for period, status in (("2026-01", "completed"), ("2026-02", "failed"), ("2026-03", None)):
            with store.write() as transaction:
                run = new_run(f"r-{period}", period=period)
                lease = transaction.runs.start(**run, process=PROCESS, now=NOW, is_dead=nobody_is_dead)
                if status:
                    transaction.runs.finish(lease, status, now=NOW)  # type: ignore[arg-type]
    return root


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("daybook run ", ["close"]),
        ("daybook run x", []),
        ("daybook compile c", ["close"]),
        ("daybook runs --status c", ["completed", "cancelled"]),
        ("daybook periods --level ", ["year", "quarter", "month", "day"]),
        ("daybook periods --calendar ", ["gregorian"]),
        ("daybook functions ROU", ["ROUND"]),
        ("daybook functions rou", ["round"]),
        ("daybook explain DELETE_", ["DELETE_001", "DELETE_002"]),
    ],
)
def test_what_the_files_tell(root: Path, tab: Tab, line: str, expected: list[str]) -> None:
    assert tab(line) == expected


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("daybook show project ", ["close"]),
        ("daybook show dataset ", ["orders"]),
        ("daybook show dataset x", []),
        ("daybook show resolver ", []),
        ("daybook show run r-2026-0", ["r-2026-03", "r-2026-02", "r-2026-01"]),
        ("daybook retry ", ["r-2026-02"]),
        ("daybook replay ", ["r-2026-01"]),
        ("daybook cancel ", ["r-2026-03"]),
        ("daybook explain ", ["r-2026-03", "r-2026-02", "r-2026-01"]),
        ("daybook explain r-2026-0", ["r-2026-03", "r-2026-02", "r-2026-01"]),
        ("daybook explain r-2026-01 ", []),
    ],
)
def test_what_the_store_tells(with_runs: Path, tab: Tab, line: str, expected: list[str]) -> None:
    assert tab(line) == expected


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("daybook run close -p 2026-Q", ["2026-Q1", "2026-Q2", "2026-Q3", "2026-Q4"]),
        ("daybook run close --period 2026-1", ["2026-10", "2026-11", "2026-12"]),
        ("daybook run close -p 2026-01..2026-1", ["2026-01..2026-10", "2026-01..2026-11", "2026-01..2026-12"]),
        ("daybook periods lock 2024-02-2", [f"2024-02-2{day}" for day in range(10)]),
        ("daybook run close -p 20x", []),
    ],
)
def test_periods(root: Path, tab: Tab, line: str, expected: list[str]) -> None:
    assert tab(line) == expected


@pytest.mark.parametrize("line", ["daybook run -w {} ", "daybook -w {} run ", "daybook run --workspace={} "])
def test_the_workspace_on_the_line_counts(
    root: Path, tab: Tab, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, line: str
) -> None:
    monkeypatch.chdir(tmp_path)
    assert tab(line.format(root)) == ["close"]


@pytest.mark.parametrize("line", ["daybook run ", "daybook show project ", "daybook retry ", "daybook show nothing "])
def test_where_there_is_no_workspace_nothing_is_said(
    tmp_path: Path, tab: Tab, monkeypatch: pytest.MonkeyPatch, line: str
) -> None:
    monkeypatch.chdir(tmp_path)
    assert tab(line) == []


def test_a_broken_store_does_not_disturb(root: Path, tab: Tab) -> None:
    (root / ".daybook").mkdir()
    (root / ".daybook" / "store.db").write_bytes(b"no database at all, but long enough to be read as one" * 40)
    assert tab("daybook show run ") == []


def test_the_last_word_names_no_workspace() -> None:
    assert workspace_option(["daybook", "run", "-w"]) is None


def test_parameters_are_completed_for_the_project_that_stands_before(root: Path, tab: Tab) -> None:
    text = FILES["close.yaml"].replace(
        "  operations", "  parameters: {least: {type: decimal, default: 1}}\n  operations"
    )
    (root / "close.yaml").write_text(text)
    assert tab("daybook run close --set le") == ["least="]
    assert tab("daybook build --set close.") == ["close.least="]


def test_compile_shows_what_a_parameter_becomes(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = FILES["close.yaml"].replace(
        "  operations: [",
        "  parameters: {least: {type: integer}}\n  operations: [{type: delete, selector: amount < param.least}, ",
    )
    (root / "close.yaml").write_text(text)
    assert main(["compile", "close"]) == 0
    assert "where `amount` < :least" in capsys.readouterr().out
    assert main(["compile", "close", "--set", "least=7"]) == 0
    assert "where `amount` < 7L" in capsys.readouterr().out
    assert main(["compile", "close", "--set", "least=x"]) == 2
    assert "RUN_048" in capsys.readouterr().err
