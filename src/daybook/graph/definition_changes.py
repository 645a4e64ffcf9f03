"""What is different in a project and in what it reads since a run: compared by content with the snapshot of the run."""

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from pydantic import TypeAdapter

from daybook.definitions.value import Definitions
from daybook.model.calendar import Period
from daybook.model.dataset import Dataset, ViewOf
from daybook.model.definition import DatasetVersion, DefinitionKind
from daybook.model.parameter import given_values, read_value
from daybook.model.project import Project
from daybook.model.serialization import from_canonical, frozen, structural_content, to_canonical
from daybook.model.types import TIME_COLUMNS, value_text
from daybook.store.records import RunRecord

# Columns and orders of outputs carry the times of rows along, and compute nothing of them.
_CARRYING_KEYS = frozenset({"columns", "order_by"})
_TIMES = re.compile("|".join(map(re.escape, TIME_COLUMNS)))


def parameter_changes(project: Project, requested: Mapping[str, Any], snapshot: Mapping[str, Any]) -> list[str]:
    """Values that a run would use now and the run did not; a value without a default that is not given is as it was."""
    declared = project.parameters
    if not declared and not requested:
        return []
    used = snapshot.get("parameters") or {}
    values = {name: parameter.default for name, parameter in declared.items()} | given_values(
        project.id, declared, requested
    )
    return [
        f"parameter {name} is {value_text(value)}, the run used {used.get(name, 'none')}"
        for name, value in values.items()
        if value is not None and (name not in used or read_value(used[name], declared[name].type) != value)
    ]


def project_changes(project: Project, version: int | None, run: RunRecord, snapshot: Mapping[str, Any]) -> list[str]:
    """By content: a change that was undone is none."""
    if version == run.project_version or _structure("project", project) == _structure_of_stored(
        "project", snapshot["project"]
    ):
        return []
    before = {operation["seq"]: operation for operation in snapshot["project"]["operations"]}
    after = {operation.seq: operation.model_dump(mode="json", by_alias=True) for operation in project.operations}
    changed = [seq for seq in after if seq in before and not _is_same_operation(before[seq], after[seq])]
    parts = [
        *_name_changes(project, snapshot["project"]),
        _operations(changed, "changed"),
        _operations([seq for seq in after if seq not in before], "added"),
        _operations([seq for seq in before if seq not in after], "removed"),
    ]
    what = ", ".join(filter(None, parts)) or "the project was changed"
    return [f"{what} (version {version} is active, the run used {run.project_version})"]


def _name_changes(project: Project, before: Mapping[str, Any]) -> Iterator[str]:
    """Selectors and expressions of the project whose content changed."""
    texts = {**project.selectors, **project.expressions}
    stored_texts = {**(before.get("selectors") or {}), **(before.get("expressions") or {})}
    for name in dict.fromkeys((*stored_texts, *texts)):
        if texts.get(name) != stored_texts.get(name):
            change = "added" if name not in stored_texts else "changed" if name in texts else "removed"
            yield f"{{{{{name}}}}} was {change}"


def _is_same_operation(before: Mapping[str, Any], after: Mapping[str, Any]) -> bool:
    """Whether two operations do the same, whatever they are called."""
    names = {"name", "description", "accept"}
    return {k: v for k, v in before.items() if k not in names} == {k: v for k, v in after.items() if k not in names}


def _operations(seqs: list[int], what: str) -> str:
    if not seqs:
        return ""
    plural, verb = ("s", "were") if len(seqs) > 1 else ("", "was")
    return f"operation{plural} {', '.join(map(str, seqs))} {verb} {what}"


def period_change(period: Period, snapshot: Mapping[str, Any]) -> str | None:
    """Whether the calendar gives the period other days than it had for the run."""
    days = [(period.start_date.isoformat(), period.end_date.isoformat())]
    days.append((snapshot["period"]["start_date"], snapshot["period"]["end_date"]))
    if days[0] == days[1]:
        return None
    now, before = (f"{start} to {end}" for start, end in days)
    return f"the calendar has {period.identifier} from {now}, the run had it from {before}"


# The options of a data source that decide about rows: what is read, or how it is written. The folder of one is part of
# its locations, which are compared by themselves.
_DECISIVE_OPTIONS: Mapping[str, tuple[str, ...]] = {
    "postgresql": ("host", "port", "database", "schema"),
    "sqlite": ("path",),
    "jdbc": ("url",),
    "iceberg": ("catalog", "uri", "warehouse", "namespace"),
    "spark_catalog": ("catalog", "schema"),
}
_FOLDER_OPTIONS = ("options",)


class DatasourceOptions:
    """The options of data sources as snapshots have them; a data source is asked for by many nodes."""

    def __init__(self, definitions: Definitions) -> None:
        self._definitions = definitions
        self._options: dict[str, tuple[str, Mapping[str, Any]] | None] = {}

    def _now(self, datasource_id: str) -> tuple[str, Mapping[str, Any]] | None:
        """The type and the options of a data source."""
        if datasource_id not in self._options:
            now = self._definitions.datasource(datasource_id)
            self._options[datasource_id] = (
                (now.type, now.options.model_dump(mode="json", by_alias=True)) if now is not None else None
            )
        return self._options[datasource_id]

    def changed(self, snapshot: Mapping[str, Any]) -> Iterator[str]:
        """The data sources of a run, of what it read and wrote, that are other places or other formats now."""
        for before in snapshot.get("datasources") or ():
            now = self._now(before["id"])
            if now is None or now[0] != before["type"]:
                yield before["id"]
                continue
            type_, options = now
            names = _DECISIVE_OPTIONS.get(type_, _FOLDER_OPTIONS)
            if any(name in before["options"] and before["options"][name] != options[name] for name in names):
                yield before["id"]


class DatasetNow:
    """A dataset as a project reads it now, to be compared with what its runs read: what all need is prepared once."""

    def __init__(self, version: DatasetVersion, registered: Collection[str]) -> None:
        self._dataset_id = version.dataset.id
        self._registered = registered
        # What the last run that had no change read: most runs of a project read the same.
        self._unchanged: Mapping[str, Any] | None = None
        self._column_types: list[list[tuple[str, str]]] = []
        # The dataset itself, then what it views.
        self._versions: list[DatasetVersion] = []
        current: DatasetVersion | None = version
        while current is not None:
            self._versions.append(current)
            columns = current.dataset.main_table.columns
            self._column_types.append([(column.name, str(column.type)) for column in columns])
            current = current.view.dataset if current.view is not None else None

    def change(self, source: Mapping[str, Any], snapshot: Mapping[str, Any]) -> str | None:
        """Whether it says otherwise how its rows are read; the version of a registered one does not count."""
        stored = next(
            (
                dataset
                for dataset in snapshot["datasets"]
                if dataset["version"] == source["dataset_version"] and dataset["dataset"]["id"] == self._dataset_id
            ),
            None,
        )
        if stored is not None and stored == self._unchanged:
            return None
        change = self._change_from(stored)
        if change is None:
            self._unchanged = stored
        return change

    def _change_from(self, stored: Mapping[str, Any] | None) -> str | None:
        for current, columns in zip(self._versions, self._column_types, strict=True):
            if stored is None:
                return f"{self._dataset_id} was changed"
            is_declared = current.pin is None and current.dataset.id not in self._registered
            if is_declared and current.version != stored["version"] and not _is_same_dataset(current, stored):
                return f"{current.dataset.id} was changed (version {current.version}, the run used {stored['version']})"
            if columns != [(column["name"], column["type"]) for column in stored["dataset"]["main_table"]["columns"]]:
                return f"the columns of {current.dataset.id} were changed"
            if (what := _changed_rule(current, stored)) is not None:
                return f"{what} of {current.dataset.id} was changed"
            viewed = stored.get("view")
            stored = viewed["dataset"] if viewed else None
        return None if stored is None else f"{self._dataset_id} was changed"


def _changed_rule(version: DatasetVersion, stored: Mapping[str, Any]) -> str | None:
    """What else decides about the rows of a dataset, and their ids, that was another for the run."""
    dataset, before = version.dataset, stored["dataset"]
    table, table_before = dataset.main_table, before["main_table"]
    if list(dataset.natural_key_columns) != list(before.get("natural_key_columns") or ()):
        return "the natural key"
    if table.name != table_before["name"]:
        return "the name of the table"
    # Without a mode there is no time filter, as for snapshots.
    modes = {mode if mode != "snapshot" else None for mode in (table.temporal_mode, table_before.get("temporal_mode"))}
    if len(modes) > 1 or version.reads_one_slice != bool(stored.get("reads_one_slice")):
        return "the temporal mode"
    return None


def _is_same_dataset(version: DatasetVersion, stored: Mapping[str, Any]) -> bool:
    """Whether a dataset is declared as in the snapshot of a run, and its view looks through the same window."""
    viewed = stored.get("view")
    if (version.view is None) != (viewed is None):
        return False
    if version.view is not None and viewed is not None:
        window, before = version.view.of, TypeAdapter(ViewOf).validate_python(frozen(viewed["of"]))
        # Other versions of what files declare are compared by what they say.
        ignored = {"dataset_version": None} if version.view.dataset.pin is None else {}
        if window.model_copy(update=ignored) != before.model_copy(update=ignored):
            return False
    return _structure("dataset", version.dataset) == _structure_of_stored("dataset", stored["dataset"])


def _structure(kind: DefinitionKind, model: Dataset | Project) -> dict[str, Any]:
    return structural_content(kind, to_canonical(model))


def _structure_of_stored(kind: DefinitionKind, stored: dict[str, Any]) -> dict[str, Any]:
    return _structure(kind, from_canonical(kind, stored))


def uses_times(project: Project) -> bool:
    """Whether an expression of the project names the times at which rows were made."""
    return any(map(_TIMES.search, _expression_texts(to_canonical(project))))


def _expression_texts(value: Any) -> Iterator[str]:
    match value:
        case dict():
            for key, item in value.items():
                if key not in _CARRYING_KEYS or isinstance(item, dict):
                    yield from _expression_texts(item)
        case list():
            for item in value:
                yield from _expression_texts(item)
        case str():
            yield value
        case _:
            return
