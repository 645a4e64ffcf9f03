"""Small definitions and a clock for tests of the store."""

import datetime
from collections.abc import Mapping
from typing import Any

from daybook.definitions.loading import load_text
from daybook.model.dataset import Dataset
from daybook.model.definition import Definition
from daybook.store.process import ProcessIdentity

NOW = datetime.datetime(2026, 2, 1, 8, 0, tzinfo=datetime.UTC)
PROCESS = ProcessIdentity("alpha", "alpha/boot/ns", 4711, "100")
OTHER = ProcessIdentity("beta", "beta/boot/ns", 4711, "100")


def later(seconds: float) -> datetime.datetime:
    return NOW + datetime.timedelta(seconds=seconds)


def nobody_is_dead(_: ProcessIdentity) -> bool:
    return False


def everybody_is_dead(_: ProcessIdentity) -> bool:
    return True


def new_run(run_id: str, *, project_id: str = "close", period: str = "2026-01", **more: Any) -> dict[str, Any]:
    """What a run is created with."""
    known = {"run_id": run_id, "project_id": project_id, "project_version": 1, "period": period}
    return {**known, "snapshot": '{"snapshot": true}', **more}


def dataset_text(columns: Mapping[str, str], *, dataset_id: str = "orders", name: str = "Orders") -> str:
    listed = "\n".join(f"      - {{name: {column}, type: {type_!r}}}" for column, type_ in columns.items())
    table = dataset_id.rpartition(".")[2]
    place = f"    location: {{path: data/{table}.csv}}\n"
    head = f"dataset:\n  id: {dataset_id}\n  name: {name}\n  main_table:\n    name: {table}\n{place}"
    return f"{head}    columns:\n{listed}\n"


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
