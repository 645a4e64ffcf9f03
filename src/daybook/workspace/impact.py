"""Computes what changed definitions would do to the last closes, compares it with limits, and writes it as Markdown."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any, cast

from daybook.compare.impact import ImpactResult, MeasureImpact, compute_impact, find_output_pairs
from daybook.compare.planned_runs import ChangedDefinitions, PlannedRuns
from daybook.definitions.changes import find_changes, with_changes
from daybook.definitions.loading import LoadedWorkspace
from daybook.definitions.loading.loaded_workspace import read_workspace
from daybook.definitions.value import Definitions
from daybook.errors import DaybookError, raise_all
from daybook.errors.error import did_you_mean
from daybook.graph.dependencies import ProjectGraph, derive_graph
from daybook.graph.nodes import known_calendar, parse_span
from daybook.model.calendar import Period
from daybook.model.project import Project
from daybook.model.serialization import encode_definition
from daybook.pictures.shown_values import format_number
from daybook.plan.expected import expected_with_files
from daybook.plan.plan_cache import PlanCache
from daybook.resolve.project_files import CheckedFiles, find_project, named_projects
from daybook.runs.run_listener import RunListener
from daybook.store.database.projects import find_active_project
from daybook.store.store import MetadataStore, Transaction
from daybook.workspace.git_tree import definitions_at
from daybook.workspace.open_workspace import OpenedWorkspace

ACTIVE = "active"


@dataclass(frozen=True, slots=True)
class ImpactRequest:
    """Which projects' changes count, by default all; `against` is "active" or a commit.

    Without a period every project's last close is computed again.
    """

    projects: tuple[str, ...] = ()
    against: str = ACTIVE
    period: str | None = None


@dataclass(frozen=True, slots=True)
class _Basis:
    """What the files are compared with: the projects by id, and everything that they see."""

    projects: Mapping[str, Project]
    definitions: Definitions


def find_impact(
    workspace: OpenedWorkspace, request: ImpactRequest, *, listener: RunListener | None = None
) -> ImpactResult:
    """Compute the last runs of changed projects, and of all that read their results, with the changed definitions.

    Nothing is applied, recorded or written.
    """
    loaded = workspace.read_definitions()
    files = CheckedFiles(loaded)
    names = {name for written in request.projects for name in named_projects(loaded, written)}
    for name in names:
        find_project(loaded, name)
    with workspace.open_run_environment(listener) as environment:
        with _read_basis(workspace, loaded, environment.store, request.against) as (basis, now):
            written = loaded.definitions["project"]
            changed = {
                id_: definition
                for id_, definition in written.items()
                if id_ in basis.projects
                and (not names or id_ in names)
                and _structure(definition.model) != _structure(basis.projects[id_])
            }
            datasets = _changed_datasets(basis.definitions, now) if not names else frozenset[str]()
            raise_all(error for id_ in changed for error in files.reached_errors(id_))
            projects = {**basis.projects, **{id_: definition.model for id_, definition in written.items()}}
            graph = derive_graph(projects, now)
            roots = {*changed, *_readers(projects, datasets)}
            earlier = derive_graph(basis.projects, basis.definitions)
            concerned = graph.downstream(roots) | earlier.downstream(roots & basis.projects.keys())
            with environment.store.read() as transaction:
                runs = _last_runs(transaction, graph, now, concerned, request.period)
            hosts = loaded.settings.catalogs.allowed_hosts
            planned = PlannedRuns(
                environment, ChangedDefinitions(changed, datasets, now, hosts), frozenset(node for node, _ in runs)
            )
            run_ids = [run_id for _, run_id in runs if planned.planned(run_id) is not None]
            pairs = tuple(find_output_pairs(planned, run_ids))
        measures = compute_impact(environment, pairs)
    return ImpactResult(request.against, measures, changed=(*sorted(changed), *sorted(datasets)), runs=len(run_ids))


@contextmanager
def _read_basis(
    workspace: OpenedWorkspace, loaded: LoadedWorkspace, store: MetadataStore, against: str
) -> Iterator[tuple[_Basis, Definitions]]:
    """What the files are compared with, and what projects see once they are applied."""
    with store.read() as transaction:
        now = _seen(transaction, loaded)
        if against == ACTIVE:
            yield _Basis(_active_projects(transaction), transaction.stored_definitions()), now
            return
        with definitions_at(workspace.root, against) as folder:
            earlier, _ = read_workspace(folder, workspace.settings)
            projects = {id_: definition.model for id_, definition in earlier.definitions["project"].items()}
            yield _Basis(projects, _seen(transaction, earlier)), now


def _active_projects(transaction: Transaction) -> dict[str, Project]:
    rows, projects = transaction.definitions, transaction.projects
    active = (find_active_project(rows, projects, state) for state in projects.all())
    return {version.project.id: version.project for version in active if version is not None}


def _seen(transaction: Transaction, files: LoadedWorkspace) -> Definitions:
    """What projects see once files are applied and have run."""
    stored, heads = transaction.stored_definitions(), transaction.definitions.heads()
    changes = find_changes(files.all(), heads, workspace=files.settings.name, prune=False)
    return expected_with_files(stored, with_changes(stored, changes), files.all(), heads, PlanCache())


def _structure(project: Project) -> str:
    return encode_definition("project", project).structure_digest


def _changed_datasets(before: Definitions, now: Definitions) -> frozenset[str]:
    """The datasets of which runs would read other rows or columns."""
    return frozenset(
        id_
        for id_ in now.ids("dataset")
        if (earlier := _reading(before, id_)) is not None and earlier != _reading(now, id_)
    )


def _reading(definitions: Definitions, dataset_id: str) -> Any:
    version = definitions.dataset(dataset_id)
    if version is None:
        return None
    table = version.dataset.main_table
    columns = [(column.name, column.type) for column in table.columns]
    return columns, table.name, table.temporal_mode, version.as_of_rule, version.dataset.natural_key_columns


def _readers(projects: Mapping[str, Project], datasets: Iterable[str]) -> set[str]:
    dataset_ids = set(datasets)
    return {
        id_ for id_, project in projects.items() if any(item.dataset_id in dataset_ids for _, item in project.reads())
    }


def _last_runs(
    transaction: Transaction, graph: ProjectGraph, definitions: Definitions, projects: Iterable[str], period: str | None
) -> list[tuple[tuple[str, str], str]]:
    """The last completed run of each project and period, makers first; without a period of each project's last one."""
    project_ids = sorted(projects)
    calendars = {id_: known_calendar(graph.projects[id_], definitions) for id_ in project_ids if id_ in graph.projects}
    span = parse_span(period, calendars.values()) if period is not None else None
    last_runs: list[tuple[Period, str, str]] = []
    for (project_id, identifier), runs in transaction.close.runs(project_ids).items():
        run_period = calendars[project_id].find(identifier) if project_id in calendars else None
        if runs.completed is not None and run_period is not None and (span is None or span.holds(run_period)):
            last_runs.append((run_period, project_id, runs.completed.id))
    if span is None:
        last = {
            id_: max(run_period.end_date for run_period, other, _ in last_runs if other == id_)
            for _, id_, _ in last_runs
        }
        last_runs = [entry for entry in last_runs if entry[0].end_date == last[entry[1]]]
    # A project has more projects upstream than any of those it reads.
    order = {id_: len(graph.upstream([id_])) for id_ in project_ids if id_ in graph.projects}
    last_runs.sort(key=lambda entry: (entry[0].start_date, order[entry[1]], entry[1]))
    return [((project_id, run_period.identifier), run_id) for run_period, project_id, run_id in last_runs]


@dataclass(frozen=True, slots=True)
class ImpactLimit:
    """A total that may not move by more than an amount, as OUTPUT.COLUMN=AMOUNT."""

    output: str
    measure: str
    amount: Decimal

    @classmethod
    def parse(cls, text: str) -> "ImpactLimit":
        """RUN_031 for anything else."""
        place, separator, amount_text = text.rpartition("=")
        output, dot, measure = place.rpartition(".")
        try:
            amount = Decimal(amount_text)
        except InvalidOperation:
            amount = Decimal(-1)
        if not (separator and dot and output and measure) or not amount.is_finite() or amount < 0:
            raise DaybookError("RUN_031", argument="fail-over", expected="OUTPUT.COLUMN=AMOUNT", value=text)
        return cls(output, measure, amount)

    def is_about(self, impact: MeasureImpact) -> bool:
        return self.measure == impact.measure and self.output in impact.names


def exceeded_limits(
    result: ImpactResult, limits: Sequence[ImpactLimit]
) -> tuple[tuple[ImpactLimit, MeasureImpact], ...]:
    """The limits that a total exceeds; RUN_094 for a limit of a total that is not there."""
    exceeded = []
    for limit in limits:
        impacts = [impact for impact in result.outputs if limit.is_about(impact)]
        if not impacts and result.outputs:
            names = sorted({f"{name}.{impact.measure}" for impact in result.outputs for name in impact.names})
            total = f"{limit.output}.{limit.measure}"
            raise DaybookError("RUN_094", total=total, hint=did_you_mean(total, names))
        exceeded += [(limit, impact) for impact in impacts if abs(cast(Decimal, impact.difference)) > limit.amount]
    return tuple(exceeded)


_MARKDOWN_SIGNS = re.compile(r"([\\`*_{}\[\]<>#|~])")


def impact_markdown(result: ImpactResult) -> str:
    """A comment for a pull request: the totals that move, and which change moves them."""
    against = "the active versions" if result.against == ACTIVE else f"`{result.against}`"
    lines = ["### What this changes in the last closes", ""]
    if not result.changed:
        return "\n".join([*lines, f"No definition differs from {against}.", ""])
    lines += [f"{result.runs} runs computed again with the changed definitions, compared with {against}.", ""]
    if not result.moved:
        return "\n".join([*lines, "**No total moves, and no row changes.**", ""])
    lines += [
        "| project | period | output | total | before | after | difference | rows changed |",
        "|---|---|---|---|--:|--:|--:|--:|",
    ]
    for measure in result.moved:
        numbers = (measure.before, measure.after)
        cells = [*map(_escaped, (measure.project, measure.period, measure.output, measure.measure))]
        cells += [*map(format_number, numbers), f"**{_signed(measure.difference)}**", f"{measure.rows_changed:,}"]
        lines.append(f"| {' | '.join(cells)} |")
    if result.single_cause is not None:
        lines += ["", f"All of it by **{_escaped(result.single_cause)}**."]
    for measure in result.moved if result.single_cause is None else ():
        if measure.causes:
            title = f"{measure.project} {measure.period}: {measure.measure} of {measure.output}"
            lines += ["", f"<details><summary>{_escaped(title)}</summary>", "", "| change | share |", "|---|--:|"]
            lines += [f"| {_escaped(cause.label)} | {_signed(cause.share)} |" for cause in measure.causes]
            lines += ["", "</details>"]
    same = len(result.outputs) - len(result.moved)
    return "\n".join([*lines, "", *([f"{same} totals stay the same.", ""] if same else [])])


def _escaped(text: str) -> str:
    return _MARKDOWN_SIGNS.sub(r"\\\1", " ".join(text.split()))


def _signed(number: Any) -> str:
    return f"+{format_number(number)}" if number > 0 else format_number(number)
