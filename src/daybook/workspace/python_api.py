"""A run as a small HTML page for notebooks.

Where the rows of an operation came from, for a notebook.

Daybook from Python: open a workspace, check it, run a project, look at the results.
"""

import datetime
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from daybook.errors import DaybookError, Notice, raise_all
from daybook.model.loading import LoadedWorkspace as Definitions
from daybook.model.loading import find_workspace, load_workspace
from daybook.model.project import Project
from daybook.model.values import value_text

if TYPE_CHECKING:
    from daybook.model.values import Value
    from daybook.runs.explain import OperationExplanation as Result
    from daybook.runs.explain import ShownRows
    from daybook.runs.result import RunResult


def run_html(result: "RunResult") -> str:
    """What ran, what each operation did, what was written; every text is escaped."""
    from daybook.runs.result import summarize_operations

    draft = f", draft in {result.sandbox}" if result.sandbox else ", draft" if result.is_draft else ""
    head = f"{result.project_id} · {result.period} · {result.status}{draft} · {_format_seconds(result.duration_ms)}"
    operations = [
        (
            str(effect.seq or ""),
            effect.name,
            _format_count(effect.rows_in),
            f"{_format_count(effect.rows)} {effect.did}".strip(),
            "" if effect.duration_ms is None else _format_seconds(effect.duration_ms),
        )
        for effect in summarize_operations(result.operations, result.names)
    ]
    outputs = [
        (output.destination, output.format, f"{output.rows_written:,}", output.dataset_id or "")
        for output in result.outputs
    ]
    notices = "".join(f"<li><b>{escape(notice.code)}</b> {escape(notice.message)}</li>" for notice in result.notices)
    return (
        f"<div><p><b>{escape(head)}</b><br><small>run {escape(result.run_id)}, as of {result.as_of}</small></p>"
        + html_table(("seq", "operation", "rows in", "did", "time"), operations)
        + html_table(("output", "format", "rows", "registered as"), outputs)
        + (f"<ul>{notices}</ul>" if notices else "")
        + "</div>"
    )


def _format_seconds(milliseconds: int) -> str:
    return f"{milliseconds / 1000:.1f} s"


def _format_count(count: int | None) -> str:
    return "" if count is None else f"{count:,}"


def html_table(header: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    head = "".join(f"<th>{escape(name)}</th>" for name in header)
    body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


class Explanation:
    """The rows that one operation picked, and the summary rows it made of them; a notebook shows them as tables."""

    def __init__(self, result: "Result") -> None:
        self.result = result

    @property
    def rows(self) -> tuple[Mapping[str, Any], ...]:
        """The first rows that it picked, by column."""
        return self.result.rows.rows

    @property
    def count(self) -> int:
        """How many rows it picked."""
        return self.result.rows.count

    @property
    def summary_rows(self) -> tuple[Mapping[str, Any], ...]:
        """The first rows that it made of groups; none where it groups nothing."""
        return self.result.summary_rows.rows if self.result.summary_rows else ()

    def __repr__(self) -> str:
        found = self.result
        return f"<Explanation of operation {found.seq} ({found.name}) of run {found.run_id}: {self.count:,} rows>"

    def _repr_html_(self) -> str:
        found = self.result
        head = f"operation {found.seq} ({found.name}) of run {found.run_id} · {found.project_id} · {found.period}"
        tables = [found.summary_rows] if found.summary_rows else []
        return f"<div><p><b>{escape(head)}</b></p>{''.join(map(_rows_html, (*tables, found.rows)))}</div>"


def _rows_html(shown: "ShownRows") -> str:
    rows = [tuple(value_text(row[name]) for name in shown.columns) for row in shown.rows]
    return f"<p>{len(rows):,} of {shown.count:,} rows</p>{html_table(shown.columns, rows)}"


def key_text(value: "Value") -> str | None:
    """A value as it would stand in a file; None is NULL."""
    return None if value is None else value_text(value)


if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from daybook.model.values import Value
    from daybook.runs.environment import RunEnvironment
    from daybook.runs.result import OutputResult, RunResult


_RANGE_SEPARATOR = ".."


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
        from daybook.store.references import find_project

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
        if _RANGE_SEPARATOR in period:
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
        from daybook.resolve.checks import structural_errors
        from daybook.runs.run import run
        from daybook.runs.start import RunRequest

        raise_all(structural_errors(self._definitions))
        wanted = RunRequest(project, periods, as_of, draft, allow_empty)
        with self._surroundings() as around:
            return tuple(Run(self, result) for result in run(self._definitions, around, wanted))

    def explain(self, run_id: str, operation: str | int, /, *, limit: int = 20, **keys: "Value") -> "Explanation":
        """The rows that an operation of a run picked, by its id or seq, as they were when it came to them.

        `keys` are columns and the values that rows must have there, None for NULL. An operation that groups takes the
        columns it groups by, and its summary rows are computed again, too.
        """
        from daybook.runs.explain import explain

        texts = {column: key_text(value) for column, value in keys.items()}
        with self._surroundings() as around:
            return Explanation(explain(around, run_id, str(operation), texts, limit=limit))

    @property
    def spark(self) -> "SparkSession":
        """The session that runs use."""
        from daybook.engine.java.session import adopt_session, has_session_ended, start_session

        if self._started is not None and self._given is None and has_session_ended(self._started):
            self.close()
        if self._started is None:
            if self._given is not None:
                self._started = adopt_session(self._given)
            else:
                self._started = start_session(self._definitions.settings.engine, app_name="daybook")
        return self._started

    def close(self) -> None:
        """Stop the session if it was started here."""
        from daybook.engine.java.session import stop_session

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
    def _surroundings(self) -> "Iterator[RunEnvironment]":
        from daybook.runs.environment import open_run_environment

        with open_run_environment(self._definitions, lambda: self.spark) as around:
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
        from daybook.runs.output_rows import read_output

        with self._workspace._surroundings() as around:
            return read_output(around, self.result, destination)

    def explain(self, operation: str | int, /, *, limit: int = 20, **keys: "Value") -> "Explanation":
        """The rows that an operation of this run picked, as `Workspace.explain` gives them."""
        return self._workspace.explain(self.id, operation, limit=limit, **keys)

    def to_dict(self) -> dict[str, Any]:
        from dataclasses import asdict

        data = asdict(self.result)
        for output, fields in zip(self.result.outputs, data["outputs"], strict=True):
            fields["delta_version"] = output.delta_version
        return data

    def __repr__(self) -> str:
        outputs = ", ".join(f"{output.destination} {output.rows_written:,} rows" for output in self.outputs)
        return f"<Run {self.id} of {self.result.project_id} for {self.result.period}: {outputs}>"

    def _repr_html_(self) -> str:
        return run_html(self.result)
