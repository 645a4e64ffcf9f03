"""What applying a set of definitions changes, computed without changing anything."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from daybook.errors import DaybookError, Notice, notice
from daybook.model.definition import Definition, Kind
from daybook.store.definitions import DefinitionHead
from daybook.store.texts import DefinitionModel, to_text

Action = Literal["added", "new_version", "retitled", "enabled", "unchanged", "disabled"]

Heads = Mapping[tuple[Kind, str], DefinitionHead]


@dataclass(frozen=True, slots=True)
class Change:
    """`version` is what the definition has afterwards; `definition` is what is written, None for a disabling.

    `retitled` is a new name or description, `enabled` the return of something disabled.
    """

    kind: Kind
    id: str
    action: Action
    version: int
    previous_version: int | None
    definition: Definition[DefinitionModel] | None

    @property
    def is_structural(self) -> bool:
        return self.action in ("added", "new_version")


def find_changes(
    definitions: Iterable[Definition[DefinitionModel]], heads: Heads, *, workspace: str, prune: bool
) -> tuple[Change, ...]:
    """One change per definition, then what pruning disables; registered datasets are never pruned."""
    changes = [_change(definition, heads.get((definition.kind, definition.id))) for definition in definitions]
    defined = {(change.kind, change.id) for change in changes}
    gone = [
        Change(head.kind, head.id, "disabled", head.version, head.version, None)
        for key, head in sorted(heads.items())
        if prune and key not in defined and head.workspace == workspace and head.status == "active"
    ]
    return (*changes, *gone)


def ownership_errors(changes: Iterable[Change], heads: Heads) -> list[DaybookError]:
    """Files that define what outputs register."""
    return [
        DaybookError("STORE_009", id=change.id, owner="an output", span=change.definition.source.span("id"))
        for change in changes
        if change.definition is not None
        and (head := heads.get((change.kind, change.id))) is not None
        and head.workspace is None
    ]


def ownership_notices(changes: Iterable[Change], heads: Heads, workspace: str) -> list[Notice]:
    """Definitions that came from another workspace before."""
    return [
        notice("STORE_027", kind=change.kind.capitalize(), id=change.id, previous=head.workspace, workspace=workspace)
        for change in changes
        if change.definition is not None
        and (head := heads.get((change.kind, change.id))) is not None
        and head.workspace not in (None, workspace)
    ]


def _change(definition: Definition[DefinitionModel], head: DefinitionHead | None) -> Change:
    kind, identifier = definition.kind, definition.id
    if head is None:
        return Change(kind, identifier, "added", 1, None, definition)
    text = to_text(kind, definition.model)
    if text.structure_digest != head.structure_digest:
        return Change(kind, identifier, "new_version", head.version + 1, head.version, definition)
    action: Action = "unchanged"
    if head.status == "disabled":
        action = "enabled"
    elif text.text_digest != head.text_digest:
        action = "retitled"
    return Change(kind, identifier, action, head.version, head.version, definition)
