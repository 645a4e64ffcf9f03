"""Runs scenarios, writes new ones, and puts actual rows into their expectations."""

import importlib.util
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from daybook.errors import DaybookError
from daybook.scenarios.engines import EngineName
from daybook.scenarios.expected_rows import updated_scenario_text, write_scenario
from daybook.scenarios.load_scenario import find_scenarios
from daybook.scenarios.run_scenarios import ScenarioResult, run_scenario_files
from daybook.scenarios.scenario_report import failure_lines, render_junit

if TYPE_CHECKING:
    # Scenarios of the second engine need no Spark, and no runs.
    from daybook.runs.environment import SessionProvider
    from daybook.runs.run_listener import RunListener
    from daybook.scenarios.new_scenario import NewScenario
    from daybook.workspace.open_workspace import OpenedWorkspace

_MOST_THREADS = 4
_SEARCHED_CHARACTERS = 2000


@dataclass(frozen=True, slots=True)
class ScenarioOutcome:
    """Whether a scenario passed, and in words why not."""

    file: Path
    name: str
    is_passed: bool
    seconds: float
    explanation: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ScenarioReport:
    results: tuple[ScenarioResult, ...]

    @property
    def outcomes(self) -> tuple[ScenarioOutcome, ...]:
        return tuple(
            ScenarioOutcome(
                result.file, result.name, result.is_passed, round(result.duration, 3), tuple(failure_lines(result))
            )
            for result in self.results
        )

    @property
    def failed(self) -> tuple[ScenarioResult, ...]:
        return tuple(result for result in self.results if not result.is_passed)

    @property
    def is_ok(self) -> bool:
        return not self.failed

    @property
    def junit_xml(self) -> str:
        return render_junit(self.results)


@dataclass(frozen=True, slots=True)
class ScenarioUpdate:
    """A scenario file with the actual rows as its expectation."""

    file: Path
    text: str

    def write(self) -> None:
        write_scenario(self.file, self.text)


def select_scenarios(paths: Iterable[Path], root: Path, *, keyword: str | None = None) -> tuple[Path, ...]:
    """Scenario files below the paths, by default below `tests/scenarios` of a workspace, that have the keyword."""
    return tuple(path for path in find_scenarios(paths, root) if _matches_keyword(path, keyword))


def is_spark_installed() -> bool:
    """Whether Spark and a Java for it are there; an engine on another machine needs no Java here."""
    if importlib.util.find_spec("pyspark") is None:
        return False
    from daybook.engine.java.launch import find_java

    try:
        find_java(os.environ)
    except DaybookError:
        return False
    return True


def scenario_engine(*, quick: bool = False, both: bool = False) -> EngineName:
    """What computes scenarios: Spark where it is installed, else the second engine; or what is asked for."""
    if both:
        return "both"
    return "quick" if quick or not is_spark_installed() else "spark"


def run_scenarios(
    files: Sequence[Path],
    session: "SessionProvider | None",
    *,
    engine: EngineName = "spark",
    on_result: Callable[[ScenarioResult], None] = lambda _: None,
) -> ScenarioReport:
    """Run them side by side in one session; `on_result` gets each result as soon as those before it are there.

    The quick engine needs no session.
    """
    results: list[ScenarioResult] = []
    threads = max(1, min(_MOST_THREADS, len(files)))
    for result in run_scenario_files(session, list(files), threads=threads, engine=engine):
        results.append(result)
        on_result(result)
    return ScenarioReport(tuple(results))


def new_scenario(
    workspace: "OpenedWorkspace",
    project: str,
    *,
    run_id: str | None = None,
    file: Path | None = None,
    within: str = "60s",
    listener: "RunListener | None" = None,
) -> "NewScenario":
    """Write a scenario from rows that a run of a project read, by default its last completed one."""
    from daybook.model.settings import duration_seconds, is_duration
    from daybook.resolve.project_files import find_project
    from daybook.scenarios.new_scenario import write_new_scenario
    from daybook.store.records import RunFilter

    if not is_duration(within):
        expected = "a number and s, m or h, such as 5m"
        raise DaybookError("RUN_031", argument="within", expected=expected, value=repr(within))
    definitions = workspace.read_definitions()
    definition = find_project(definitions, project)
    with workspace.open_run_environment(listener) as environment:
        if run_id is None:
            with environment.store.read() as transaction:
                run_filter = RunFilter(definition.id, None, "completed")
                runs = transaction.runs.page(run_filter, limit=1, after=None).runs
            if not runs:
                raise DaybookError("RUN_052", project=definition.id)
            run_id = runs[0].id
        else:
            with environment.store.read() as transaction:
                run_id = transaction.runs.id_of(run_id)
        return write_new_scenario(environment, definitions, run_id, file, within_seconds=duration_seconds(within))


def propose_update(result: ScenarioResult) -> ScenarioUpdate | None:
    """The file of a failed scenario with its actual rows; None where there are none to write."""
    text = updated_scenario_text(result)
    return None if text is None else ScenarioUpdate(result.file, text)


def _matches_keyword(path: Path, keyword: str | None) -> bool:
    if keyword is None:
        return True
    first_lines = path.read_text(encoding="utf-8", errors="replace")[:_SEARCHED_CHARACTERS]
    name = next((line for line in first_lines.splitlines() if line.startswith("name:")), "")
    return keyword.casefold() in f"{path.as_posix()} {name}".casefold()
