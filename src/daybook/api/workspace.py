"""Daybook from Python: open a workspace, check it, run a project, look at the results."""

import datetime
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from daybook.api.run_page import run_page
from daybook.errors import DaybookError, Notice
from daybook.model.loading import Workspace as Definitions
from daybook.model.loading import load_workspace
from daybook.model.project import Project

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from daybook.runs.attempt import Surroundings
    from daybook.runs.result import OutputResult, RunResult


class Workspace:
    """A folder with a `daybook.yaml`, opened for a program or a notebook.

    Without `spark` a session is started when the first run needs one, and stopped by `close`. A session that is
    brought along is used as it is, where its settings allow that, and never stopped.
    """

    def __init__(self, path: str | Path = ".", *, spark: "SparkSession | None" = None) -> None:
        self._definitions = load_workspace(Path(path))
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
        from daybook.runs.starting import find_project

        return find_project(self._definitions, project_id).model

    def validate(self) -> tuple[DaybookError, ...]:
        """Everything that is wrong with the definitions; empty when all is well."""
        from daybook.model.workspace_catalog import WorkspaceCatalog
        from daybook.store.checking import check_project

        catalog = WorkspaceCatalog(self._definitions)
        projects = self._definitions.definitions["project"].values()
        return tuple(error for project in projects for error in check_project(project, catalog).errors)

    def run(
        self,
        project: str,
        period: str,
        *,
        as_of: datetime.date | None = None,
        draft: bool = False,
        allow_empty: bool = False,
    ) -> "Run":
        """Run a project for one period; raises RunFailedError when it does not complete."""
        from daybook.runs.running import run
        from daybook.runs.starting import RunWish

        wanted = RunWish(project, period, as_of, draft, allow_empty)
        with self._surroundings() as around:
            results = tuple(run(self._definitions, around, wanted))
        return Run(self, results[-1])

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
        """The rows an output of this run wrote, by its destination or operation id; the last one by default."""
        from daybook.runs.showing import output_frame

        with self._workspace._surroundings() as around:
            return output_frame(around, self.result, destination)

    def to_dict(self) -> dict[str, Any]:
        from dataclasses import asdict

        return asdict(self.result)

    def __repr__(self) -> str:
        outputs = ", ".join(f"{output.destination} {output.rows_written:,} rows" for output in self.outputs)
        return f"<Run {self.id} of {self.result.project_id} for {self.result.period}: {outputs}>"

    def _repr_html_(self) -> str:
        return run_page(self.result)
