"""What definitions of a workspace say of each other."""

from collections.abc import Iterable, Iterator
from typing import Any

from daybook.errors import DaybookError, Span
from daybook.errors.suggestion import did_you_mean
from daybook.model.dataset import Dataset, TableLocation
from daybook.model.definition import DEFINITION_KINDS, SANDBOX_PREFIX, Definition, DefinitionKind
from daybook.model.loading.workspace import LoadedWorkspace
from daybook.model.operation import OutputOperation
from daybook.model.resolver import CatalogStrategy, Resolver
from daybook.model.source_map import KeyPath, SourceMap
from daybook.model.view import View, is_single_period

# The calendar that needs no definition.
BUILT_IN_CALENDAR = "gregorian"


def check_references(workspace: LoadedWorkspace) -> list[DaybookError]:
    """Every reference to something no file defines, and what only two definitions together get wrong."""
    known = _ReferenceChecker(workspace)
    errors = list(_check_single_default(workspace))
    for definition in workspace.all():
        errors += known.check(definition)
    return errors


class _ReferenceChecker:
    """The ids of a workspace, those that its projects register included."""

    def __init__(self, workspace: LoadedWorkspace) -> None:
        self._workspace = workspace
        registered = {
            operation.arguments.registered_id
            for definition in workspace.definitions["project"].values()
            for operation in definition.model.operations
            if isinstance(operation, OutputOperation) and operation.arguments.registered_id
        }
        self._ids: dict[DefinitionKind, frozenset[str]] = {
            kind: frozenset(workspace.definitions[kind]) for kind in DEFINITION_KINDS
        }
        self._ids["dataset"] |= registered
        self._ids["calendar"] |= {BUILT_IN_CALENDAR}

    def check(self, definition: Definition[Any]) -> Iterator[DaybookError]:
        match definition.model:
            case Dataset() as dataset:
                yield from self._dataset(dataset, definition.source)
            case View() as view:
                yield from self._view(view, definition.source)
            case Resolver() as resolver:
                yield from self._resolver(resolver, definition.source)
            case _:
                return

    def _dataset(self, dataset: Dataset, source: SourceMap) -> Iterator[DaybookError]:
        if dataset.id.startswith(SANDBOX_PREFIX):
            reason = f"ids that begin with {SANDBOX_PREFIX} are those of what drafts register"
            yield DaybookError("MODEL_028", span=source.span("id"), where="id", reason=reason)
        if dataset.resolver_id is not None:
            yield from self._exists("resolver", dataset.resolver_id, source, "resolver_id")
        if isinstance(location := dataset.main_table.location, TableLocation):
            yield from self._exists(
                "datasource", location.datasource_id, source, "main_table", "location", "datasource_id"
            )

    def _view(self, view: View, source: SourceMap) -> Iterator[DaybookError]:
        yield from self._exists("dataset", view.view.of, source, "view", "of")
        seen = [view.id]
        while isinstance(model := self._declared(view.view.of), View):
            seen.append(model.id)
            if model.id in seen[:-1]:
                yield DaybookError("MODEL_083", span=source.span("view", "of"), path=" → ".join(seen))
                return
            view = model
        if not isinstance(model, Dataset):
            return
        match model.main_table.temporal_mode:
            case None | "snapshot":
                yield DaybookError("MODEL_084", span=source.span("view", "of"), dataset=model.id)
            case "bitemporal" if not is_single_period(view.view.window):
                yield DaybookError("MODEL_085", span=source.span("view", "window"), dataset=model.id)
            case _:
                pass

    def _declared(self, dataset_id: str) -> object:
        definition = self._workspace.get("dataset", dataset_id)
        return definition.model if definition is not None else None

    def _resolver(self, resolver: Resolver, source: SourceMap) -> Iterator[DaybookError]:
        for index, rule in enumerate(resolver.rules):
            if not isinstance(rule.strategy, CatalogStrategy):
                path: KeyPath = ("rules", index, "strategy", "datasource_id")
                yield from self._exists("datasource", rule.strategy.datasource_id, source, *path)

    def _exists(self, kind: DefinitionKind, id_: str, source: SourceMap, *path: str | int) -> Iterator[DaybookError]:
        if id_ not in self._ids[kind]:
            yield self._unknown(kind, id_, source.span(*path))

    def _unknown(self, kind: DefinitionKind, id_: str, span: Span | None) -> DaybookError:
        return DaybookError("MODEL_061", span=span, hint=did_you_mean(id_, self._ids[kind]), kind=kind, id=id_)


def _check_single_default(workspace: LoadedWorkspace) -> Iterable[DaybookError]:
    defaults = [one for one in workspace.definitions["resolver"].values() if one.model.is_default]
    for second in defaults[1:]:
        span = second.source.span("is_default")
        yield DaybookError("MODEL_062", span=span, first=defaults[0].id, second=second.id)
