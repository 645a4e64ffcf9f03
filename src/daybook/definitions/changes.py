"""How the definitions of files differ from those that are stored, and what is seen once they are applied."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from difflib import unified_diff
from typing import Annotated, Any, Literal, cast

from daybook.definitions.dataset_fit import carry_data
from daybook.definitions.declared_targets import with_targets
from daybook.definitions.deferred import Deferred
from daybook.definitions.value import DatasetVersions, Definitions, LatestVersion, Overlaid
from daybook.errors import Notice, notice
from daybook.model.dataset import Dataset, View
from daybook.model.definition import DeclaredVersion, Definition, DefinitionKind, DefinitionStatus
from daybook.model.json_fields import Hidden, ShownAs
from daybook.model.project import Project
from daybook.model.serialization import DefinitionModel, encode_definition, to_yaml


@dataclass(frozen=True, slots=True)
class DefinitionHead:
    """The present of a definition without its text."""

    kind: DefinitionKind
    id: str
    version: int
    status: DefinitionStatus
    text_digest: str
    structure_digest: str
    workspace: str | None
    is_default: bool = False


ChangeAction = Literal["added", "new_version", "retitled", "enabled", "unchanged", "disabled"]

DefinitionHeads = Mapping[tuple[DefinitionKind, str], DefinitionHead]


def _or_none(text: str) -> str | None:
    return text or None


@dataclass(frozen=True, slots=True)
class DefinitionChange:
    """`version` is what the definition has afterwards; `definition` is what is written, None for a disabling.

    `retitled` is a new name or description, `enabled` the return of something disabled.
    """

    kind: DefinitionKind
    id: str
    action: ChangeAction
    version: int
    previous_version: int | None
    definition: Hidden[Definition[DefinitionModel] | None]
    # Old and new text as a unified difference, where that was asked for.
    difference: Annotated[str, ShownAs(_or_none, str | None)] = ""

    @property
    def is_structural(self) -> bool:
        return self.action in ("added", "new_version")


def find_changes(
    definitions: Iterable[Definition[DefinitionModel]], heads: DefinitionHeads, *, workspace: str, prune: bool
) -> tuple[DefinitionChange, ...]:
    """One change per definition, then what pruning disables; registered datasets are never pruned."""
    changes = [_find_change(definition, heads.get((definition.kind, definition.id))) for definition in definitions]
    defined = {(change.kind, change.id) for change in changes}
    gone = [
        DefinitionChange(head.kind, head.id, "disabled", head.version, head.version, None)
        for key, head in sorted(heads.items())
        if prune and key not in defined and head.workspace == workspace and head.status == "active"
    ]
    return (*changes, *gone)


def is_changed_dataset(change: DefinitionChange) -> bool:
    return change.kind == "dataset" and change.action != "unchanged"


def text_difference(before: DefinitionModel, after: DefinitionModel, kind: DefinitionKind) -> str:
    """How the text of a definition changes, as `diff -u` shows it, without the names of files."""
    old, new = (to_yaml(kind, model).splitlines() for model in (before, after))
    return "\n".join(list(unified_diff(old, new, lineterm=""))[2:])


def ownership_notices(changes: Iterable[DefinitionChange], heads: DefinitionHeads, workspace: str) -> Iterator[Notice]:
    """Definitions that came from another workspace before, and datasets that only outputs registered before."""
    for change in changes:
        head = heads.get((change.kind, change.id))
        if change.definition is None or head is None or head.workspace == workspace:
            continue
        if head.workspace is None:
            yield notice("STORE_009", id=change.id, span=change.definition.source.span("id"))
        else:
            kind = change.kind.capitalize()
            yield notice("STORE_027", kind=kind, id=change.id, previous=head.workspace, workspace=workspace)


def _find_change(definition: Definition[DefinitionModel], head: DefinitionHead | None) -> DefinitionChange:
    kind, identifier = definition.kind, definition.id
    if head is None:
        return DefinitionChange(kind, identifier, "added", 1, None, definition)
    text = encode_definition(kind, definition.model)
    if text.structure_digest != head.structure_digest:
        return DefinitionChange(kind, identifier, "new_version", head.version + 1, head.version, definition)
    action: ChangeAction = "unchanged"
    if head.status == "disabled":
        action = "enabled"
    elif text.text_digest != head.text_digest:
        action = "retitled"
    return DefinitionChange(kind, identifier, action, head.version, head.version, definition)


def with_changes(definitions: Definitions, difference: Iterable[DefinitionChange]) -> Definitions:
    """What is seen once the changes are applied."""
    changes = tuple(difference)
    datasets, makers = dict(definitions.datasets), definitions.makers
    latest: dict[DefinitionKind, dict[str, LatestVersion[Any]]] = {
        "datasource": dict(definitions.datasources),
        "resolver": dict(definitions.resolvers),
        "calendar": dict(definitions.calendars),
    }
    for change in changes:
        if change.kind == "dataset":
            datasets[change.id] = _changed_dataset(datasets.get(change.id), change)
        elif change.kind in latest:
            before = latest[change.kind].get(change.id)
            if change.definition is not None:
                latest[change.kind][change.id] = LatestVersion.of(cast(Any, change.definition.model), change.version)
            elif before is not None:
                latest[change.kind][change.id] = replace(before, status="disabled")
    changed = Definitions(datasets, latest["datasource"], latest["resolver"], latest["calendar"], makers)
    written = [change.definition.model for change in changes if change.definition is not None]
    return with_targets(changed, [model for model in written if isinstance(model, Project)])


def _changed_dataset(before: object, change: DefinitionChange) -> DatasetVersions:
    stored = before if isinstance(before, DatasetVersions) else None
    status: DefinitionStatus = "disabled" if change.action == "disabled" else "active"
    numbered: Mapping[int, Deferred[DeclaredVersion | None]] = stored.numbered if stored is not None else {}
    if stored is not None and stored.status != status:
        numbered = {number: _with_status(version, status) for number, version in numbered.items()}
    if change.definition is None:
        if stored is None:
            raise AssertionError(f"dataset {change.id} is disabled and not stored")
        return DatasetVersions(Deferred(lambda: replace(stored.latest.value, status=status)), numbered, status)
    contract = cast("Dataset | View", change.definition.model)
    written = Deferred(lambda: _written_version(contract, stored, change.version, status))
    return DatasetVersions(written, Overlaid(numbered, {change.version: written}), status)


def _written_version(
    contract: Dataset | View, stored: DatasetVersions | None, version: int, status: DefinitionStatus
) -> DeclaredVersion:
    dataset, pin = carry_data(contract, stored.latest.value if stored is not None else None)
    return DeclaredVersion(dataset, version, status, pin, contract)


def _with_status(
    version: Deferred[DeclaredVersion | None], status: DefinitionStatus
) -> Deferred[DeclaredVersion | None]:
    def compute() -> DeclaredVersion | None:
        return replace(version.value, status=status) if version.value is not None else None

    return Deferred(compute)
