"""Leaves out rows of a scenario, as long as every operation still picks one."""

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from pyspark.sql import SparkSession

from daybook.definitions.loading import LoadedWorkspace
from daybook.runs.explain.row_origins import RestoredRun
from daybook.runs.run_listener import RunListener
from daybook.scenarios.real_rows import DatasetRows, Row
from daybook.scenarios.run_scenarios import ScenarioResult, run_scenario_file
from daybook.scenarios.scenario import Workspaces
from daybook.scenarios.scenario_text import scenario_text
from daybook.scenarios.time_limit import TimeLimit

# How often rows are tried to be left out; a scenario runs for each.
MOST_TRIES = 60


class Trials:
    """Runs of the scenario with fewer and fewer rows, as long as there is time."""

    def __init__(
        self,
        spark: SparkSession,
        run: RestoredRun,
        definitions: LoadedWorkspace,
        listener: RunListener,
        limit: TimeLimit,
    ) -> None:
        self.limit = limit
        self.is_reduced = True
        self._listener = listener
        self._spark = spark
        self._run = run
        self._definitions = definitions
        self._workspaces = Workspaces()

    def reduce(self, datasets: Sequence[DatasetRows]) -> tuple[list[DatasetRows], ScenarioResult]:
        """Leaves out rows that no operation needs: half of them at once first, then fewer and fewer."""
        kept = list(datasets)
        result = self.run(kept)
        needed = reached_operations(result)
        tries = 0
        # Joined rows come last, since rows left out before may have been the only ones that met them.
        for is_joined, most in ((False, MOST_TRIES * 2 // 3), (True, MOST_TRIES)):
            for size in _sizes(sum(len(part.rows) for part in kept if part.is_joined == is_joined)):
                rows = [row for part in kept if part.is_joined == is_joined for row in part.rows]
                self._listener.stage(f"leaving out rows, {size} at once, of {sum(len(part.rows) for part in kept)}")
                for start in range(0, len(rows), size):
                    if self.limit.is_over():
                        self.is_reduced = False
                        return kept, result
                    if tries >= most:
                        break
                    tries += 1
                    fewer = _without(kept, rows[start : start + size])
                    trial = self.run(fewer)
                    is_enough = trial.error is None and reached_operations(trial) >= needed
                    if is_enough and (not is_joined or trial.actual == result.actual):
                        kept, result = fewer, trial
        return kept, result

    def run(self, datasets: Sequence[DatasetRows]) -> ScenarioResult:
        text = scenario_text(self._run, self._definitions, datasets, ["  counts: {}"])
        # Inside of the workspace, since the scenario refers to its definitions.
        with tempfile.TemporaryDirectory(prefix=".daybook-new-", dir=self._definitions.root) as folder:
            file = Path(folder) / "scenario.yaml"
            file.write_text(text, encoding="utf-8")
            return run_scenario_file(self._spark, file, self._workspaces)


def _sizes(count: int) -> Iterator[int]:
    """Half of the rows, half of that, and so on down to one."""
    while count:
        count = (count + 1) // 2
        yield count
        if count == 1:
            return


def _without(datasets: Sequence[DatasetRows], rows: Sequence[Row]) -> list[DatasetRows]:
    left_out = {id(row) for row in rows}
    return [replace(part, rows=tuple(row for row in part.rows if id(row) not in left_out)) for part in datasets]


def reached_operations(result: ScenarioResult) -> frozenset[str]:
    return frozenset(name for name, count in (result.counts or {}).items() if count)
