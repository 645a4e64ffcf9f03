"""Small definitions and a clock for tests of the store."""

import datetime
from collections.abc import Iterable, Mapping
from typing import Any

from daybook.errors import DaybookError
from daybook.model.dataset import Dataset
from daybook.model.definition import Catalog, Definition
from daybook.model.loading import load_text
from daybook.model.project import Project
from daybook.store.process import ProcessIdentity
from daybook.store.records import NewRun, ProjectValidation, ValidateProject
from daybook.store.references import dataset_references, mark_pinned_usage

NOW = datetime.datetime(2026, 2, 1, 8, 0, tzinfo=datetime.UTC)
PROCESS = ProcessIdentity("alpha", "alpha/boot/ns", 4711, "100")
OTHER = ProcessIdentity("beta", "beta/boot/ns", 4711, "100")


def later(seconds: float) -> datetime.datetime:
    return NOW + datetime.timedelta(seconds=seconds)


def nobody_is_dead(_: ProcessIdentity) -> bool:
    return False


def everybody_is_dead(_: ProcessIdentity) -> bool:
    return True


def new_run(run_id: str, *, project_id: str = "close", period: str = "2026-01", **more: Any) -> NewRun:
    return NewRun(run_id, project_id, 1, period, '{"snapshot": true}', **more)


def dataset_text(columns: Mapping[str, str], *, dataset_id: str = "orders", name: str = "Orders") -> str:
    listed = "\n".join(f"      - {{name: {column}, type: {type_!r}}}" for column, type_ in columns.items())
    table = dataset_id.rpartition(".")[2]
    return f"dataset:\n  id: {dataset_id}\n  name: {name}\n  main_table:\n    name: {table}\n    columns:\n{listed}\n"


def make_dataset(columns: Mapping[str, str], **more: Any) -> Dataset:
    (definition,) = load_text(dataset_text(columns, **more), "dataset.yaml")
    model: Dataset = definition.model
    return model


ORDERS = {"order_id": "string", "amount": "decimal(18,2)", "status": "string"}

PROJECT = """
project:
  id: close
  name: Close
  input: {dataset_id: orders}
  operations:
    - type: update
      selector: status = "open"
      arguments: {assignments: [{column: net, expression: amount * 0.9}]}
    - type: output
      arguments: {destination: {location: out/net.csv}, columns: [net]}
"""


def definitions(*texts: str) -> list[Definition[Any]]:
    return [definition for index, text in enumerate(texts) for definition in load_text(text, f"file{index}.yaml")]


def check_uses(uses: Iterable[tuple[int, str, str]]) -> ValidateProject:
    """A validator for a project that is known to use these columns: each must exist in the catalog."""
    known = tuple(uses)

    def validate(definition: Definition[Project], catalog: Catalog) -> ProjectValidation:
        project = definition.model
        errors: list[DaybookError] = []
        for reference in dataset_references(project):
            found = catalog.dataset(reference.dataset_id, reference.version)
            if found is None:
                errors.append(DaybookError("STORE_007", kind="dataset", id=reference.dataset_id))
            elif found.status == "disabled":
                errors.append(DaybookError("STORE_023", kind="Dataset", id=reference.dataset_id))
            else:
                names = {column.name for column in found.dataset.main_table.columns}
                errors += [
                    DaybookError("STORE_007", kind="column", id=column, operation_seq=seq)
                    for seq, dataset_id, column in known
                    if dataset_id == reference.dataset_id and column not in names
                ]
        return ProjectValidation(tuple(errors), (), mark_pinned_usage(project, known))

    return validate


USES = ((1, "orders", "status"), (1, "orders", "amount"))
VALIDATE = check_uses(USES)
