"""What methods of a workspace give: results that a program reads and a notebook shows."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from daybook.errors import Notice
from daybook.workspace.python_api.arguments import checked
from daybook.workspace.result_json import as_json

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from daybook.compare.bridge_result import BridgeResult
    from daybook.compare.diff_result import DiffResult
    from daybook.model.types import Value
    from daybook.runs.explain.levels import NumberExplanation, OperationExplanation
    from daybook.runs.run_result import OutputResult, RunResult
    from daybook.workspace.python_api.workspace import Workspace

_Follow = Callable[[int | None, Sequence[str]], "NumberExplanation"]


class Run:
    """A completed run; a notebook shows it as a page."""

    def __init__(self, workspace: "Workspace", result: "RunResult") -> None:
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

    @checked
    def output(self, destination: str | None = None) -> "DataFrame":
        """The rows an output of this run wrote, by its destination as the project has it, its operation's id or name,
        or the dataset it was registered as; the last one by default.
        """
        from daybook.runs.slices import read_output

        with self._workspace._opened.open_run_environment() as environment:
            return read_output(environment, self.result, destination)

    def explain(self, operation: str | int, /, *, limit: int = 20, **keys: "Value") -> "Explanation":
        """The rows that an operation of this run picked, as `Workspace.explain` gives them."""
        return self._workspace.explain(self.id, operation, limit=limit, **keys)

    def to_dict(self) -> dict[str, Any]:
        """Its result by the names of its fields."""
        from dataclasses import asdict

        data = {**asdict(self.result), "names": dict(self.result.names)}
        for output, fields in zip(self.result.outputs, data["outputs"], strict=True):
            fields["delta_version"] = output.delta_version
        return data

    def __repr__(self) -> str:
        outputs = ", ".join(f"{output.destination} {output.rows_written:,} rows" for output in self.outputs)
        return f"<Run {self.id} of {self.result.project_id} for {self.result.period}: {outputs}>"

    def _repr_html_(self) -> str:
        from daybook.workspace.report_page import run_html

        return run_html(self.result)


class Explanation:
    """The rows that one operation picked, and the summary rows it made of them; a notebook shows them as tables."""

    def __init__(self, result: "OperationExplanation", follow: "_Follow | None" = None) -> None:
        self.result = result
        self._follow = follow

    def follow(self, depth: int | None = None, *, columns: Sequence[str] = ()) -> "NumberExplanation":
        """The rows behind these rows, and theirs, through all runs they went through, down to lines of sources.

        `depth` is the number of levels, this one included; `columns` are shown on every level that has them.
        """
        if self._follow is None:
            raise ValueError("an explanation that a workspace gave can be followed")
        return self._follow(depth, columns)

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
        run_id, operation = self.result.run_id, self.result.operation
        return f"<Explanation of operation {operation.seq} ({operation.name}) of run {run_id}: {self.count:,} rows>"

    def _repr_html_(self) -> str:
        from daybook.workspace.report_page import explanation_html

        return explanation_html(self.result)


class Diff:
    """What two runs wrote, compared; `changes` are the largest, also as a DataFrame."""

    def __init__(self, workspace: "Workspace", result: "DiffResult") -> None:
        self._workspace = workspace
        self.result = result

    @property
    def changes(self) -> "DataFrame":
        """One row for each change that is shown: its key, and every column before and after."""
        from daybook.io.column_types import arrow_frame
        from daybook.workspace.numbers import changes_table

        return arrow_frame(self._workspace.spark, changes_table(self.result))

    @property
    def totals(self) -> Mapping[str, Any]:
        """The difference of every numeric column."""
        return {total.column: total.difference for total in self.result.totals}

    def to_dict(self) -> dict[str, Any]:
        """The same as `daybook diff --json`."""
        data: dict[str, Any] = as_json(self.result)
        return data

    def __repr__(self) -> str:
        rows = self.result.rows
        counts = f"{rows.added:,} added, {rows.removed:,} removed, {rows.changed:,} changed, {rows.same:,} the same"
        return f"<Diff of run {self.result.b.run_id} against {self.result.a.run_id}: {counts}>"


class Bridge:
    """Why a total moved; causes and groups also as DataFrames."""

    def __init__(self, workspace: "Workspace", result: "BridgeResult") -> None:
        self._workspace = workspace
        self.result = result

    @property
    def shares(self) -> Mapping[str, Any]:
        """The share of every cause, by `KIND:NAME`."""
        return {" + ".join(member.text for member in cause.members): cause.share for cause in self.result.causes}

    @property
    def causes(self) -> "DataFrame":
        """One row for each cause."""
        from daybook.io.column_types import arrow_frame
        from daybook.workspace.numbers import causes_table

        return arrow_frame(self._workspace.spark, causes_table(self.result))

    @property
    def groups(self) -> "DataFrame":
        """One row for each group and cause."""
        from daybook.io.column_types import arrow_frame
        from daybook.workspace.numbers import groups_table

        return arrow_frame(self._workspace.spark, groups_table(self.result))

    def to_dict(self) -> dict[str, Any]:
        """The same as `daybook bridge --json`."""
        data: dict[str, Any] = as_json(self.result)
        return data

    def __repr__(self) -> str:
        result = self.result
        return f"<Bridge of {result.measure} from {result.before} to {result.after}: {len(result.causes)} causes>"

    def _repr_html_(self) -> str:
        from daybook.workspace.numbers import draw_bridge

        return draw_bridge(self.result)
