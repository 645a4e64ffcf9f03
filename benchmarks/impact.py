"""What a changed rule would do to a quarter, against running again the runs that it concerns.

python -m benchmarks.impact [--journals 1200] [--rounds 5]

The workspace is that of `daybook demo`, closed for three months; the rule is the conversion to euro. Every round asks
for the impact of the changed rule and then runs the same projects for the same months again, so that a busy machine is
busy for both. The aim: the impact costs at most the runs that it computes again.
"""

import argparse
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median

from benchmarks.figures import record
from benchmarks.meter import Reading, measure
from daybook import Workspace
from daybook.demo.generated_data import JOURNALS_A_MONTH, write_data
from daybook.demo.workspace_files import make_demo_workspace

MONTHS = "2026-01..2026-03"
_RULE = "ROUND(amount * rates.rate, 2)"
_CHANGED_RULE = "ROUND(amount * rates.rate, 1)"


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--journals", type=int, default=JOURNALS_A_MONTH, help="Journals of a month.")
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    impacts: list[Reading] = []
    builds: list[Reading] = []
    with tempfile.TemporaryDirectory(prefix="daybook-bench-") as name:
        root = Path(name) / "demo"
        lines = make_close(root, given.journals)
        with Workspace(root) as workspace:
            workspace.activate_all()
            workspace.build(period=MONTHS)
            projects = concerned_projects(workspace, root)
            for number in range(given.rounds + 1):
                impact, build = one_round(workspace, root, projects)
                print(f"round {number}: impact {impact.processor:.1f} s, runs {build.processor:.1f} s", flush=True)
                # The first one pays for compiling.
                if number:
                    impacts.append(impact)
                    builds.append(build)
    for label, readings in (("impact", impacts), ("the runs again", builds)):
        wall, processor = median(each.wall for each in readings), median(each.processor for each in readings)
        print(f"{label:<16} {wall:8.1f} s   {processor:8.1f} s of processors")
        record(f"impact on a quarter, {lines:,} lines: {label}", [each.wall for each in readings])
    shares = [impact.processor / build.processor for impact, build in zip(impacts, builds, strict=True)]
    texts = ", ".join(f"{share:.2f}" for share in shares)
    print(f"the impact takes {median(shares):.2f} of what running {', '.join(projects)} again takes: {texts}")
    return int(median(shares) > 1)


def make_close(root: Path, journals: int) -> int:
    """The workspace of the demonstration with its data; the number of lines."""
    make_demo_workspace(root)
    return write_data(root / "data", journals)


def concerned_projects(workspace: Workspace, root: Path) -> tuple[str, ...]:
    """The projects whose runs are computed again, makers first."""
    with changed_rule(root):
        outputs = workspace.impact(period=MONTHS).outputs
    return tuple(dict.fromkeys(output.project for output in outputs))


@contextmanager
def changed_rule(root: Path) -> Iterator[None]:
    file = root / "projects/close.yaml"
    text = file.read_text(encoding="utf-8")
    if text.count(_RULE) != 1:
        raise AssertionError("the demonstration has another rule now")
    file.write_text(text.replace(_RULE, _CHANGED_RULE), encoding="utf-8")
    try:
        yield
    finally:
        file.write_text(text, encoding="utf-8")


def one_round(workspace: Workspace, root: Path, projects: tuple[str, ...]) -> tuple[Reading, Reading]:
    def ask() -> None:
        result = workspace.impact(period=MONTHS)
        if not result.moved:
            raise AssertionError("the changed rule moves nothing")

    with changed_rule(root):
        impact = measure(ask)
    build = measure(lambda: workspace.build(*projects, period=MONTHS, only=True, full=True, jobs=1))
    return impact, build


if __name__ == "__main__":
    sys.exit(main())
