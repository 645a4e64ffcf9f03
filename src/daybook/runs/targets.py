"""Where the outputs of a run go: destination, sandbox or scratch."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import assert_never

from daybook.errors import DaybookError, raise_all
from daybook.io.overlap import overlaps
from daybook.io.writing import OutputColumn, Owner, Target
from daybook.model.catalog import Catalog
from daybook.model.operation import LocationDestination, OutputMode, TableDestination
from daybook.plan.steps import OutputStep
from daybook.resolve.locating import usable_datasource
from daybook.resolve.location import Location, extension
from daybook.resolve.places import inline_location, table_location
from daybook.resolve.template import render_template
from daybook.runs.snapshot import RunSnapshot

IN_SANDBOX = " (sandbox)"


@dataclass(frozen=True, slots=True)
class PlannedOutput:
    """An output step and the target it writes to; `label` is the destination as it was written, for this period."""

    step: OutputStep
    target: Target
    label: str


def plan_targets(
    outputs: tuple[OutputStep, ...], snapshot: RunSnapshot, catalog: Catalog, root: Path
) -> tuple[PlannedOutput, ...]:
    """One target per output; two outputs into one place are refused unless both append."""
    planned = tuple(_planned(step, snapshot, catalog, root) for step in outputs)
    raise_all(_collisions(planned))
    return planned


def in_scratch(planned: PlannedOutput, scratch: str) -> PlannedOutput:
    """The same output written below a folder of its own, for a replay."""
    target = replace(
        planned.target,
        format="delta",
        uri=f"{scratch}/{planned.step.seq}",
        table=None,
        schema=None,
        datasource=None,
        options={},
        mode="replace",
        allow_empty=True,
    )
    return PlannedOutput(planned.step, target, planned.label)


def _planned(step: OutputStep, snapshot: RunSnapshot, catalog: Catalog, root: Path) -> PlannedOutput:
    destination = step.arguments.destination
    is_table = isinstance(destination, TableDestination)
    mode: OutputMode = step.arguments.mode or ("replace_period" if is_table else "replace")
    location = _location(step, snapshot, catalog, root)
    label = _label(step, snapshot)
    if snapshot.settings.sandbox is not None:
        location = _sandboxed(destination, location, root, snapshot.settings.sandbox)
        label = f"{label}{IN_SANDBOX}"
    target = Target(
        format=location.format,
        mode=mode,
        columns=tuple(OutputColumn(name, type_) for name, type_ in step.columns.items()),
        run_id=snapshot.run_id,
        operation_seq=step.seq,
        owner=Owner(snapshot.project.id, step.operation_id),
        uri=location.uri,
        table=location.table,
        schema=location.schema,
        datasource=location.datasource,
        options=location.options,
        run_period=snapshot.period.identifier if is_table or mode == "replace_period" else None,
        on_schema_change=step.arguments.on_schema_change,
        allow_empty=snapshot.settings.allow_empty,
        workspace=root,
    )
    return PlannedOutput(step, target, label)


def _location(step: OutputStep, snapshot: RunSnapshot, catalog: Catalog, root: Path) -> Location:
    match step.arguments.destination:
        case TableDestination(datasource_id=datasource_id, table=table):
            return table_location(usable_datasource(datasource_id, catalog), table, None, root)
        case LocationDestination(location=location):
            return inline_location(_rendered(location.path, snapshot), location.format, location.options, root)
        case destination:
            assert_never(destination)


def _label(step: OutputStep, snapshot: RunSnapshot) -> str:
    match step.arguments.destination:
        case TableDestination(datasource_id=datasource_id, table=table):
            return f"{datasource_id}.{table}"
        case LocationDestination(location=location):
            return _rendered(location.path, snapshot)
        case destination:
            assert_never(destination)


def _rendered(path: str, snapshot: RunSnapshot) -> str:
    return render_template(path, snapshot.period, snapshot.input_table)


def _sandboxed(
    destination: TableDestination | LocationDestination, location: Location, root: Path, sandbox: str
) -> Location:
    """A Delta table below the sandbox, whatever the destination is."""
    if isinstance(destination, TableDestination):
        below = f"{destination.datasource_id}/{destination.table}"
    else:
        uri = str(location.uri)
        inside = uri.removeprefix(f"{location.root}/") if location.root else uri.replace("://", "/").strip("/")
        # A table and a path, or two files that differ in their extension, stay apart.
        below = "-".join(inside.rsplit(".", 1)) if extension(inside) else inside
    return inline_location(f"{sandbox.rstrip('/')}/{below}", "delta", {}, root)


def _collisions(planned: tuple[PlannedOutput, ...]) -> list[DaybookError]:
    """Outputs that would replace one another: into one place, or one inside of the other."""
    errors: list[DaybookError] = []
    for index, output in enumerate(planned):
        for earlier in planned[:index]:
            if overlaps(output.target, _as_location(earlier.target)) and not _share(earlier.target, output.target):
                first, second = earlier.step.seq, output.step.seq
                errors.append(
                    DaybookError("RUN_006", operation_seq=second, place=output.label, first=first, second=second)
                )
    return errors


def _share(one: Target, other: Target) -> bool:
    return one.place == other.place and one.mode == other.mode == "append"


def _as_location(target: Target) -> Location:
    return Location(
        target.format, uri=target.uri, table=target.table, schema=target.schema, datasource=target.datasource
    )
