"""What applying a set of definitions changes and breaks, computed without changing anything."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from difflib import unified_diff
from typing import TYPE_CHECKING, Any, Literal, cast

from daybook.errors import DaybookError, Notice, notice
from daybook.model.calendar import Calendar
from daybook.model.dataset import ColumnDef, Dataset, View
from daybook.model.datasource import DataSource, Resolver
from daybook.model.definition import (
    Catalog,
    CatalogKind,
    CatalogLayer,
    DatasetVersion,
    DeclaredVersion,
    Definition,
    DefinitionKind,
    DefinitionStatus,
    ResolverVersion,
)
from daybook.model.project import Project
from daybook.model.serialization import DefinitionModel, encode_definition, to_yaml
from daybook.model.types import DecimalType
from daybook.store.database.definitions import DefinitionHead
from daybook.store.records import StoredColumnUsage

if TYPE_CHECKING:
    # `status` plans no project.
    from daybook.plan.plan_cache import PlanCache, RegisteredCatalog

ColumnChangeKind = Literal["added", "removed", "retyped", "narrowed", "widened"]

BREAKING_KINDS: frozenset[ColumnChangeKind] = frozenset({"removed", "retyped", "narrowed"})


@dataclass(frozen=True, slots=True)
class ColumnChange:
    """`before` and `after` are the column's type, with `not null` where NULL is not allowed."""

    column: str
    kind: ColumnChangeKind
    before: str | None
    after: str | None

    @property
    def is_breaking(self) -> bool:
        return self.kind in BREAKING_KINDS

    def __str__(self) -> str:
        match self.kind:
            case "added":
                return f"is new as {self.after}"
            case "removed":
                return "is removed"
            case "retyped":
                return f"becomes {self.after} instead of {self.before}"
            case "narrowed":
                return f"is narrowed from {self.before} to {self.after}"
            case "widened":
                return f"is widened from {self.before} to {self.after}"


def find_column_changes(before: Dataset, after: Dataset) -> tuple[ColumnChange, ...]:
    """In the order of the columns before, then the new ones."""
    old = {column.name: column for column in before.main_table.columns}
    new = {column.name: column for column in after.main_table.columns}
    changes = [_compare_column(column, new.get(name)) for name, column in old.items()]
    added = [
        ColumnChange(name, "added", None, _describe_column(column)) for name, column in new.items() if name not in old
    ]
    return (*(change for change in changes if change), *added)


def _compare_column(old: ColumnDef, new: ColumnDef | None) -> ColumnChange | None:
    if new is None:
        return ColumnChange(old.name, "removed", _describe_column(old), None)
    kind = _column_change_kind(old, new)
    return ColumnChange(old.name, kind, _describe_column(old), _describe_column(new)) if kind else None


def _column_change_kind(old: ColumnDef, new: ColumnDef) -> ColumnChangeKind | None:
    match old.type, new.type:
        case DecimalType() as before, DecimalType() as after:
            loses_digits = after.precision - after.scale < before.precision - before.scale
            is_narrower, is_wider = loses_digits or after.scale < before.scale, after != before
        case before, after if before != after:
            return "retyped"
        case _:
            is_narrower = is_wider = False
    if is_narrower or (old.nullable and not new.nullable):
        return "narrowed"
    if is_wider or (new.nullable and not old.nullable):
        return "widened"
    return None


def _describe_column(column: ColumnDef) -> str:
    return str(column.type) if column.nullable else f"{column.type} not null"


@dataclass(frozen=True, slots=True)
class BreakingChange:
    """A column that operations use is no longer what they were validated against."""

    dataset_id: str
    validated_version: int
    version: int
    change: ColumnChange
    operations: tuple[int, ...]

    def as_data(self) -> dict[str, Any]:
        return {
            "dataset_id": self.dataset_id,
            "validated_version": self.validated_version,
            "version": self.version,
            "column": self.change.column,
            "change": self.change.kind,
            "before": self.change.before,
            "after": self.change.after,
            "operations": list(self.operations),
        }

    def as_error(self) -> DaybookError:
        plural = "s" if len(self.operations) > 1 else ""
        return DaybookError(
            "STORE_025",
            operations=f"Operation{plural} {', '.join(str(seq) for seq in self.operations)}",
            column=self.change.column,
            dataset_id=self.dataset_id,
            change=str(self.change),
            version=self.version,
            hint=f"adapt the project, or pin `dataset_version: {self.validated_version}`",
        )


def find_breaking_changes(
    validated: DatasetVersion, latest: DatasetVersion, usage: Iterable[StoredColumnUsage]
) -> tuple[BreakingChange, ...]:
    """Breaking changes of columns that are used through references which follow the latest version."""
    users: dict[str, set[int]] = {}
    for use in usage:
        if use.dataset_id == validated.dataset.id and not use.is_pinned:
            users.setdefault(use.column, set()).add(use.operation_seq)
    return tuple(
        BreakingChange(
            validated.dataset.id, validated.version, latest.version, change, tuple(sorted(users[change.column]))
        )
        for change in find_column_changes(validated.dataset, latest.dataset)
        if change.is_breaking and change.column in users
    )


def added_columns(validated: DatasetVersion, latest: DatasetVersion) -> tuple[str, ...]:
    """Columns a newer version has on top."""
    changes = find_column_changes(validated.dataset, latest.dataset)
    return tuple(change.column for change in changes if change.kind == "added")


ChangeAction = Literal["added", "new_version", "retitled", "enabled", "unchanged", "disabled"]

DefinitionHeads = Mapping[tuple[DefinitionKind, str], DefinitionHead]


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
    definition: Definition[DefinitionModel] | None
    # Old and new text as a unified difference, where that was asked for.
    difference: str = ""

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


class ProspectiveCatalog(CatalogLayer):
    def __init__(self, base: Catalog, changes: Iterable[DefinitionChange]) -> None:
        super().__init__(base)
        self._changes = {(change.kind, change.id): change for change in changes}
        # A close asks for each dataset once per project and period that reads it.
        self._declared: dict[tuple[str, int | None], DeclaredVersion | None] = {}

    def declared(self, dataset_id: str, version: int | None = None) -> DeclaredVersion | None:
        key = (dataset_id, version)
        if key not in self._declared:
            self._declared[key] = self._find_declared(dataset_id, version)
        return self._declared[key]

    def _find_declared(self, dataset_id: str, version: int | None) -> DeclaredVersion | None:
        change = self._changes.get(("dataset", dataset_id))
        if change is None:
            return super().declared(dataset_id, version)
        status: DefinitionStatus = "disabled" if change.action == "disabled" else "active"
        if change.definition is not None and version in (None, change.version):
            from daybook.plan.references import carry_data

            contract = cast("Dataset | View", change.definition.model)
            dataset, pin = carry_data(contract, super().declared(dataset_id))
            return DeclaredVersion(dataset, change.version, status, pin, contract)
        known = super().declared(dataset_id, version)
        return replace(known, status=status) if known else None

    def dataset_versions(self, dataset_id: str) -> tuple[int, ...]:
        known = self._base.dataset_versions(dataset_id)
        change = self._changes.get(("dataset", dataset_id))
        return (*known, change.version) if change and change.is_structural else known

    def datasource(self, datasource_id: str) -> DataSource | None:
        written = self._written("datasource", datasource_id)
        return cast(DataSource, written) if written else self._base.datasource(datasource_id)

    def is_datasource_disabled(self, datasource_id: str) -> bool:
        change = self._changes.get(("datasource", datasource_id))
        return self._base.is_datasource_disabled(datasource_id) if change is None else change.action == "disabled"

    def resolver(self, resolver_id: str) -> ResolverVersion | None:
        change = self._changes.get(("resolver", resolver_id))
        if change is None:
            return self._base.resolver(resolver_id)
        if change.definition is not None:
            return ResolverVersion(cast(Resolver, change.definition.model), change.version)
        known = self._base.resolver(resolver_id)
        return replace(known, status="disabled") if known else None

    def default_resolver(self) -> ResolverVersion | None:
        candidates = self.default_resolver_ids()
        return self.resolver(candidates[0]) if candidates else None

    def default_resolver_ids(self) -> tuple[str, ...]:
        """All that claim to be the default; more than one is refused."""
        written = {
            change.id
            for change in self._changes.values()
            if change.definition is not None and getattr(change.definition.model, "is_default", False)
        }
        stored = self._base.default_resolver()
        if stored is not None and ("resolver", stored.resolver.id) not in self._changes:
            written.add(stored.resolver.id)
        return tuple(sorted(written))

    def calendar(self, calendar_id: str) -> Calendar | None:
        change = self._changes.get(("calendar", calendar_id))
        if change is None:
            return self._base.calendar(calendar_id)
        return cast(Calendar, change.definition.model) if change.definition else None

    def ids(self, kind: CatalogKind) -> tuple[str, ...]:
        changes = [change for change in self._changes.values() if change.kind == kind]
        gone = {change.id for change in changes if change.definition is None}
        present = {change.id for change in changes if change.definition is not None}
        return tuple(sorted((set(self._base.ids(kind)) | present) - gone))

    def _written(self, kind: DefinitionKind, identifier: str) -> object | None:
        change = self._changes.get((kind, identifier))
        return change.definition.model if change and change.definition else None


def expected_catalog(
    stored: Catalog,
    base: Catalog,
    files: Iterable[Definition[DefinitionModel]],
    heads: DefinitionHeads,
    plans: "PlanCache",
) -> "RegisteredCatalog":
    """`base` with what the projects of the files will register, planned with everything that the files say."""
    from daybook.plan.plan_cache import RegisteredCatalog

    written = tuple(files)
    seen = ProspectiveCatalog(stored, find_changes(written, heads, workspace="", prune=False))
    makers = [cast("Definition[Project]", each) for each in written if each.kind == "project"]
    return RegisteredCatalog(base, makers, plans, seen)
