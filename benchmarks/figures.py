"""Headline figures: every benchmark records its seconds, and a run of all ends with a table against the last one.

A figure got worse when its median is above everything the last run measured, or better when it is below: the spread
of the rounds is the measure of what counts.
"""

import json
import os
import statistics
from collections.abc import Iterable, Mapping
from pathlib import Path

# The file that the benchmarks of one run append to; without it nothing is recorded.
FIGURES_VARIABLE = "DAYBOOK_FIGURES"

Figures = Mapping[str, list[float]]


def record(name: str, values: Iterable[float]) -> None:
    """Keep the values of a figure, one per round, lower is better."""
    file = os.environ.get(FIGURES_VARIABLE)
    if file is not None:
        with Path(file).open("a") as lines:
            lines.write(json.dumps({"figure": name, "values": list(values)}) + "\n")


def read_figures(file: Path) -> dict[str, list[float]]:
    found = (json.loads(line) for line in file.read_text().splitlines())
    return {entry["figure"]: entry["values"] for entry in found}


def last_figures(folder: Path, now: Path) -> dict[str, list[float]]:
    """The figures of the newest run of the same kind before this one, empty if there is none."""
    kind = now.name.partition(".")[0].rpartition("-")[2]
    before = sorted(file for file in folder.glob(f"*-{kind}.figures.jsonl") if file.name < now.name)
    return read_figures(before[-1]) if before else {}


def comparison(last: Figures, now: Figures) -> list[str]:
    """A table of all figures, each against the last recorded run."""
    lines = [f"{'':44}{'best':>9}{'median':>9}{'worst':>9}{'last':>9}"]
    for name, values in now.items():
        median = statistics.median(values)
        line = f"{name:44}{min(values):9.2f}{median:9.2f}{max(values):9.2f}"
        if before := last.get(name):
            verdict = "  WORSE" if median > max(before) else "  better" if median < min(before) else ""
            line += f"{statistics.median(before):9.2f}{verdict}"
        lines.append(line)
    return lines
