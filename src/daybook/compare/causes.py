"""Finds the differences between two runs of a project as causes that can be replaced one by one."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any, get_args

from daybook.compare.alignment import AlignedOperation, align_operations, moved_pairs, named_texts, operation_content
from daybook.compare.bridge_result import CauseKind, CauseName, OperationChange
from daybook.compare.compared_output import ComparedOutput, RecordedRun
from daybook.errors import DaybookError
from daybook.errors.error import did_you_mean
from daybook.expression.typed_tree import ConstantValue, ParameterValue, TypedNode
from daybook.io.pins import FilesPin, LandedPin, Pin, TablePin
from daybook.model.definition import DatasetVersion
from daybook.model.operation import CheckOperation, Operation, OutputOperation
from daybook.plan.steps import (
    AggregateStep,
    AppendStep,
    CheckStep,
    DeleteStep,
    OutputStep,
    Plan,
    Step,
    UpdateStep,
    working_columns,
)
from daybook.resolve.location import Location
from daybook.runs.snapshot import RunSnapshot, SourceSnapshot

KINDS: tuple[CauseKind, ...] = get_args(CauseKind)
_SEQ_COLUMN = "_operation_seq"
_TIME_CONSTANTS = frozenset({"now", "today"})
_TIME_COLUMNS = frozenset({"_created_at", "_updated_at"})


@dataclass(frozen=True, slots=True)
class OperationCause:
    """An operation that differs, with its pair of aligned operations."""

    name: CauseName
    pair: AlignedOperation
    change: OperationChange


@dataclass(frozen=True, slots=True)
class BoundCauses:
    """Causes that are only ever swapped together, and why."""

    causes: frozenset[CauseName]
    reason: str


@dataclass(frozen=True, slots=True)
class RunDifferences:
    """Everything that differs and can have changed the rows of one output, in the order of swapping.

    `pairs` are all operations that the output depends on, aligned. Where operations have other seqs and no expression
    names seqs, intermediate states get new numbers (`is_renumbered`); where one does, those operations are `bound`.
    """

    causes: tuple[CauseName, ...]
    operations: Mapping[CauseName, OperationCause]
    pairs: tuple[AlignedOperation, ...]
    is_renumbered: bool = False
    bound: tuple[BoundCauses, ...] = ()

    def bound_with(self, cause: CauseName) -> BoundCauses:
        """The causes that are swapped together with this one, itself among them."""
        return next((group for group in self.bound if cause in group.causes), BoundCauses(frozenset({cause}), ""))


def find_differences(a: ComparedOutput, b: ComparedOutput) -> RunDifferences:
    pairs = _relevant_pairs(a, b)
    has_other_seqs = _has_other_seqs(pairs)
    names_seqs = _names_seqs(a, b, pairs)
    is_renumbered = has_other_seqs and not names_seqs
    operations = {
        cause.name: cause for cause in _operation_causes(a, b, pairs, counts_seqs=has_other_seqs and names_seqs)
    }
    data = {cause.name: cause for cause in _data_causes(a, b)}
    datasets = {cause.name: cause for cause in _dataset_causes(a, b)}
    bound = [
        BoundCauses(frozenset({data[name], cause}), f"the resolver of {name} says where its data is")
        for name, cause in datasets.items()
        if name in data and _has_other_resolver(a.run, b.run, name)
    ]
    if has_other_seqs and names_seqs:
        numbered = _numbered_causes(a, b, pairs, operations.values())
        bound.append(BoundCauses(numbered, "the seqs of operations differ, and an expression uses _operation_seq"))
    all_causes = [*data.values(), *_as_of_causes(a, b), *datasets.values(), *_constant_causes(a, b), *operations]
    causes = sorted(all_causes, key=lambda cause: KINDS.index(cause.kind))
    return RunDifferences(tuple(causes), operations, pairs, is_renumbered, tuple(bound))


def _has_other_seqs(pairs: Sequence[AlignedOperation]) -> bool:
    """Whether an operation has another seq in B, or one of A alone has the seq of one of B alone."""
    if any(pair.a and pair.b and pair.a.seq != pair.b.seq for pair in pairs):
        return True
    only_a = {pair.a.seq for pair in pairs if pair.a and not pair.b}
    return any(pair.b.seq in only_a for pair in pairs if pair.b and not pair.a)


def _numbered_causes(
    a: ComparedOutput, b: ComparedOutput, pairs: Sequence[AlignedOperation], causes: Iterable[OperationCause]
) -> frozenset[CauseName]:
    """Causes that have another seq, would share one with an operation of the other side, or name seqs."""
    seqs_a, seqs_b = ({operation.seq for pair in pairs if (operation := side(pair))} for side in (_of_a, _of_b))
    named = named_texts(a.plan.project), named_texts(b.plan.project)

    def is_bound(pair: AlignedOperation) -> bool:
        texts = [
            operation_content(operation, names)
            for operation, names in zip((pair.a, pair.b), named, strict=True)
            if operation
        ]
        if any(_SEQ_COLUMN in text for text in texts):
            return True
        if pair.a and pair.b:
            return pair.a.seq != pair.b.seq
        return pair.either.seq in (seqs_b if pair.a else seqs_a)

    return frozenset(cause.name for cause in causes if is_bound(cause.pair))


def _of_a(pair: AlignedOperation) -> Operation | None:
    return pair.a


def _of_b(pair: AlignedOperation) -> Operation | None:
    return pair.b


def _names_seqs(a: ComparedOutput, b: ComparedOutput, pairs: Sequence[AlignedOperation]) -> bool:
    """Whether an expression names `_operation_seq`, so that the numbers themselves matter."""
    sides = (
        ([pair.a for pair in pairs if pair.a], named_texts(a.plan.project)),
        ([pair.b for pair in pairs if pair.b], named_texts(b.plan.project)),
    )
    return any(
        _SEQ_COLUMN in operation_content(operation, named) for operations, named in sides for operation in operations
    )


def order_causes(causes: Sequence[CauseName], requested: Sequence[str]) -> tuple[CauseName, ...]:
    """Kinds, or single causes as KIND:NAME, in the requested order; what is not named follows in its usual order."""
    texts = {cause.text for cause in causes}
    for word in requested:
        if word not in KINDS and word not in texts:
            hint = did_you_mean(word, (*KINDS, *sorted(texts)))
            raise DaybookError("RUN_078", word=word, known=", ".join(KINDS), hint=hint)

    def place(cause: CauseName) -> int:
        for word in (cause.text, cause.kind):
            if word in requested:
                return requested.index(word)
        return len(requested)

    return tuple(sorted(causes, key=place))


# Data.


def load_of(run: RecordedRun, dataset_id: str, version: int | None = None) -> SourceSnapshot | None:
    """What a run read of a dataset; of several versions the one that is named, else the first."""
    sources = [source for source in run.snapshot.sources if source.dataset_id == dataset_id]
    exact = [source for source in sources if source.dataset_version == version]
    return next(iter((*exact, *sources)), None)


def dataset_of(run: RecordedRun, source: SourceSnapshot) -> DatasetVersion:
    key = (source.dataset_id, source.dataset_version)
    return next(version for version in run.snapshot.datasets if (version.dataset.id, version.version) == key)


def effective_as_of(snapshot: RunSnapshot, source: SourceSnapshot) -> date:
    return source.resolution.as_of or snapshot.as_of


def common_datasets(a: RecordedRun, b: RecordedRun) -> tuple[str, ...]:
    """The datasets that both runs read, in the order of B."""
    ids_a = {source.dataset_id for source in a.snapshot.sources}
    return tuple(dict.fromkeys(source.dataset_id for source in b.snapshot.sources if source.dataset_id in ids_a))


def _relevant_datasets(a: ComparedOutput, b: ComparedOutput) -> tuple[str, ...]:
    """Those of them that the rows of the output depend on."""
    used = a.dataset_ids | b.dataset_ids
    return tuple(dataset_id for dataset_id in common_datasets(a.run, b.run) if dataset_id in used)


def has_other_input(a: RecordedRun, b: RecordedRun) -> bool:
    return a.snapshot.project.input.dataset_id != b.snapshot.project.input.dataset_id


def _data_causes(a: ComparedOutput, b: ComparedOutput) -> Iterator[CauseName]:
    before, after = (side.run.snapshot.project.input.dataset_id for side in (a, b))
    if before != after:
        yield CauseName("data", after, f"input {after} instead of {before}")
    for dataset_id in _relevant_datasets(a, b):
        # A dataset that became the input is swapped as a whole, wherever it is read.
        is_new_input = before != after == dataset_id
        if not is_new_input and _reads(a.run, dataset_id) != _reads(b.run, dataset_id):
            yield CauseName("data", dataset_id, f"data of {dataset_id}")


def _reads(run: RecordedRun, dataset_id: str) -> list[Any]:
    """What identifies the rows that a run read of a dataset, whatever its versions are called."""
    reads = []
    for source in run.snapshot.sources:
        if source.dataset_id != dataset_id:
            continue
        resolution, version = source.resolution, dataset_of(run, source)
        places = [
            (location.format, location.label, location.period and location.period.identifier)
            for location in resolution.locations
        ]
        is_filtered = version.dataset.main_table.temporal_mode == "period"
        periods = resolution.periods or (run.snapshot.period.identifier,)
        rows: Any = [_pin_identity(pin) for pin in run.pins.get(source.key, ())]
        if is_filtered and source.slices and set(periods) <= source.slices.keys():
            # Slices are replaced as a whole, so the run that wrote one says what is in it.
            rows = sorted(source.slices.items())
        reads.append((places, periods if is_filtered else (), resolution.row_period, rows))
    return sorted(reads, key=repr)


def _pin_identity(pin: Pin) -> Any:
    match pin:
        case TablePin(uri, version, table_id):
            return (uri, version.token, table_id)
        case FilesPin(uri, files):
            return (uri, files)
        case LandedPin(uris, folder, _, files):
            # Files have their content; databases are landed again by every run.
            return (uris, tuple((file.stat.path, file.digest) for file in files) or folder)


def _as_of_causes(a: ComparedOutput, b: ComparedOutput) -> Iterator[CauseName]:
    for dataset_id in _relevant_datasets(a, b):
        days = [_as_of(side.run, dataset_id) for side in (a, b)]
        if None not in days and days[0] != days[1]:
            yield CauseName("as_of", dataset_id, f"{dataset_id} as of {days[1]} instead of {days[0]}")


def _as_of(run: RecordedRun, dataset_id: str) -> date | None:
    source = load_of(run, dataset_id)
    if source is None or dataset_of(run, source).dataset.main_table.temporal_mode != "bitemporal":
        return None
    return effective_as_of(run.snapshot, source)


def _dataset_causes(a: ComparedOutput, b: ComparedOutput) -> Iterator[CauseName]:
    for dataset_id in _relevant_datasets(a, b):
        differences = []
        if _definition(a.run, dataset_id) != _definition(b.run, dataset_id):
            differences.append(f"definition of {dataset_id}")
        if _has_other_resolver(a.run, b.run, dataset_id):
            names = [_resolver_name(side.run, dataset_id) for side in (b, a)]
            differences.append(f"{dataset_id} by {names[0]} instead of {names[1]}")
        if differences:
            yield CauseName("dataset", dataset_id, ", ".join(differences))


def _has_other_resolver(a: RecordedRun, b: RecordedRun, dataset_id: str) -> bool:
    """Whether another resolver, or another version of it, sent the two runs to other places."""
    names = {_resolver_name(run, dataset_id) for run in (a, b)}
    return len(names) > 1 and _places(a, dataset_id) != _places(b, dataset_id)


def _resolver_name(run: RecordedRun, dataset_id: str) -> str:
    source = load_of(run, dataset_id)
    if source is None or source.resolution.resolver_id is None:
        return "its own location"
    version = source.resolution.resolver_version
    return f"resolver {source.resolution.resolver_id}" + (f" version {version}" if version is not None else "")


def _places(run: RecordedRun, dataset_id: str) -> list[Any]:
    """Where a run found a dataset, and the periods that it accepted there."""
    resolutions = [source.resolution for source in run.snapshot.sources if source.dataset_id == dataset_id]
    return sorted(
        ((sorted(map(_place, resolution.locations)), resolution.periods) for resolution in resolutions), key=repr
    )


def _place(location: Location) -> tuple[str, str]:
    return location.format, location.label


def _definition(run: RecordedRun, dataset_id: str) -> Any:
    """What a dataset says about its rows; where they are, and names, are no part of it."""
    if (source := load_of(run, dataset_id)) is None:
        return None
    version = dataset_of(run, source)
    table = version.dataset.main_table
    columns = [(column.name, column.type, column.nullable) for column in table.columns]
    return (columns, table.name, table.temporal_mode, version.as_of_rule, version.dataset.natural_key_columns)


# Timestamp and period.


def _constant_causes(a: ComparedOutput, b: ComparedOutput) -> Iterator[CauseName]:
    before, after = a.run.snapshot, b.run.snapshot
    used = {name for side in (a, b) for name in _used_parameters(side.plan)}
    for name in sorted(used & before.parameters.keys() & after.parameters.keys()):
        values = before.parameters[name], after.parameters[name]
        types = before.project.parameters[name].type, after.project.parameters[name].type
        if values[0] != values[1] or types[0] != types[1]:
            yield CauseName("parameter", name, f"parameter {name}: {values[1]} instead of {values[0]}")
    constants = {name for side in (a, b) for name in used_constants(side.plan)}
    reads_time = any(_reads_time(side.plan) for side in (a, b))
    if before.timestamp != after.timestamp and (reads_time or constants & _TIME_CONSTANTS):
        label = f"time of the run, {after.timestamp:%Y-%m-%d %H:%M} instead of {before.timestamp:%Y-%m-%d %H:%M}"
        yield CauseName("timestamp", after.timestamp.isoformat(), label)
    if before.period != after.period and constants - _TIME_CONSTANTS:
        label = f"period {after.period.identifier} instead of {before.period.identifier}"
        yield CauseName("period", after.period.identifier, label)


def used_constants(plan: Plan) -> set[str]:
    return {node.name for tree in _trees(plan) for node in tree.walk() if isinstance(node, ConstantValue)}


def _used_parameters(plan: Plan) -> set[str]:
    return {node.name for tree in _trees(plan) for node in tree.walk() if isinstance(node, ParameterValue)}


def depends_on_constants(plan: Plan) -> bool:
    return bool(used_constants(plan) or _used_parameters(plan)) or _reads_time(plan)


def _reads_time(plan: Plan) -> bool:
    return any(
        bool(working_columns(expression) & _TIME_COLUMNS) for step in plan.steps for expression in _expressions(step)
    )


def _trees(plan: Plan) -> Iterator[TypedNode]:
    return (expression.tree for step in plan.steps for expression in _expressions(step))


def _expressions(step: Step) -> Iterator[Any]:
    """Every compiled expression of a step."""
    match step:
        case UpdateStep():
            expressions: Iterable[Any] = (*step.expressions, *(join.on for join in step.joins))
        case DeleteStep() | CheckStep():
            expressions = step.expressions
        case AggregateStep():
            expressions = (step.selector, *(value.expression for value in step.aggregations))
        case AppendStep():
            expressions = (step.source_selector, *(value.expression for value in step.aggregations))
        case OutputStep():
            expressions = (step.selector,)
    return (expression for expression in expressions if expression is not None)


# Operations.


def _relevant_pairs(a: ComparedOutput, b: ComparedOutput) -> tuple[AlignedOperation, ...]:
    """The operations that the rows of the output depend on: those before it, without checks and other outputs."""
    aligned = []
    outputs = (a.step.seq, b.step.seq)
    for pair in align_operations(a.plan.project, b.plan.project):
        operation_a = pair.a if pair.a and _is_relevant(pair.a, outputs[0]) else None
        operation_b = pair.b if pair.b and _is_relevant(pair.b, outputs[1]) else None
        if operation_a or operation_b:
            aligned.append(AlignedOperation(operation_a, operation_b))
    return _with_one_output(aligned, a, b)


def _is_relevant(operation: Operation, output_seq: int) -> bool:
    if isinstance(operation, OutputOperation):
        return operation.seq == output_seq
    return operation.seq < output_seq and not isinstance(operation, CheckOperation)


def _with_one_output(
    pairs: list[AlignedOperation], a: ComparedOutput, b: ComparedOutput
) -> tuple[AlignedOperation, ...]:
    """The two outputs are one pair, whatever they are called: they are what is compared."""
    outputs = {
        side: next(
            operation
            for operation in project.operations
            if isinstance(operation, OutputOperation) and operation.seq == step.seq
        )
        for side, project, step in (("a", a.plan.project, a.step), ("b", b.plan.project, b.step))
    }
    others = [
        AlignedOperation(
            None if isinstance(pair.a, OutputOperation) else pair.a,
            None if isinstance(pair.b, OutputOperation) else pair.b,
        )
        for pair in pairs
    ]
    return (*(pair for pair in others if pair.a or pair.b), AlignedOperation(outputs["a"], outputs["b"]))


def _operation_causes(
    a: ComparedOutput, b: ComparedOutput, pairs: Sequence[AlignedOperation], *, counts_seqs: bool
) -> Iterator[OperationCause]:
    names_a, names_b = named_texts(a.plan.project), named_texts(b.plan.project)
    moved = moved_pairs(pairs)
    for pair in sorted(pairs, key=lambda pair: (pair.either.seq, pair.b is None)):
        change: OperationChange | None = None
        if pair.a is None:
            change = "added"
        elif pair.b is None:
            change = "removed"
        elif operation_content(pair.a, names_a) != operation_content(pair.b, names_b):
            change = "changed"
        elif pair in moved or (counts_seqs and pair.a.seq != pair.b.seq):
            change = "moved"
        if change is not None:
            operation = pair.either
            name = CauseName("definition", operation.id, f"{operation.seq} {operation.name} ({change})")
            yield OperationCause(name, pair, change)
