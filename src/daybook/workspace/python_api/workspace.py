"""The Python interface: every use case as a method of an opened workspace."""

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

from daybook.definitions.loading import LoadedWorkspace
from daybook.errors import Code, DaybookError
from daybook.model.project import Project
from daybook.model.types import value_text
from daybook.workspace import approvals
from daybook.workspace.certificates import certificate_text, list_seals, prove_row, seal_period
from daybook.workspace.close import close_graph, close_status
from daybook.workspace.compilation import compile_project, compile_projects
from daybook.workspace.lifecycle import activate_project, apply_changes, deactivate_project, plan_changes
from daybook.workspace.log import show_log, verify_log
from daybook.workspace.open_workspace import open_workspace
from daybook.workspace.periods import close_period, list_periods, lock_period, reopen_period, show_period
from daybook.workspace.python_api.arguments import Condition, checked
from daybook.workspace.python_api.forwarding import forwarded
from daybook.workspace.python_api.results import Bridge, Diff, Explanation, Run
from daybook.workspace.runs import cancel_run, list_actions, list_runs, show_run
from daybook.workspace.spark_session import ProgramSession
from daybook.workspace.stored_definitions import compare_versions, list_definitions, show_definition
from daybook.workspace.totals import run_totals

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from daybook.compare.impact import ImpactResult
    from daybook.graph.build import BuildResult
    from daybook.graph.build_plan import BuildPlan
    from daybook.model.types import Value
    from daybook.proof.verification import Verification
    from daybook.runs.attempt.run_request import RunRequest
    from daybook.runs.explain.levels import NumberExplanation
    from daybook.runs.garbage import CollectedGarbage
    from daybook.runs.lifecycle.activation import Activation
    from daybook.runs.recomputation import Recomputation
    from daybook.runs.recovery import Recovery
    from daybook.runs.replay import ReplayResult
    from daybook.runs.run_result import OutputResult
    from daybook.runs.slices import SliceDrop, SliceEntry
    from daybook.scenarios.new_scenario import NewScenario
    from daybook.workspace.execution import DryRun
    from daybook.workspace.lineage import LineageResult
    from daybook.workspace.maintenance import Examination, StoreRestoration
    from daybook.workspace.numbers import CsvDownload, NumbersPage, NumbersRequest
    from daybook.workspace.preview import Preview
    from daybook.workspace.reference import CheckedExpression, FunctionEntry
    from daybook.workspace.report import WrittenReport
    from daybook.workspace.scenarios import ScenarioReport
    from daybook.workspace.validate import ValidationResult

_RANGE_SEPARATOR = ".."


class Workspace:
    """A folder with a `daybook.yaml`, this one or the nearest above it, opened for a program or a notebook.

    Definitions are read when a method needs them, as the files are then. Without `spark` a session is started when
    something needs one, and stopped by `close`; a session that is passed in is never stopped.
    """

    @checked
    def __init__(self, path: str | Path = ".", *, spark: "SparkSession | None" = None) -> None:
        opened = open_workspace(Path(path))
        self._session = ProgramSession(opened.settings.engine, spark)
        self._opened = replace(opened, session=self._session)

    @property
    def root(self) -> Path:
        return self._opened.root

    @property
    def definitions(self) -> LoadedWorkspace:
        """Everything that is defined here; all errors of the files are raised together."""
        return self._opened.load_definitions()

    @property
    def projects(self) -> tuple[str, ...]:
        """The ids of the projects that are defined here."""
        return tuple(self.definitions.definitions["project"])

    @checked
    def project(self, project_id: str) -> Project:
        """A project as it is written."""
        from daybook.resolve.project_files import find_project

        return find_project(self.definitions, project_id).model

    def validate(self) -> tuple[DaybookError, ...]:
        """Everything that is wrong with the definitions and with what projects compute."""
        return self.check().errors

    @checked
    def check(self, path: str | Path | None = None) -> "ValidationResult":
        """Errors and warnings of the whole workspace, or of the files below a path."""
        from daybook.workspace.validate import validate_definitions

        return validate_definitions(None if path is None else Path(path), workspace=self.root)

    compile = forwarded("compile", compile_project)
    compile_projects = forwarded("compile_projects", compile_projects)

    plan = forwarded("plan", plan_changes)
    apply = forwarded("apply", apply_changes)
    activate = forwarded("activate", activate_project)

    @checked
    def activate_all(self, *projects: str) -> "tuple[Activation, ...]":
        """Check projects together, against what they will register, and make them what runs; without names, all."""
        from daybook.workspace.lifecycle import activate_projects

        return activate_projects(self._opened, projects)

    deactivate = forwarded("deactivate", deactivate_project)

    @checked
    def run(
        self,
        project: str,
        period: str,
        *,
        as_of: str | datetime.date | None = None,
        draft: bool = False,
        allow_empty: bool = False,
        parameters: "Mapping[str, Value] | None" = None,
        require_fresh: bool = False,
        sandbox_inputs: bool = True,
    ) -> Run:
        """Run a project, by its id or file, for one period; `parameters` are values by name.

        `require_fresh` refuses to read what is out of date; without `sandbox_inputs` a draft reads live data only.

        Raises DaybookError when it may not run, RunFailedError when it does not complete.
        """
        if _RANGE_SEPARATOR in period:
            raise DaybookError("RUN_021", period=period)
        (done,) = self.run_range(
            project,
            period,
            as_of=as_of,
            draft=draft,
            allow_empty=allow_empty,
            parameters=parameters,
            require_fresh=require_fresh,
            sandbox_inputs=sandbox_inputs,
        )
        return done

    @checked
    def run_range(
        self,
        project: str,
        periods: str,
        *,
        as_of: str | datetime.date | None = None,
        draft: bool = False,
        allow_empty: bool = False,
        parameters: "Mapping[str, Value] | None" = None,
        require_fresh: bool = False,
        sandbox_inputs: bool = True,
    ) -> tuple[Run, ...]:
        """Run a project for the periods of a range such as `2026-01..2026-12`, one after the other.

        The first failure ends the range and is raised; what ran before it stays.
        """
        from daybook.workspace.execution import run_project

        request = replace(
            _run_request(project, periods, as_of, draft, allow_empty, parameters),
            requires_fresh=require_fresh,
            reads_sandbox=sandbox_inputs,
        )
        result = run_project(self._opened, request)
        if result.failure is not None:
            raise result.failure
        return tuple(Run(self, completed) for completed in result.completed)

    @checked
    def dry_run(
        self,
        project: str,
        periods: str,
        *,
        as_of: str | datetime.date | None = None,
        draft: bool = False,
        allow_empty: bool = False,
        parameters: "Mapping[str, Value] | None" = None,
    ) -> "tuple[DryRun, ...]":
        """What a run would read and write, one result per period; nothing is written, and Spark is not started."""
        from daybook.workspace.execution import dry_run_project

        return dry_run_project(self._opened, _run_request(project, periods, as_of, draft, allow_empty, parameters))

    graph = forwarded("graph", close_graph)

    @checked
    def lineage(
        self, project: str | None = None, *written: str, downstream: str | None = None, to_start: bool = False
    ) -> "LineageResult":
        """Which input columns every written column comes from, and how; without a project, for all of them.

        `written` are columns to look at. `downstream`, as `dataset.column`, gives the columns that come from that one.
        `to_start` goes through other projects down to data that nothing computes.
        """
        from daybook.workspace.lineage import trace_columns

        return trace_columns(self._opened, project, written, downstream=downstream, to_start=to_start)

    status = forwarded("status", close_status)

    @checked
    def build(
        self,
        *projects: str,
        period: str,
        only: bool = False,
        full: bool = False,
        keep_going: bool = False,
        jobs: int = 2,
        allow_empty: bool = False,
        draft: bool = False,
        parameters: "Mapping[str, Value] | None" = None,
    ) -> "BuildResult":
        """Bring projects, by default all active ones, and everything they need up to date for a period or a span.

        `parameters` are values by project and name: `{"close.threshold": 250}`.
        """
        from daybook.graph.build_plan import BuildRequest
        from daybook.model.parameter import by_project
        from daybook.workspace.close import build_close

        parameters_by_project = by_project(parameters or {})
        request = BuildRequest(
            period, projects, only, full, keep_going, jobs, allow_empty, draft, parameters_by_project
        )
        return build_close(self._opened, request)

    @checked
    def plan_build(
        self,
        *projects: str,
        period: str,
        only: bool = False,
        full: bool = False,
        parameters: "Mapping[str, Value] | None" = None,
    ) -> "BuildPlan":
        """What `build` would run, and why."""
        from daybook.graph.build_plan import BuildRequest
        from daybook.model.parameter import by_project
        from daybook.workspace.close import plan_close_build

        request = BuildRequest(period, projects, only, full, parameters=by_project(parameters or {}))
        return plan_close_build(self._opened, request)

    @checked
    def retry(self, run_id: str) -> Run:
        """Continue a failed or cancelled run from its snapshot; what it committed is not written again."""
        from daybook.workspace.execution import retry_run

        return Run(self, retry_run(self._opened, run_id))

    @checked
    def replay(self, run_id: str, *, keep_rows: bool = False) -> "ReplayResult":
        """Compute a run, by its id or as PROJECT@PERIOD, again from its snapshot and compare it with what it wrote."""
        from daybook.workspace.execution import replay_run

        return replay_run(self._opened, run_id, keep_rows=keep_rows)

    @checked
    def explain(self, run_id: str, operation: str | int, /, *, limit: int = 20, **keys: "Value") -> Explanation:
        """The rows that an operation of a run picked, by its id or seq, as they were when it came to them.

        The run is its id, or PROJECT@PERIOD for the last completed one.

        `keys` are columns and the values that rows must have there, None for NULL. An operation that groups takes the
        columns it groups by, and its summary rows are computed again, too. `Explanation.follow` goes on to the rows
        behind the rows, in whichever run they were made.
        """
        from daybook.workspace.explain import explain_number, explain_operation

        texts = {column: None if value is None else value_text(value) for column, value in keys.items()}

        def follow(depth: int | None, columns: Sequence[str]) -> "NumberExplanation":
            return explain_number(
                self._opened, run_id, str(operation), texts, limit=limit, depth=depth, columns=columns
            )

        return Explanation(explain_operation(self._opened, run_id, str(operation), texts, limit=limit), follow)

    @checked
    def diff(
        self,
        a: str,
        b: str,
        output: str | None = None,
        *,
        rows: int | None = None,
        key: Sequence[str] | None = None,
        tolerance: "str | int | float | Decimal | None" = None,
        limit: int = 10,
    ) -> Diff:
        """Compare what two runs wrote; a run is its id, or PROJECT@PERIOD for the last completed one.

        `rows` is the seq of the operation that made the rows, 0 for loaded rows. `key` are the columns rows are matched
        by. Numbers that differ by `tolerance` at most are the same. `limit` is the most changes to show.
        """
        from daybook.compare.diff import DiffRequest
        from daybook.workspace.numbers import diff_runs, parse_tolerance

        request = DiffRequest(a, b, output, rows, tuple(key or ()), parse_tolerance(tolerance), limit)
        return Diff(self, diff_runs(self._opened, request))

    @checked
    def bridge(
        self,
        a: str,
        b: str,
        *,
        measure: str,
        output: str | None = None,
        rows: int | None = None,
        by: Sequence[str] | None = None,
        order: Sequence[str] | None = None,
        through: bool | None = None,
    ) -> Bridge:
        """Say why the total of a column moved from one run of a project to another, cause by cause.

        `by` are columns to divide the total by; `order` says what is replaced first: kinds, or causes as KIND:NAME.
        With `through` causes are those of all projects behind the runs, by default where one of them reads what other
        projects wrote.
        """
        from daybook.compare.bridge import BridgeRequest
        from daybook.workspace.numbers import bridge_runs

        request = BridgeRequest(a, b, measure, output, rows, tuple(by or ()), tuple(order or ()), through)
        return Bridge(self, bridge_runs(self._opened, request))

    @checked
    def impact(self, *projects: str, against: str = "active", period: str | None = None) -> "ImpactResult":
        """Say what changed definitions would do to the last closes; nothing is written and nothing applied.

        `against` is "active", or a commit to compare the files with; without a period each project's last close counts.
        """
        from daybook.workspace.impact import ImpactRequest, find_impact

        return find_impact(self._opened, ImpactRequest(projects, against, period))

    runs = forwarded("runs", list_runs)
    show_run = forwarded("show_run", show_run)

    @checked
    def outputs(self, run_id: str) -> "tuple[OutputResult, ...]":
        """What a run has committed, in the order of its operations."""
        from daybook.workspace.numbers import list_outputs

        return list_outputs(self._opened, run_id)

    @checked
    def numbers(
        self,
        run_id: str,
        output: str | None = None,
        *,
        where: "Sequence[Condition]" = (),
        sort: "Sequence[str]" = (),
        offset: int = 0,
        limit: int = 50,
        totals: bool = True,
    ) -> "NumbersPage":
        """One page of the rows an output of a run wrote, without Spark; by default of its last output.

        `where` are comparisons such as `("amount", ">=", 100)` or `("region", "is_null")`, all of which must hold;
        `sort` are columns, with a minus in front for descending.
        """
        from daybook.workspace.numbers import read_numbers

        request = _numbers_request(run_id, output, where, sort)
        request = replace(request, offset=offset, limit=limit, has_totals=totals)
        return read_numbers(self._opened, request)

    @checked
    def numbers_csv(
        self,
        run_id: str,
        output: str | None = None,
        *,
        where: "Sequence[Condition]" = (),
        sort: "Sequence[str]" = (),
    ) -> "CsvDownload":
        """All rows of an output as CSV in pieces, without Spark; `where` and `sort` as in `numbers`."""
        from daybook.workspace.numbers import stream_csv

        return stream_csv(self._opened, _numbers_request(run_id, output, where, sort))

    @checked
    def report(
        self,
        run: str,
        path: str | Path,
        *,
        against: str | None = None,
        differences: bool = True,
        measures: Sequence[str] = (),
        limit: int = 200,
    ) -> "WrittenReport":
        """Write a run, by its id or as PROJECT@PERIOD, as one HTML file that needs no network and no script.

        It shows the differences to the run before, or to `against`, for which Spark is needed, and why the totals of
        `measures` moved. `limit` is how many rows of each output are shown. Only an earlier report is replaced.
        """
        from daybook.workspace.report import ReportRequest, write_report

        return write_report(self._opened, ReportRequest(run, against, differences, limit, tuple(measures)), Path(path))

    show = forwarded("show", show_definition)
    stored_definitions = forwarded("stored_definitions", list_definitions)
    compare_versions = forwarded("compare_versions", compare_versions)
    actions = forwarded("actions", list_actions)
    people = forwarded("people", approvals.list_people)
    add_person = forwarded("add_person", approvals.add_person)
    remove_person = forwarded("remove_person", approvals.remove_person)
    renew_token = forwarded("renew_token", approvals.renew_token)
    set_roles = forwarded("set_roles", approvals.set_roles)
    policy = forwarded("policy", approvals.show_policy)
    adopt_policy = forwarded("adopt_policy", approvals.adopt_policy)
    requests = forwarded("requests", approvals.list_requests)
    show_request = forwarded("show_request", approvals.show_request)
    approve = forwarded("approve", approvals.approve_request)
    reject = forwarded("reject", approvals.reject_request)
    withdraw = forwarded("withdraw", approvals.withdraw_request)
    log = forwarded("log", show_log)
    verify_log = forwarded("verify_log", verify_log)
    totals = forwarded("totals", run_totals)
    cancel = forwarded("cancel", cancel_run)
    periods = forwarded("periods", list_periods)
    show_period = forwarded("show_period", show_period)
    close_period = forwarded("close_period", close_period)
    lock_period = forwarded("lock_period", lock_period)
    reopen_period = forwarded("reopen_period", reopen_period)
    seal = forwarded("seal", seal_period)
    seals = forwarded("seals", list_seals)
    certificate = forwarded("certificate", certificate_text)
    prove = forwarded("prove", prove_row)

    @checked
    def verify(
        self,
        *files: str | Path,
        key: str | Path | None = None,
        period: str | None = None,
        data: bool = False,
        recompute: bool = False,
    ) -> "tuple[Verification, ...]":
        """Verify certificates and proofs by a public key, or by the signers of this workspace; needs no Spark.

        `data` compares the stored rows with what was sealed, `recompute` computes every run again from its sources.
        """
        from daybook.workspace.certificates import VerifyRequest, verify_certificates

        request = VerifyRequest(
            files=tuple(map(Path, files)),
            key=None if key is None else Path(key),
            period=period,
            data=data,
            recompute=recompute,
        )
        return verify_certificates(request, named=self._opened)

    @checked
    def slices(self, table: str | None = None) -> "tuple[SliceEntry, ...]":
        """What runs wrote into tables that collect periods, by table and period."""
        from daybook.workspace.maintenance import list_slices

        return list_slices(self._opened, table)

    @checked
    def drop_slice(self, table: str, period: str, *, reason: str) -> "SliceDrop":
        """Remove the slice of a period from a table; the reason is recorded permanently."""
        from daybook.workspace.maintenance import drop_slice

        return drop_slice(self._opened, table, period, reason=reason)

    @checked
    def take_over_slices(self, workspace: str, *, reason: str) -> "Recovery":
        """Make what another workspace wrote into tables of the projects this one's; recorded permanently."""
        from daybook.workspace.maintenance import take_over_slices

        return take_over_slices(self._opened, workspace, reason=reason)

    @checked
    def test(
        self, *paths: str | Path, keyword: str | None = None, quick: bool = False, both: bool = False
    ) -> "ScenarioReport":
        """Run the scenarios of files and folders, by default of `tests/scenarios`.

        `quick` computes them by the second engine, without Spark; `both` on both engines, which must agree.
        """
        from daybook.workspace.scenarios import run_scenarios, scenario_engine, select_scenarios

        files = select_scenarios([Path(path) for path in paths], self.root, keyword=keyword)
        engine = scenario_engine(quick=quick, both=both)
        return run_scenarios(files, None if engine == "quick" else self._opened.session, engine=engine)

    @checked
    def preview(
        self,
        project: str,
        period: str,
        *,
        as_of: str | datetime.date | None = None,
        parameters: "Mapping[str, Value] | None" = None,
        limit: int = 10,
    ) -> "Preview":
        """What a run of the files as they are now would do, computed without Spark; nothing is kept.

        `limit` is the number of rows shown of every output.
        """
        from daybook.runs.attempt.run_request import RunRequest
        from daybook.workspace.execution import parse_as_of
        from daybook.workspace.preview import preview_project

        request = RunRequest(project, period, parse_as_of(as_of), parameters=parameters or {})
        return preview_project(self._opened, request, rows=limit)

    @checked
    def recompute(self, run_id: str, /, *, limit: int = 20, **keys: "Value") -> "Recomputation":
        """Compute a run again in plain Python, and compare every cell with what it wrote.

        `keys` are columns and the values that rows must have there, None for NULL; without any, all rows are compared.
        """
        from daybook.workspace.recomputation import recompute

        texts = {column: None if value is None else value_text(value) for column, value in keys.items()}
        return recompute(self._opened, run_id, texts, limit=limit)

    @checked
    def new_scenario(
        self,
        project: str,
        *,
        run_id: str | None = None,
        path: str | Path | None = None,
        within: str = "60s",
    ) -> "NewScenario":
        """Write a scenario from a few rows that a run of a project read, by default its last completed one."""
        from daybook.workspace.scenarios import new_scenario

        file = None if path is None else Path(path)
        return new_scenario(self._opened, project, run_id=run_id, file=file, within=within)

    @checked
    def doctor(self, *, fix: bool = False, with_spark: bool = True) -> "Examination":
        """Check everything that a run needs; `fix` removes what killed runs left behind."""
        from daybook.workspace.maintenance import examine

        return examine(self._opened, fix=fix, session=self._opened.session if with_spark else None)

    @checked
    def restore_store(self) -> "StoreRestoration":
        """Put the newest backup in the place of a damaged store, and find again what was committed since."""
        from daybook.workspace.maintenance import restore_store

        return restore_store(self._opened)

    @checked
    def gc(self, *, dry_run: bool = False) -> "CollectedGarbage":
        """Remove what the retention of daybook.yaml no longer keeps."""
        from daybook.workspace.maintenance import apply_retention

        return apply_retention(self._opened, dry_run=dry_run)

    @staticmethod
    @checked
    def functions(name: str | None = None) -> "tuple[FunctionEntry, ...]":
        """The functions of the expression language, or the one with this name."""
        from daybook.workspace.reference import list_functions

        return list_functions(name)

    @staticmethod
    @checked
    def parse(
        expression: str,
        *,
        columns: str = "",
        group_by: Sequence[str] | None = None,
        names: Mapping[str, str] | None = None,
        parameter_types: str = "",
    ) -> "CheckedExpression":
        """The type and the Spark SQL of an expression over columns such as `amount decimal, status string`.

        `names` are named expressions; `parameter_types` is written as the columns are.
        """
        from daybook.workspace.reference import check_expression

        return check_expression(expression, columns=columns, group_by=group_by, names=names, parameters=parameter_types)

    @staticmethod
    @checked
    def explain_code(code: str) -> Code:
        """What an error code means and what to do about it."""
        from daybook.workspace.reference import explain_code

        return explain_code(code)

    @staticmethod
    @checked
    def write_schemas(folder: str | Path) -> tuple[Path, ...]:
        """Write JSON Schemas of all definition files into a folder."""
        from daybook.workspace.schemas import write_schemas

        return write_schemas(Path(folder))

    @property
    def spark(self) -> "SparkSession":
        """The session that runs use."""
        return self._session()

    def close(self) -> None:
        """Stop the session if it was started here."""
        self._session.close()

    def __enter__(self) -> "Workspace":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _run_request(
    project: str,
    period: str,
    as_of: str | datetime.date | None,
    draft: bool,
    allow_empty: bool,
    parameters: "Mapping[str, Value] | None",
) -> "RunRequest":
    from daybook.runs.attempt.run_request import RunRequest
    from daybook.workspace.execution import parse_as_of

    return RunRequest(project, period, parse_as_of(as_of), draft, allow_empty, parameters=parameters or {})


def _numbers_request(
    run_id: str, output: str | None, where: "Sequence[Condition]", sort: Sequence[str]
) -> "NumbersRequest":
    from daybook.io.stored_rows import RowCondition, RowOrder
    from daybook.workspace.numbers import NumbersRequest

    conditions = tuple(RowCondition(*condition) for condition in where)
    order = tuple(RowOrder(name.removeprefix("-"), name.startswith("-")) for name in sort)
    return NumbersRequest(run_id, output, conditions, order)
