"""A sandbox that is a schema of a Spark catalog: its text in snapshots, its data source, and the tables in it."""

import hashlib
import re
from dataclasses import replace
from pathlib import Path

from daybook.definitions.loading import LoadedWorkspace
from daybook.definitions.value import Definitions, LatestVersion
from daybook.errors import DaybookError
from daybook.model.datasource import SparkCatalogSource
from daybook.model.settings import SCHEMA_ADDRESS, SchemaLocation, WorkspaceSettings
from daybook.resolve.location import Location, table_location

_LONGEST_NAME = 80


def sandbox_text(settings: WorkspaceSettings) -> str | None:
    """The sandbox as snapshots keep it: a folder, or the address of a schema."""
    sandbox = settings.sandbox
    return sandbox.address if isinstance(sandbox, SchemaLocation) else sandbox


def schema_of_sandbox(sandbox: str) -> SchemaLocation | None:
    """The schema of an address; None for a folder."""
    if not sandbox.startswith(SCHEMA_ADDRESS):
        return None
    datasource_id, _, schema = sandbox.removeprefix(SCHEMA_ADDRESS).partition("/")
    return SchemaLocation.model_validate({"datasource_id": datasource_id, "schema": schema})


def sandbox_source(sandbox: str | None, definitions: Definitions) -> SparkCatalogSource | None:
    """The data source of a sandbox that is a schema; None for a folder."""
    schema = schema_of_sandbox(sandbox) if sandbox is not None else None
    if schema is None:
        return None
    source = definitions.datasource(schema.datasource_id)
    if not isinstance(source, SparkCatalogSource):
        raise DaybookError("IO_082", datasource=schema.datasource_id)
    return source


def with_sandbox_source(definitions: Definitions, workspace: LoadedWorkspace) -> Definitions:
    """With the data source of the sandbox, which may be in the files alone."""
    sandbox = workspace.settings.sandbox
    if not isinstance(sandbox, SchemaLocation) or definitions.datasource(sandbox.datasource_id) is not None:
        return definitions
    definition = workspace.definitions["datasource"].get(sandbox.datasource_id)
    if definition is None:
        return definitions
    sources = {**definitions.datasources, sandbox.datasource_id: LatestVersion.of(definition.model)}
    return replace(definitions, datasources=sources)


def sandbox_table(sandbox: str, source: SparkCatalogSource, place: str, workspace: str) -> Location:
    """The table of a draft: named after what it stands for, so that people find it.

    Names that differ in what a catalog does not take stay apart by a digest, and so do workspaces.
    """
    schema = schema_of_sandbox(sandbox)
    if schema is None:
        raise ValueError(f"{sandbox} is no schema")
    digest = hashlib.blake2b(f"{workspace}/{place}".encode(), digest_size=4).hexdigest()
    readable = re.sub("[^0-9a-z]+", "_", place.lower()).strip("_")[-_LONGEST_NAME:]
    return table_location(source, f"{readable}_{digest}", schema.schema_name, Path())
