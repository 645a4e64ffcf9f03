"""Whether the outputs of a run are still what it committed, and still where a run would write now."""

from collections.abc import Iterator
from functools import cache
from pathlib import Path

from daybook.definitions.value import Definitions
from daybook.errors import DaybookError
from daybook.graph.nodes import CloseHistory
from daybook.model.calendar import Period
from daybook.model.operation import OutputOperation, TableDestination
from daybook.model.project import Project
from daybook.resolve.location import Location, inline_location, table_location
from daybook.resolve.paths import render_template
from daybook.resolve.resolution import usable_datasource
from daybook.store.records import OutputCommit, RunRecord


class OutputChanges:
    """Compares what runs committed with what is there; what the disk was asked once is not asked again."""

    def __init__(self, history: CloseHistory, root: Path) -> None:
        self._history = history
        self._root = root
        self._exists = cache(lambda path: Path(path).exists())
        # By project and seq, of tables: those are the same in every period.
        self._tables: dict[tuple[str, int], Location | None] = {}

    def of(self, project: Project, definitions: Definitions, period: Period, run: RunRecord) -> Iterator[str]:
        """`project` is what a run would execute now, with the operations of the run."""
        outputs = {operation.seq: operation for operation in project.operations}
        for commit in self._history.commits(run.id):
            operation = outputs.get(commit.operation_seq)
            if isinstance(operation, OutputOperation):
                target = self._target(project, operation, definitions, period)
                if target is not None and not self._is_at(commit, target):
                    yield f"its output {_short(commit.destination)} is now written to {target.label}"
                    continue
            yield from self._changes(run, commit)

    def _is_at(self, commit: OutputCommit, target: Location) -> bool:
        return bool({*self._history.table_of(commit).names} & {*self._history.slices.table(target).names})

    def _target(
        self, project: Project, operation: OutputOperation, definitions: Definitions, period: Period
    ) -> Location | None:
        """Where the output goes now; None where the definitions say it wrongly, which their check reports."""
        destination = operation.arguments.destination
        try:
            if not isinstance(destination, TableDestination):
                dataset = definitions.dataset(project.input.dataset_id, project.input.dataset_version)
                name = dataset.dataset.main_table.name if dataset is not None else ""
                path = render_template(destination.location.path, period, name)
                return inline_location(path, destination.location.format, destination.location.options, self._root)
            key = (project.id, operation.seq)
            if key not in self._tables:
                source = usable_datasource(destination.datasource_id, definitions)
                self._tables[key] = table_location(source, destination.table, None, self._root)
            return self._tables[key]
        except DaybookError:
            return None

    def _changes(self, run: RunRecord, commit: OutputCommit) -> Iterator[str]:
        place = commit.destination
        if self._history.is_dropped(run, commit):
            yield f"its slice of {_short(place)} was dropped"
            return
        is_local = place.startswith("/")
        if is_local and not self._exists(place):
            if not self._history.is_overwritten_by_period(run, place):
                yield f"its output {_short(place)} no longer exists"
            return
        if commit.mode == "append" or self._history.is_overwritten_by_period(run, place):
            return
        if self._history.slices.is_collected(self._history.table_of(commit)):
            owner = self._history.slices.owner(self._history.table_of(commit), run.period)
            if owner is None:
                yield f"its slice of {_short(place)} was removed"
            elif owner != run.id:
                yield f"its slice of {_short(place)} was written by run {owner}"
        elif is_local:
            # Imported lazily: what notes a writer also writes, with Spark, which `status` does without.
            from daybook.io.written_by import is_as_written

            location = Location(str(commit.details.get("format", "")), uri=place)
            if is_as_written(location, run.id) is False:
                yield f"its output {_short(place)} was changed since"


def _short(place: str) -> str:
    return Path(place).name if "/" in place else place
