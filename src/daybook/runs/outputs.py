"""The targets of a run's outputs: destination, sandbox or temporary folder, and the sheet About of a workbook."""

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeGuard, assert_never

from daybook.definitions.value import Definitions
from daybook.errors import DaybookError, flatten, raise_all
from daybook.io.location_checks import is_same_location, target_overlaps
from daybook.io.registry import format_named, writer_for
from daybook.io.shared_paths import refuse_paths_of_spark
from daybook.io.storage import PROVIDER_STORAGE, Storage
from daybook.io.target import OutputColumn, RunFacts, SliceOwner, Target, target_at
from daybook.io.writer import CheckedTarget
from daybook.model.operation import LocationDestination, OutputMode, TableDestination
from daybook.model.types import parse_type
from daybook.plan.steps import OutputStep, Plan, Step
from daybook.resolve.location import Location, extension, inline_location, table_location
from daybook.resolve.paths import is_remote, render_template
from daybook.resolve.resolution import usable_datasource
from daybook.resolve.sandbox_schema import sandbox_source, sandbox_table
from daybook.runs.permissions import WrittenPlace
from daybook.runs.snapshot import RunSnapshot, SourceSnapshot

if TYPE_CHECKING:
    from pyspark.errors import PySparkException
    from pyspark.sql import DataFrame

SANDBOX_SUFFIX = " (sandbox)"


@dataclass(frozen=True, slots=True)
class PlannedOutput:
    """An output step and the target it writes to; `label` is the destination as it was written, for this period."""

    step: OutputStep
    target: Target
    label: str
    # The place that a draft in the sandbox writes instead of.
    live: Location | None = None

    @property
    def place(self) -> WrittenPlace:
        columns = tuple(column.name for column in self.target.columns)
        return WrittenPlace(self.target.location, self.label, self.step.seq, columns)

    def named(self, df: "DataFrame") -> "DataFrame":
        """The rows of the step with the names that its columns are written by."""
        names = self.step.written_names
        return df.withColumnsRenamed(dict(names)) if names else df

    def fitted(self, step: OutputStep) -> "PlannedOutput":
        """The same output of a step that differs in the types of its columns."""
        return replace(self, step=step, target=replace(self.target, columns=output_columns(step)))

    @property
    def is_live(self) -> bool:
        """Whether it is a workbook whose totals are formulas."""
        return self.target.format == "xlsx" and self.target.options.get("live") is True


def plan_targets(
    outputs: tuple[OutputStep, ...],
    snapshot: RunSnapshot,
    definitions: Definitions,
    root: Path,
    storage: Storage = PROVIDER_STORAGE,
) -> tuple[PlannedOutput, ...]:
    """One target per output; two outputs into one place are refused unless both append."""
    planned = tuple(_plan_target(step, snapshot, definitions, root, storage) for step in outputs)
    raise_all(_collisions(planned))
    return planned


def output_columns(step: OutputStep) -> tuple[OutputColumn, ...]:
    return tuple(OutputColumn(step.written_names.get(name, name), type_) for name, type_ in step.columns.items())


def redirect_to_scratch(planned: PlannedOutput, scratch: str) -> PlannedOutput:
    """The same output written below a folder of its own, for a replay: files in their own format, tables as Delta."""
    target = planned.target
    folder = f"{scratch}/{planned.step.seq}"
    location = Location("delta", uri=folder)
    if isinstance(planned.step.arguments.destination, LocationDestination) and not is_remote(scratch):
        # Formulas over detail rows are made of the run's own sheets; the values are those of the run.
        options = {name: value for name, value in target.options.items() if name != "live"}
        name = str(target.location.uri).rstrip("/").rpartition("/")[2]
        location = Location(target.format, uri=f"{folder}/{name}", options=options)
    if target.storage.tables is not None:
        location = target.storage.tables.location(folder)
    moved = target_at(
        location,
        mode="replace",
        columns=target.columns,
        run_id=f"replay-{target.run_id}",
        operation_seq=target.operation_seq,
        owner=target.owner,
        run_period=target.run_period,
        allow_empty=True,
        workspace=target.workspace,
        storage=target.storage,
        facts=target.facts,
    )
    return PlannedOutput(planned.step, moved, planned.label)


def _plan_target(
    step: OutputStep, snapshot: RunSnapshot, definitions: Definitions, root: Path, storage: Storage
) -> PlannedOutput:
    destination = step.arguments.destination
    is_table = isinstance(destination, TableDestination)
    mode: OutputMode = step.arguments.mode or ("replace_period" if is_table else "replace")
    location = _resolve_destination(step, snapshot, definitions, root)
    label = _destination_label(step, snapshot)
    live = location if snapshot.settings.sandbox is not None else None
    if snapshot.settings.sandbox is not None:
        location = _sandbox_location(destination, location, root, snapshot, definitions)
        label = f"{label}{SANDBOX_SUFFIX}"
    target = target_at(
        location,
        mode=mode,
        columns=output_columns(step),
        run_id=snapshot.run_id,
        operation_seq=step.seq,
        owner=SliceOwner(
            snapshot.project.id, step.operation_id, snapshot.provenance.workspace, snapshot.provenance.workspace_id
        ),
        run_period=snapshot.period.identifier if is_table or mode == "replace_period" else None,
        on_schema_change=step.arguments.on_schema_change,
        allow_empty=snapshot.settings.allow_empty or step.arguments.on_empty == "replace",
        workspace=root,
        storage=storage,
        facts=run_facts(snapshot, root),
    )
    return PlannedOutput(step, target, label, live)


def _resolve_destination(step: OutputStep, snapshot: RunSnapshot, definitions: Definitions, root: Path) -> Location:
    match step.arguments.destination:
        case TableDestination(datasource_id=datasource_id, table=table):
            return table_location(usable_datasource(datasource_id, definitions), table, None, root)
        case LocationDestination(location=location):
            return inline_location(_render_path(location.path, snapshot), location.format, location.options, root)
        case destination:
            assert_never(destination)


def _destination_label(step: OutputStep, snapshot: RunSnapshot) -> str:
    match step.arguments.destination:
        case TableDestination(datasource_id=datasource_id, table=table):
            return f"{datasource_id}.{table}"
        case LocationDestination(location=location):
            return _render_path(location.path, snapshot)
        case destination:
            assert_never(destination)


def _render_path(path: str, snapshot: RunSnapshot) -> str:
    return render_template(path, snapshot.period, snapshot.input_table)


def _sandbox_location(
    destination: TableDestination | LocationDestination,
    location: Location,
    root: Path,
    snapshot: RunSnapshot,
    definitions: Definitions,
) -> Location:
    """In the sandbox: a table as a Delta table, whatever holds it, and files in their own format.

    On an object store, where files cannot be replaced safely, everything is Delta; in a schema everything is a table.
    """
    sandbox = str(snapshot.settings.sandbox)
    if (source := sandbox_source(sandbox, definitions)) is not None:
        place = location.label.removeprefix(f"{root}/")
        return sandbox_table(sandbox, source, place, snapshot.provenance.workspace_id)
    folder = sandbox.rstrip("/")
    if isinstance(destination, TableDestination):
        return inline_location(f"{folder}/{destination.datasource_id}/{destination.table}", "delta", {}, root)
    uri = str(location.uri)
    inside = uri.removeprefix(f"{location.root}/") if location.root else uri.replace("://", "/").strip("/")
    if not is_remote(sandbox):
        return inline_location(f"{folder}/{inside}", location.format, location.options, root)
    # A table and a path, or two files that differ in their extension, stay apart.
    below = "-".join(inside.rsplit(".", 1)) if extension(inside) else inside
    return inline_location(f"{folder}/{below}", "delta", {}, root)


def _collisions(planned: tuple[PlannedOutput, ...]) -> list[DaybookError]:
    """Outputs that would replace one another: into one place, or one inside of the other."""
    errors: list[DaybookError] = []
    for index, output in enumerate(planned):
        for earlier in planned[:index]:
            if target_overlaps(output.target, earlier.target.location) and not _may_share(
                earlier.target, output.target
            ):
                first, second = earlier.step.seq, output.step.seq
                errors.append(
                    DaybookError("RUN_006", operation_seq=second, place=output.label, first=first, second=second)
                )
    return errors


def _may_share(target: Target, other: Target) -> bool:
    return target.mode == other.mode == "append" and is_same_location(target.location, other.location, target.workspace)


_FOREIGN_SLICE_CODE = "STORE_016"
# Spark failed, and no expression of an operation is the cause.
_SPARK_FAILED_CODE = "PROJECT_034"


def check_outputs(outputs: Iterable[PlannedOutput]) -> dict[int, Mapping[str, str]]:
    """What writers refuse before any work, for all outputs together; no run exists yet, and no session.

    The types of existing tables that outputs are fitted to, by the seq of the output and by column.
    """
    fitted: dict[int, Mapping[str, str]] = {}
    errors: list[DaybookError] = []
    for planned in outputs:
        try:
            if planned.target.storage.tables is not None:
                refuse_paths_of_spark(planned.target.location, is_output=True)
        except DaybookError as error:
            errors.append(_output_failure(planned, error))
            continue
        if format_named(planned.target.format).needs_session:
            continue
        try:
            with output_errors(planned):
                checked = writer_for(planned.target.format).check(planned.target)
        except DaybookError as error:
            errors.append(error)
            continue
        if types := fitted_types(planned, checked):
            fitted[planned.step.seq] = types
    raise_all(errors)
    return fitted


def fitted_types(planned: PlannedOutput, checked: CheckedTarget) -> Mapping[str, str]:
    """The columns of the working dataset that are written in another type, with the type."""
    return {
        name: str(column.type)
        for (name, type_), column in zip(planned.step.columns.items(), checked.fitted, strict=False)
        if column.type != type_
    }


def fit_plan(plan: Plan, fitted: Mapping[int, Mapping[str, str]]) -> Plan:
    """The plan whose outputs write columns in the types of their tables."""
    if not fitted:
        return plan
    return replace(plan, steps=tuple(_fit_step(step, fitted) for step in plan.steps))


def _fit_step(step: Step, fitted: Mapping[int, Mapping[str, str]]) -> Step:
    if not isinstance(step, OutputStep) or step.seq not in fitted:
        return step
    types = {name: parse_type(type_) for name, type_ in fitted[step.seq].items()}
    return replace(step, columns={**step.columns, **types})


@contextmanager
def output_errors(
    planned: PlannedOutput, translated: "Callable[[PySparkException], DaybookError] | None" = None
) -> Iterator[None]:
    """OUTPUT_006 with the finding as its cause; `translated` names the operation behind a failure of Spark.

    A lost lease, a cancelled run, a locked period and values that other operations could not compute are no
    failures of writing and pass as they are.
    """
    try:
        yield
    except DaybookError as error:
        if not (error.code.startswith("IO_") or error.code == _FOREIGN_SLICE_CODE):
            raise
        raise _output_failure(planned, *flatten(error)) from error
    except Exception as failure:
        if _is_spark_failure(failure):
            if translated is None:
                raise
            translation = translated(failure)
            if translation.code == _SPARK_FAILED_CODE:
                raise _output_failure(planned, translation) from failure
            raise translation from failure
        if not isinstance(failure, (OSError, *format_named(planned.target.format).storage_errors)):
            raise
        reason = str(failure).strip() or type(failure).__name__
        raise _output_failure(
            planned, DaybookError("IO_026", location=planned.target.label, reason=reason)
        ) from failure


def _is_spark_failure(failure: Exception) -> "TypeGuard[PySparkException]":
    """Outputs are also checked where no Spark is installed; one that fails has been imported."""
    errors = sys.modules.get("pyspark.errors")
    return errors is not None and isinstance(failure, errors.PySparkException)


def _output_failure(planned: PlannedOutput, *causes: DaybookError) -> DaybookError:
    return DaybookError("OUTPUT_006", operation_seq=planned.step.seq, causes=causes, target=planned.label)


def run_facts(snapshot: RunSnapshot, root: Path) -> RunFacts:
    """The facts about a run, only from its snapshot, so that a retry or replay writes the same."""
    sources = tuple(line for source in snapshot.sources for line in _source_lines(source, root))
    return RunFacts(snapshot.timestamp, (("Run", tuple(_run_lines(snapshot))), ("Sources", sources)))


def _run_lines(snapshot: RunSnapshot) -> Iterator[tuple[str, str]]:
    period, provenance = snapshot.period, snapshot.provenance
    yield "Project", f"{snapshot.project.name} ({snapshot.project.id}), version {snapshot.project_version}"
    yield "Period", f"{period.identifier} ({period.start_date} to {period.end_date})"
    yield "As of", snapshot.as_of.isoformat()
    yield "Run", snapshot.run_id + (", a draft" if snapshot.settings.is_draft else "")
    yield "Time", f"{snapshot.timestamp:%Y-%m-%d %H:%M:%S} UTC"
    yield "User", f"{provenance.user} on {provenance.host}"
    yield "Daybook", provenance.daybook_version
    if provenance.git is not None:
        state = "" if provenance.git.is_clean else ", with changes that were not committed"
        yield "Commit", provenance.git.commit + state


def _source_lines(source: SourceSnapshot, root: Path) -> Iterator[tuple[str, str]]:
    resolution = source.resolution
    by = (
        f", by resolver {resolution.resolver_id} version {resolution.resolver_version}"
        if resolution.resolver_id
        else ""
    )
    yield source.dataset_id, f"version {source.dataset_version}, read for {', '.join(resolution.periods)}{by}"
    for location in resolution.locations:
        yield "", _place(location, root)


def _place(location: Location, root: Path) -> str:
    path = location.local_path
    if path is None:
        return f"{location.label} ({location.format})"
    folder = root.absolute()
    return f"{path.relative_to(folder) if path.is_relative_to(folder) else path} ({location.format})"
