"""The definitions of a workspace's files alone: everything is active, and every version is 1."""

from collections.abc import Iterable

from daybook.definitions.loading import LoadedWorkspace
from daybook.definitions.value import DatasetVersions, Definitions, LatestVersion
from daybook.model.definition import DeclaredVersion, Definition
from daybook.model.operation import OutputOperation
from daybook.model.project import Project


def definitions_of_files(workspace: LoadedWorkspace) -> Definitions:
    models = {
        kind: {id_: definition.model for id_, definition in definitions.items()}
        for kind, definitions in workspace.definitions.items()
    }
    return Definitions(
        {
            id_: DatasetVersions.only(DeclaredVersion(model, 1, contract=model))
            for id_, model in models["dataset"].items()
        },
        {id_: LatestVersion.of(model) for id_, model in models["datasource"].items()},
        {id_: LatestVersion.of(model) for id_, model in models["resolver"].items()},
        {id_: LatestVersion.of(model) for id_, model in models["calendar"].items()},
    )


def makers_of(projects: Iterable[Definition[Project]]) -> dict[str, Definition[Project]]:
    """The datasets that the outputs of projects register, each with its project."""
    return {
        operation.arguments.registered_id: definition
        for definition in projects
        for operation in definition.model.operations
        if isinstance(operation, OutputOperation) and operation.arguments.registered_id
    }
