"""Daybook from Python: open a workspace, check it, run a project, look at the results."""

import datetime
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from daybook.api.run_page import run_page
from daybook.errors import DaybookError, Notice, raise_all
from daybook.model.loading import Workspace as Definitions
from daybook.model.loading import find_workspace, load_workspace
from daybook.model.project import Project

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from daybook.api.explanation import Explanation
    from daybook.expression.quoting import Value
    from daybook.runs.attempt import Surroundings
    from daybook.runs.result import OutputResult, RunResult


_RANGE = ".."


class Workspace:
    """A folder with a `daybook.yaml`, this one or the nearest above it, opened for a program or a notebook.

    Definitions that cannot be read raise at once, all of them together; `validate` finds what else is wrong.
    Without `spark` a session is started when the first run needs one, and stopped by `close`. A session that is
    brought along is used as it is, where its settings allow that, and never stopped.
    """

    def __init__(self, path: str | Path = ".", *, spark: "SparkSession | None" = None) -> None:
        place = Path(path)
        if not place.exists():
            raise DaybookError("MODEL_064", path=place.as_posix())
        self._definitions = load_workspace(find_workspace(place))
        self._given = spark
        self._started: SparkSession | None = None

    @property
    def root(self) -> Path:
        return self._definitions.root

    @property
    def projects(self) -> tuple[str, ...]:
        """The ids of the projects that are defined here."""
        return tuple(self._definitions.definitions["project"])

    def project(self, project_id: str) -> Project:
        """A project as it is written."""
        from daybook.runs.named_project import find_project

        return find_project(self._definitions, project_id).model

    def validate(self) -> tuple[DaybookError, ...]:
        """Everything that is wrong with the definitions and with what projects compute; empty when all is well."""
        from daybook.store.project_checks import check_workspace

        return tuple(check_workspace(self._definitions).errors)

    def run(
        self,
        project: str,
        period: str,
        *,
        as_of: datetime.date | None = None,
        draft: bool = False,
        allow_empty: bool = False,
    ) -> "Run":
        """Run a project, by its id or file, for one period.

        Raises DaybookError when it may not run, RunFailedError when it does not complete.
        """
        if _RANGE in period:
            raise DaybookError("RUN_021", period=period)
        (done,) = self.run_range(project, period, as_of=as_of, draft=draft, allow_empty=allow_empty)
        return done

    def run_range(
        self,
        project: str,
        periods: str,
        *,
        as_of: datetime.date | None = None,
        draft: bool = False,
        allow_empty: bool = False,
    ) -> "tuple[Run, ...]":
        """Run a project for the periods of a range such as `2026-01..2026-12`, one after the other.

        The first failure ends the range and is raised; what ran before it stays.
        """
        from daybook.resolve.workspace_checks import structural_problems
        from daybook.runs.running import run
        from daybook.runs.starting import RunWish

        raise_all(structural_problems(self._definitions))
        wanted = RunWish(project, periods, as_of, draft, allow_empty)
        with self._surroundings() as around:
            return tuple(Run(self, result) for result in run(self._definitions, around, wanted))

    def explain(self, run_id: str, operation: str | int, /, *, limit: int = 20, **keys: "Value") -> "Explanation":
        """The rows that an operation of a run picked, by its id or seq, as they were when it came to them.

        `keys` are columns and the values that rows must have there, None for NULL. An operation that groups takes the
        columns it groups by, and its summary rows are computed again, too.
        """
        from daybook.api.explanation import Explanation, as_text
        from daybook.runs.explaining import explain

        texts = {column: as_text(value) for column, value in keys.items()}
        with self._surroundings() as around:
            return Explanation(explain(around, run_id, str(operation), texts, limit=limit))

    @property
    def spark(self) -> "SparkSession":
        """The session that runs use."""
        from daybook.engine.session import adopt_session, start_session

        if self._started is None:
            if self._given is not None:
                self._started = adopt_session(self._given)
            else:
                self._started = start_session(self._definitions.settings.engine, app_name="daybook")
        return self._started

    def close(self) -> None:
        """Stop the session if it was started here."""
        from daybook.engine.session import stop_session

        if self._started is not None and self._given is None:
            stop_session(self._started)
        self._started = None

    def __enter__(self) -> "Workspace":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def definitions(self) -> Definitions:
        return self._definitions

    @contextmanager
    def _surroundings(self) -> "Iterator[Surroundings]":
        from daybook.runs.opening import surroundings

        with surroundings(self._definitions, lambda: self.spark) as around:
            yield around


class Run:
    """A completed run; a notebook shows it as a page."""

    def __init__(self, workspace: Workspace, result: "RunResult") -> None:
        self._workspace = workspace
        self.result = result

    @property
    def id(self) -> str:
        return self.result.run_id

    @property
    def outputs(self) -> "tuple[OutputResult, ...]":
        return self.result.outputs

    @property
    def notices(self) -> tuple[Notice, ...]:
        return self.result.notices

    def output(self, destination: str | None = None) -> "DataFrame":
        """The rows an output of this run wrote, by its destination as the project has it, its operation's id or name,
        or the dataset it was registered as; the last one by default.
        """
        from daybook.runs.showing import output_frame

        with self._workspace._surroundings() as around:
            return output_frame(around, self.result, destination)

    def explain(self, operation: str | int, /, *, limit: int = 20, **keys: "Value") -> "Explanation":
        """The rows that an operation of this run picked, as `Workspace.explain` gives them."""
        return self._workspace.explain(self.id, operation, limit=limit, **keys)

    def to_dict(self) -> dict[str, Any]:
        from dataclasses import asdict

        return asdict(self.result)

    def __repr__(self) -> str:
        outputs = ", ".join(f"{output.destination} {output.rows_written:,} rows" for output in self.outputs)
        return f"<Run {self.id} of {self.result.project_id} for {self.result.period}: {outputs}>"

    def _repr_html_(self) -> str:
        return run_page(self.result)
