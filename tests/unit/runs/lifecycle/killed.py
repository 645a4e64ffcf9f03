"""A process that applies a whole workspace when told to, for a test that kills it meanwhile."""

from datetime import UTC, datetime
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from daybook.model.definition import Definition
from daybook.model.serialization import DefinitionModel
from daybook.model.source_map import SourceMap
from daybook.runs.lifecycle.apply import apply
from daybook.store import open_store
from tests.unit.store.samples import make_dataset

DATASETS = 200


def generation(number: int) -> list[Definition[DefinitionModel]]:
    """Every dataset with one more column than in the generation before."""
    columns = {f"column_{index}": "string" for index in range(number)}
    one = make_dataset(columns)
    ids = [f"dataset-{index:03}" for index in range(DATASETS)]
    return [Definition("dataset", one.model_copy(update={"id": item}), SourceMap.empty()) for item in ids]


def apply_generation(url: str, root: Path, number: int, connection: "Connection[Any, Any]") -> None:
    definitions = generation(number)
    with open_store(url, root=root) as store:
        connection.send("ready")
        connection.recv()
        apply(store, definitions, workspace="w", now=datetime.now(UTC))
        connection.send("done")
