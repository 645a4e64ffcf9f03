"""Prepares runs of a workspace from a request, as use cases do."""

from collections.abc import Iterator

from daybook.definitions.loading import LoadedWorkspace
from daybook.resolve.project_files import CheckedFiles
from daybook.runs.attempt import prepare
from daybook.runs.attempt.prepare import PreparedRun
from daybook.runs.attempt.run_request import RunRequest, check_request
from daybook.runs.environment import RunEnvironment


def prepare_runs(workspace: LoadedWorkspace, environment: RunEnvironment, request: RunRequest) -> Iterator[PreparedRun]:
    return prepare.prepare_runs(environment, check_request(CheckedFiles(workspace), request))


def check_runs(workspace: LoadedWorkspace, environment: RunEnvironment, request: RunRequest) -> Iterator[PreparedRun]:
    return prepare.check_runs(environment, check_request(CheckedFiles(workspace), request))
