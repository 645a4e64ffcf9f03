"""What `make bench` says at its end."""

import importlib.util
import json
from pathlib import Path

from benchmarks.__main__ import BENCHMARKS
from benchmarks.figures import comparison, last_figures


def test_a_figure_is_worse_when_its_median_is_above_all_that_was_measured_before() -> None:
    last = {"run": [1.0, 1.2, 1.4], "build": [2.0, 2.2, 2.4], "explain": [3.0, 3.1, 3.2]}
    now = {"run": [1.3, 1.5, 1.6], "build": [2.3, 2.35, 3.0], "explain": [2.0, 2.1, 3.1], "new": [1.0]}
    _, run, build, explain, new = comparison(last, now)
    assert run.split() == ["run", "1.30", "1.50", "1.60", "1.20", "WORSE"]
    assert build.split() == ["build", "2.30", "2.35", "3.00", "2.20"]
    assert explain.split() == ["explain", "2.00", "2.10", "3.10", "3.10", "better"]
    assert new.split() == ["new", "1.00", "1.00", "1.00"]


def test_a_run_is_compared_with_the_last_one_of_its_kind(tmp_path: Path) -> None:
    for name, value in (("2026-01-01-1200-quick", 1.0), ("2026-01-02-1200-quick", 2.0), ("2026-01-03-1200-try", 3.0)):
        line = json.dumps({"figure": "run", "values": [value]})
        (tmp_path / f"{name}.figures.jsonl").write_text(line + "\n")
    now = tmp_path / "2026-01-04-1200-quick.figures.jsonl"
    assert last_figures(tmp_path, now) == {"run": [2.0]}
    assert last_figures(tmp_path, tmp_path / "2026-01-01-1200-full.figures.jsonl") == {}


def test_every_part_is_there() -> None:
    names = {name for name, *_ in BENCHMARKS}
    assert [name for name in names if importlib.util.find_spec(f"benchmarks.{name}") is None] == []
    shared = {"__main__", "cluster", "copied_close", "figures", "meter"}
    assert {path.stem for path in Path("benchmarks").glob("*.py")} - shared - names == set()
