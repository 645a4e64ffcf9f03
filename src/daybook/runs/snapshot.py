"""The snapshot of a run: everything it depends on, fixed when it is created, for explanations and replays.

Who runs and from which commit belongs to it. Git executes what the configuration of a repository names: file system
monitors, filters, hooks, transports. So the commit is read from the files of the repository, and `git status` runs
with an empty git folder of ours in place of the repository's: it sees the objects, the index and the ignored
patterns, and no configuration.
"""

import datetime
import json
import os
import platform
import re
import secrets
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import TypeAdapter

from daybook.definitions.loading.definition_texts import read_definitions
from daybook.definitions.value import Definitions, LatestVersion, RecordedVersions
from daybook.errors import DaybookError
from daybook.model.calendar import Calendar, Period
from daybook.model.datasource import DataSource
from daybook.model.definition import DatasetVersion, ResolverVersion
from daybook.model.parameter import parameter_values
from daybook.model.project import Project
from daybook.model.serialization import frozen
from daybook.model.source_map import SourceMap
from daybook.resolve.location import Resolution
from daybook.store.process import current_user

if TYPE_CHECKING:
    # `status` reads snapshots and no expressions.
    from daybook.expression import Constants

_COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_REFERENCE = re.compile(r"refs/(?!.*\.\.)[^\s\x00-\x1f]+")
# References may refer to each other; git itself follows five.
_MOST_REFERENCES = 5
_SECONDS = 10


@dataclass(frozen=True, slots=True)
class GitState:
    """`is_clean` is False where anything is not committed, or where that could not be found out."""

    commit: str
    is_clean: bool


@dataclass(frozen=True, slots=True)
class Provenance:
    """`git` is None where the workspace is in no repository."""

    user: str
    host: str
    daybook_version: str
    git: GitState | None
    # The name of the workspace; empty in snapshots made before it was kept.
    workspace: str = ""
    # The id that the store gave it; empty in snapshots made before there were any.
    workspace_id: str = ""


@dataclass(frozen=True, slots=True)
class Repository:
    """`own` has what belongs to one working tree, `shared` what all working trees of a repository share."""

    tree: Path
    own: Path
    shared: Path


def provenance(
    root: Path, daybook_version: str, workspace: str, workspace_id: str, user: str | None = None
) -> Provenance:
    git = read_git_state(root)
    return Provenance(user or current_user(), platform.node(), daybook_version, git, workspace, workspace_id)


def read_git_state(workspace: Path) -> GitState | None:
    """The commit of the repository around a workspace, and whether everything below the workspace is committed."""
    try:
        repository = find_repository(workspace.resolve())
        commit = _head_commit(repository) if repository is not None else None
        if repository is None or commit is None:
            return None
        return GitState(commit, is_clean=_is_clean(repository, commit, workspace.resolve()))
    except OSError:
        return None


def find_repository(workspace: Path) -> Repository | None:
    """The repository around a workspace; None where there is none."""
    for folder in (workspace, *workspace.parents):
        git_folder = folder / ".git"
        if git_folder.is_file():
            # A linked working tree or a submodule: a file that names the folder.
            key, _, name = _read_text(git_folder).partition(":")
            git_folder = (folder / name.strip()).resolve()
            if key != "gitdir":
                return None
        if (git_folder / "HEAD").is_file():
            common = git_folder / "commondir"
            shared = (git_folder / _read_text(common).strip()).resolve() if common.is_file() else git_folder
            return Repository(folder, git_folder, shared)
    return None


def _head_commit(repository: Repository) -> str | None:
    value = _read_text(repository.own / "HEAD").strip()
    for _ in range(_MOST_REFERENCES):
        if _COMMIT.fullmatch(value):
            return value
        name = value.removeprefix("ref:").strip()
        if not value.startswith("ref:") or not _REFERENCE.fullmatch(name):
            return None
        value = _read_reference(repository, name)
    return None


def _read_reference(repository: Repository, name: str) -> str:
    for folder in (repository.own, repository.shared):
        if (folder / name).is_file():
            return _read_text(folder / name).strip()
    packed = repository.shared / "packed-refs"
    lines = _read_text(packed).splitlines() if packed.is_file() else []
    return next((line.partition(" ")[0] for line in lines if line.endswith(f" {name}")), "")


def _is_clean(repository: Repository, commit: str, workspace: Path) -> bool:
    git = shutil.which("git")
    if git is None:
        return False
    with tempfile.TemporaryDirectory(prefix="daybook-git-") as folder:
        write_git_folder(Path(folder), repository, commit)
        variables = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")} | {
            "GIT_DIR": folder,
            "GIT_WORK_TREE": str(repository.tree),
            "GIT_INDEX_FILE": str(repository.own / "index"),
            "GIT_OBJECT_DIRECTORY": str(repository.shared / "objects"),
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_OPTIONAL_LOCKS": "0",
        }
        command = [git, "status", "--porcelain", "--untracked-files=normal", "--ignore-submodules=all", "--", "."]
        try:
            answer = subprocess.run(
                command, cwd=workspace, env=variables, capture_output=True, check=False, timeout=_SECONDS
            )
        except (OSError, subprocess.TimeoutExpired):
            return False
    return answer.returncode == 0 and not answer.stdout


def write_git_folder(folder: Path, repository: Repository, commit: str) -> None:
    """A git folder that has nothing of the repository but its commit and its ignored patterns."""
    for name in ("objects", "refs", "info"):
        (folder / name).mkdir()
    hashes = "[extensions]\n\tobjectformat = sha256\n" if len(commit) == 64 else ""
    (folder / "config").write_text(f"[core]\n\trepositoryformatversion = {int(bool(hashes))}\n{hashes}")
    (folder / "HEAD").write_text(f"{commit}\n")
    ignored = repository.shared / "info" / "exclude"
    if ignored.is_file():
        (folder / "info" / "exclude").write_bytes(ignored.read_bytes())


def _read_text(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace")


def new_run_id(now: datetime.datetime) -> str:
    """Like `20260131-094502-7c1f0a`; the random part keeps runs of one second apart."""
    return f"{now:%Y%m%d-%H%M%S}-{secrets.token_hex(3)}"


SNAPSHOT_FORMAT = 1


@dataclass(frozen=True, slots=True)
class SourceSnapshot:
    """One thing the run reads: the dataset version and the places it was resolved to."""

    key: str
    dataset_id: str
    dataset_version: int
    resolution: Resolution
    # Of tables that collect slices: the run that wrote each slice that is read.
    slices: Mapping[str, str] = field(default_factory=dict)
    # The periods that a draft read from the sandbox; the others were read from live data.
    sandbox_periods: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RunSettings:
    """What else decides about the result: where drafts write, what may be emptied."""

    is_draft: bool = False
    sandbox: str | None = None
    allow_empty: bool = False
    engine: Mapping[str, Any] = field(default_factory=dict)
    # The build that the run is part of.
    build_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSnapshot:
    """`project_text` is the definition as written, `project` as it is executed.

    `project_file` is where it was written, relative to the workspace; None in runs that did not keep it.
    """

    run_id: str
    project: Project
    project_version: int
    project_text: str
    period: Period
    as_of: datetime.date
    timestamp: datetime.datetime
    datasets: tuple[DatasetVersion, ...] = ()
    resolvers: tuple[ResolverVersion, ...] = ()
    datasources: tuple[DataSource, ...] = ()
    calendars: tuple[Calendar, ...] = ()
    sources: tuple[SourceSnapshot, ...] = ()
    settings: RunSettings
    provenance: Provenance
    format: int = SNAPSHOT_FORMAT
    project_file: str | None = None
    # The value of every parameter, given or default, as text.
    parameters: Mapping[str, str] = field(default_factory=dict)
    # The types of existing tables that columns of outputs are written in, by the output's seq and by column.
    fitted: Mapping[int, Mapping[str, str]] = field(default_factory=dict)

    @property
    def constants(self) -> "Constants":
        """What expressions of this run know before they see a row."""
        from daybook.expression import Constants

        values = parameter_values(self.project.id, self.project.parameters, self.parameters)
        return Constants(self.timestamp, self.period, values)

    @property
    def own_as_of(self) -> Mapping[str, datetime.date]:
        """The day of each dataset that is read as of another day than the run, by the dataset's rule or the view's."""
        return {
            source.dataset_id: source.resolution.as_of
            for source in self.sources
            if source.resolution.as_of is not None and source.resolution.as_of != self.as_of
        }

    @property
    def input_table(self) -> str:
        """The name of the input's main table, which templates know."""
        source = self.source("input")
        key = (source.dataset_id, source.dataset_version)
        return next(item for item in self.datasets if (item.dataset.id, item.version) == key).dataset.main_table.name

    def source(self, key: str) -> SourceSnapshot:
        return next(source for source in self.sources if source.key == key)

    def project_source(self, root: Path) -> SourceMap:
        """Where the parts of the project stand in its text; unknown where no file was kept."""
        if self.project_file is None:
            return SourceMap.empty()
        definitions, _ = read_definitions(self.project_text, (root / self.project_file).as_posix())
        sources = (
            definition.source
            for definition in definitions
            if definition.kind == "project" and definition.id == self.project.id
        )
        return next(sources, SourceMap.empty())

    def to_json(self) -> str:
        return _adapter().dump_json(self, by_alias=True, indent=1).decode()


@cache
def _adapter() -> TypeAdapter[RunSnapshot]:
    # Building it takes a while, and `status` reads snapshots as plain JSON.
    return TypeAdapter(RunSnapshot)


def snapshot_from_json(text: str) -> RunSnapshot:
    snapshot = _adapter().validate_python(frozen(_with_table_versions(json.loads(text))))
    if snapshot.format != SNAPSHOT_FORMAT:
        raise DaybookError("RUN_010", run_id=snapshot.run_id, found=snapshot.format, needed=SNAPSHOT_FORMAT)
    return snapshot


def _with_table_versions(value: Any) -> Any:
    """Snapshots made before tables of other formats could have versions hold the number of a Delta version."""
    match value:
        case {"delta_version": number, **rest}:
            version = None if number is None else {"format": "delta", "token": str(number)}
            return {**{key: _with_table_versions(item) for key, item in rest.items()}, "version": version}
        case dict():
            return {key: _with_table_versions(item) for key, item in value.items()}
        case list():
            return [_with_table_versions(item) for item in value]
        case _:
            return value


def recorded_definitions(snapshot: RunSnapshot) -> Definitions:
    """The definitions of a run as they were, whether or not they changed since."""
    numbered: dict[str, dict[int, DatasetVersion]] = {}
    for version in snapshot.datasets:
        numbered.setdefault(version.dataset.id, {})[version.version] = version
    # An open reference stood for the latest version, which no pinned one is newer than.
    latest: dict[str, int] = {}
    for source in snapshot.sources:
        latest[source.dataset_id] = max(source.dataset_version, latest.get(source.dataset_id, 0))
    return Definitions(
        {
            dataset_id: RecordedVersions(versions.get(latest.get(dataset_id, 0)), versions)
            for dataset_id, versions in numbered.items()
        },
        {datasource.id: LatestVersion.of(datasource) for datasource in snapshot.datasources},
        {item.resolver.id: LatestVersion.of(item.resolver, item.version, item.status) for item in snapshot.resolvers},
        {calendar.id: LatestVersion.of(calendar) for calendar in snapshot.calendars},
    )


def used_resolvers(
    definitions: Definitions, project: Project, datasets: Iterable[DatasetVersion]
) -> tuple[ResolverVersion, ...]:
    """The resolvers that planning the project again would ask for."""
    resolver_ids = {*project.resolver_overrides.values(), *(item.dataset.resolver_id for item in datasets)}
    resolvers = [definitions.resolver(resolver_id) for resolver_id in sorted(filter(None, resolver_ids))]
    default = definitions.default_resolver()
    return tuple({item.resolver.id: item for item in (*resolvers, default) if item is not None}.values())
