"""The definitions of the store as a value; a transaction that only reads sees one state of the store."""

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, cast

from daybook.definitions.changes import DefinitionHead
from daybook.definitions.declared_targets import Targets, registered_targets, with_target
from daybook.definitions.deferred import Deferred
from daybook.definitions.value import DatasetVersions, Definitions, LatestVersion
from daybook.model.dataset import Dataset, View
from daybook.model.definition import SANDBOX_PREFIX, DeclaredVersion, DefinitionKind, DefinitionStatus
from daybook.model.project import Project

if TYPE_CHECKING:
    from daybook.store.database.definition_rows import DefinitionRows


def read_definitions(rows: "DefinitionRows", *, with_sandbox: bool = False) -> Definitions:
    """All definitions; their texts are read and decoded when they are needed, while the transaction is open.

    What draft runs registered in the sandbox is visible only `with_sandbox`. A transaction that only reads asks for
    the datasets that are needed; one that writes may change them, and reads what there is now.
    """
    others = tuple(rows.heads("datasource", "resolver", "calendar").values())
    targets = Deferred(lambda: registered_targets(_projects(rows)))
    datasets = _StoredDatasets(rows, targets, with_sandbox=with_sandbox)
    return Definitions(
        datasets if rows.is_read_only else datasets.all(),
        _latest_versions(rows, others, "datasource"),
        _latest_versions(rows, others, "resolver"),
        _latest_versions(rows, others, "calendar"),
    )


def read_dataset(rows: "DefinitionRows", dataset_id: str) -> DeclaredVersion | None:
    """The latest version of one dataset, as `read_definitions` has it."""
    head = rows.head("dataset", dataset_id)
    if head is None:
        return None
    targets = Deferred(lambda: registered_targets(_projects(rows)))
    return with_target(_dataset_version(rows, head, None).value, lambda: targets.value)


def _latest_versions(
    rows: "DefinitionRows", heads: Iterable[DefinitionHead], kind: DefinitionKind
) -> dict[str, LatestVersion[Any]]:
    return {head.id: _latest_version(rows, head) for head in heads if head.kind == kind}


def _latest_version(rows: "DefinitionRows", head: DefinitionHead) -> LatestVersion[Any]:
    model = Deferred(lambda: rows.model(head.kind, head.id))
    return LatestVersion(model, head.version, _status(head), head.is_default)


def _projects(rows: "DefinitionRows") -> Iterator[Project]:
    for head in rows.heads("project").values():
        if head.status != "disabled":
            yield cast("Project", rows.model("project", head.id))


def _dataset_versions(rows: "DefinitionRows", head: DefinitionHead, targets: Deferred[Targets]) -> DatasetVersions:
    latest = _dataset_version(rows, head, None)
    located = Deferred(lambda: with_target(latest.value, lambda: targets.value))
    return DatasetVersions(located, _NumberedVersions(rows, head), _status(head))


class _StoredDatasets(Mapping[str, DatasetVersions]):
    """Every dataset by id, each asked for when it is read: a node of a close reads a few of many."""

    def __init__(self, rows: "DefinitionRows", targets: Deferred[Targets], *, with_sandbox: bool) -> None:
        self._rows = rows
        self._targets = targets
        self._with_sandbox = with_sandbox
        self._asked: dict[str, DatasetVersions] = {}
        self._has_all = False

    def all(self) -> Mapping[str, DatasetVersions]:
        """The same, read at once."""
        if not self._has_all:
            heads = [head for head in self._rows.heads("dataset").values() if self._is_visible(head.id)]
            self._asked = {
                head.id: self._asked.get(head.id) or _dataset_versions(self._rows, head, self._targets)
                for head in heads
            }
            self._has_all = True
        return self._asked

    def __getitem__(self, dataset_id: str) -> DatasetVersions:
        if dataset_id not in self._asked and not self._has_all and self._is_visible(dataset_id):
            head = self._rows.head("dataset", dataset_id)
            if head is not None:
                self._asked[dataset_id] = _dataset_versions(self._rows, head, self._targets)
        return self._asked[dataset_id]

    def __iter__(self) -> Iterator[str]:
        return iter(self.all())

    def __len__(self) -> int:
        return len(self.all())

    def _is_visible(self, dataset_id: str) -> bool:
        return self._with_sandbox or not dataset_id.startswith(SANDBOX_PREFIX)


class _NumberedVersions(Mapping[int, Deferred[DeclaredVersion | None]]):
    """Every version of a dataset by number; most are never asked for."""

    def __init__(self, rows: "DefinitionRows", head: DefinitionHead) -> None:
        self._rows = rows
        self._head = head
        self._asked: dict[int, Deferred[DeclaredVersion | None]] = {}

    def __getitem__(self, number: int) -> Deferred[DeclaredVersion | None]:
        if not 1 <= number <= self._head.version:
            raise KeyError(number)
        if number not in self._asked:
            read = _dataset_version(self._rows, self._head, number)
            self._asked[number] = Deferred(lambda: read.value)
        return self._asked[number]

    def __iter__(self) -> Iterator[int]:
        return iter(range(1, self._head.version + 1))

    def __len__(self) -> int:
        return self._head.version


def _dataset_version(rows: "DefinitionRows", head: DefinitionHead, number: int | None) -> Deferred[DeclaredVersion]:
    def read() -> DeclaredVersion:
        stored = rows.get("dataset", head.id, number)
        dataset = cast("Dataset | View", rows.decoded("dataset", stored.body))
        contract = rows.contract(head.id) if number is None else None
        pin = rows.pin(head.id, stored.version)
        return DeclaredVersion(dataset, stored.version, _status(head), pin, contract, head.workspace is None)

    return Deferred(read)


def _status(head: DefinitionHead) -> DefinitionStatus:
    return "disabled" if head.status == "disabled" else "active"
