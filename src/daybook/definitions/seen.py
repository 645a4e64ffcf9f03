"""What a project sees, as a digest: a plan is valid as long as it stays the same."""

import hashlib
from collections.abc import Iterator

from daybook.definitions.value import Definitions
from daybook.model.dataset import Dataset, TableLocation, View
from daybook.model.datasource import CatalogStrategy
from daybook.model.definition import DatasetVersion, DeclaredVersion, Definition, ReferencedKind
from daybook.model.operation import OutputOperation, TableDestination
from daybook.model.project import Project


def project_digest(definition: Definition[Project]) -> str:
    """The digest of a project and of where its text stands, which findings point to."""
    source = definition.source
    return _digest((definition.model.model_dump_json(by_alias=True), str(source.file), source.text))


def seen_digest(definitions: Definitions, project: Project) -> str:
    """The digest of every definition that a project reaches, and of what is suggested where one is missing."""
    return _digest(_Reach(definitions).of(project))


def _digest(texts: Iterator[str] | tuple[str, ...]) -> str:
    digest = hashlib.sha256()
    for text in texts:
        digest.update(text.encode("utf-8", "surrogatepass"))
        digest.update(b"\0")
    return digest.hexdigest()


class _Reach:
    """Walks what a project reaches; every definition is told once."""

    def __init__(self, definitions: Definitions) -> None:
        self._definitions = definitions
        self._told: set[tuple[ReferencedKind, str, int | None]] = set()

    def of(self, project: Project) -> Iterator[str]:
        for _, reference in project.reads():
            yield from self._dataset(reference.dataset_id, reference.dataset_version)
        for dataset_id, resolver_id in project.resolver_overrides.items():
            yield from self._dataset(dataset_id, None)
            yield from self._resolver(resolver_id)
        for default_id in self._definitions.default_resolver_ids()[:1]:
            yield "default resolver"
            yield from self._resolver(default_id)
        if project.calendar_id is not None:
            calendar = self._definitions.calendar(project.calendar_id)
            yield from self._told_once(
                "calendar", project.calendar_id, calendar.model_dump_json(by_alias=True) if calendar else None
            )
        for operation in project.operations:
            if isinstance(operation, OutputOperation):
                destination = operation.arguments.destination
                if isinstance(destination, TableDestination):
                    yield from self._datasource(destination.datasource_id)

    def _dataset(self, dataset_id: str, version: int | None) -> Iterator[str]:
        if not self._is_new("dataset", dataset_id, version):
            return
        definitions = self._definitions
        versions = definitions.dataset_versions(dataset_id)
        declared = definitions.declared(dataset_id, version)
        read = definitions.dataset(dataset_id, version)
        yield f"dataset {dataset_id} {version}"
        if read is None:
            yield f"{versions} {definitions.registering_project(dataset_id)} {definitions.ids('dataset')}"
        if version is not None:
            yield from self._dataset(dataset_id, None)
        if declared is not None:
            yield _declared_text(declared)
            if isinstance(declared.dataset, View):
                yield from self._dataset(declared.dataset.view.of, declared.dataset.view.dataset_version)
            else:
                yield from self._location(declared.dataset)
        elif read is not None:
            yield _recorded_text(read)
            yield from self._location(read.dataset)

    def _location(self, dataset: Dataset) -> Iterator[str]:
        if dataset.resolver_id is not None:
            yield from self._resolver(dataset.resolver_id)
        if isinstance(location := dataset.main_table.location, TableLocation):
            yield from self._datasource(location.datasource_id)

    def _resolver(self, resolver_id: str) -> Iterator[str]:
        latest = self._definitions.resolver(resolver_id)
        text = f"{latest.version} {latest.status} {latest.resolver.model_dump_json(by_alias=True)}" if latest else None
        yield from self._told_once("resolver", resolver_id, text)
        for rule in latest.resolver.rules if latest is not None else ():
            if not isinstance(rule.strategy, CatalogStrategy):
                yield from self._datasource(rule.strategy.datasource_id)

    def _datasource(self, datasource_id: str) -> Iterator[str]:
        datasource = self._definitions.datasource(datasource_id)
        is_disabled = self._definitions.is_datasource_disabled(datasource_id)
        text = f"{is_disabled} {datasource.model_dump_json(by_alias=True)}" if datasource is not None else None
        yield from self._told_once("datasource", datasource_id, text)

    def _told_once(self, kind: ReferencedKind, id_: str, text: str | None) -> Iterator[str]:
        if self._is_new(kind, id_, None):
            yield f"{kind} {id_}"
            yield text if text is not None else f"missing {self._definitions.ids(kind)}"

    def _is_new(self, kind: ReferencedKind, id_: str, version: int | None) -> bool:
        key = (kind, id_, version)
        is_new = key not in self._told
        self._told.add(key)
        return is_new


def _declared_text(declared: DeclaredVersion) -> str:
    contract = declared.contract.model_dump_json(by_alias=True) if declared.contract is not None else None
    body = declared.dataset.model_dump_json(by_alias=True)
    return f"{declared.version} {declared.status} {declared.pin} {body} {contract}"


def _recorded_text(version: DatasetVersion) -> str:
    viewed = f"{version.view.of.model_dump_json()} {_recorded_text(version.view.dataset)}" if version.view else ""
    return f"{version.version} {version.status} {version.pin} {version.dataset.model_dump_json(by_alias=True)} {viewed}"
