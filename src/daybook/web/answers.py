"""What the API answers, as types for its OpenAPI description; the answers themselves are what `--json` prints."""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field


class Answer(BaseModel):
    """Nothing else is in an answer; keys may be added in later versions."""

    model_config = ConfigDict(extra="forbid")


class Finding(Answer):
    """One thing that is wrong: where, and the way out."""

    code: str
    message: str
    place: str | None = None
    file: str | None = None
    line: int | None = None
    column: int | None = None
    hint: str | None = None
    operation_seq: int | None = None
    excerpt: list[str] | None = None
    used_as: str | None = None
    causes: list[dict[str, Any]] = []


class Problem(Answer):
    """An error as RFC 9457 has it; `errors` has every finding."""

    type: str
    title: str
    status: int
    detail: str | None
    instance: str
    code: str
    errors: list[Finding]


class Process(Answer):
    host: str
    host_id: str
    pid: int
    started: str


RunStatus = Literal["queued", "running", "completed", "failed", "cancelled"]


class RunSummary(Answer):
    id: str
    project_id: str
    project_version: int
    calendar_id: str
    period: str
    as_of: str | None
    status: RunStatus
    is_draft: bool
    is_sandboxed: bool
    user: str | None
    created_at: str
    started_at: str | None
    finished_at: str | None
    attempt: int
    last_completed_operation: int | None
    error: dict[str, Any] | None
    cancel_requested_at: str | None
    token: int
    lease_expires_at: str | None
    process: Process
    duration_ms: int | None


class Runs(Answer):
    """Newest first; `next` continues the list as the parameter `after`."""

    runs: list[RunSummary]
    next: str | None


class TableVersion(Answer):
    format: str
    token: str


class OperationCounts(Answer):
    seq: int
    operation_id: str
    type: Literal["load", "update", "aggregate", "append", "delete", "check", "output"]
    rows_picked: int | None
    rows_added: int | None
    rows_deleted: int | None
    rows_written: int | None
    duration_ms: int | None
    details: dict[str, Any]
    name: str


class CommittedOutput(Answer):
    operation_seq: int
    operation_id: str
    destination: str
    mode: str
    table_version: TableVersion | None
    delta_version: int | None
    rows: int | None
    fingerprint: str | None
    details: dict[str, Any]
    committed_at: str | None


class RunDetails(RunSummary):
    errors: list[Finding]
    operations: list[OperationCounts]
    commits: list[CommittedOutput]
    snapshot: dict[str, Any]


NodeState = Literal["fresh", "stale", "never", "failed", "running", "blocked"]


class NodeStatus(Answer):
    project: str
    period: str
    state: NodeState
    is_locked: bool
    run: str | None
    reasons: list[str]


class Status(Answer):
    nodes: list[NodeStatus]


class GraphNode(Answer):
    project: str
    period: str | None = None


class GraphEdge(Answer):
    model_config = ConfigDict(extra="forbid", populate_by_name=True)

    maker: str = Field(alias="from")
    reader: str = Field(alias="to")
    dataset: str


class Graph(Answer):
    nodes: list[GraphNode]
    edges: list[GraphEdge]


class PlannedNode(NodeStatus):
    will_run: bool
    why: list[str]


class BuildPlan(Answer):
    nodes: list[PlannedNode]
    left_out: list[str]


class PeriodChangeEntry(Answer):
    status: str
    changed_at: str
    changed_by: str | None
    reason: str | None


class PeriodStatus(Answer):
    identifier: str
    level: str
    start_date: str
    end_date: str
    calendar_id: str
    status: Literal["open", "closed", "locked"]
    because_of: str | None
    changed_at: str | None
    changed_by: str | None
    history: list[PeriodChangeEntry]


class PeriodChange(Answer):
    identifier: str
    status: Literal["open", "closed", "locked"]
    changed: bool


class DatasetInUse(Answer):
    id: str
    version: int
    pinned: bool


class ColumnInUse(Answer):
    operation_seq: int
    dataset_id: str
    column: str


class DatasetVersionEntry(Answer):
    version: int
    created_at: str
    project_id: str | None
    run_id: str | None
    period: str | None
    rows: int | None


class RegisteredData(Answer):
    uri: str
    table_version: TableVersion | None
    delta_version: int | None


DefinitionKind = Literal["dataset", "datasource", "resolver", "calendar", "project"]


class Definition(Answer):
    """One version of a definition; the keys after `definition` are there for projects or datasets."""

    kind: DefinitionKind
    id: str
    version: int
    versions: list[int]
    status: str
    created_at: str
    workspace: str | None
    definition: dict[str, Any]
    active_version: int | None = None
    conflict: dict[str, Any] | None = None
    warnings: list[str] = []
    datasets: list[DatasetInUse] = []
    column_usage: list[ColumnInUse] = []
    history: list[DatasetVersionEntry] = []
    data: RegisteredData | None = None


class ErrorCode(Answer):
    code: str
    message: str
    explanation: str
    hint: str | None


class ActionDone(Answer):
    """`run` is the run that began or was changed; `changed` is false where it was so before."""

    action: str
    subject: str
    run: str | None
    changed: bool


class Action(Answer):
    done_at: str
    done_by: str
    name: str
    subject: str
    details: dict[str, Any]


class DefinitionSummary(Answer):
    kind: DefinitionKind
    id: str
    version: int
    status: str
    active_version: int | None
    workspace: str | None


class VersionDifference(Answer):
    """Lines of a unified diff; none where the versions read the same."""

    kind: DefinitionKind
    id: str
    before: int
    after: int
    lines: list[str]


class Output(Answer):
    operation_seq: int
    operation_id: str
    name: str
    destination: str
    place: str
    format: str
    rows_written: int
    columns_written: list[str]
    write_duration_ms: int
    dataset_id: str | None
    dataset_version: int | None
    table_version: TableVersion | None
    delta_version: int | None
    is_repeat: bool


class NumberColumn(Answer):
    name: str
    type: str


class Condition(Answer):
    column: str
    comparison: str
    value: Any = None


class Order(Answer):
    column: str
    is_descending: bool


class Numbers(Answer):
    """Exact numbers are texts; `totals` are sums over all rows that fulfil the conditions."""

    run_id: str
    project_id: str
    period: str
    output: Output
    columns: list[NumberColumn]
    where: list[Condition]
    sort: list[Order]
    offset: int
    limit: int
    count: int
    totals: dict[str, Any] | None
    rows: list[dict[str, Any]]


class ExplainedOperation(Answer):
    seq: int
    id: str
    name: str
    type: str


class NextQuestion(Answer):
    run_id: str
    project_id: str
    period: str
    seq: int
    keys: dict[str, str | None]


class Origin(Answer):
    key: dict[str, Any]
    dataset_id: str | None
    next: NextQuestion | None


class ShownRows(Answer):
    count: int
    columns: list[str]
    shown: list[dict[str, Any]]


class PickedRows(ShownRows):
    origins: list[Origin]


class Sum(Answer):
    column: str
    above: str | None
    value: str | None
    rows: str | None
    is_equal: bool


class Explanation(Answer):
    run_id: str
    project_id: str
    period: str
    operation: ExplainedOperation
    keys: dict[str, Any]
    groups: list[dict[str, Any]]
    summary_rows: ShownRows | None
    rows: PickedRows
    sums: list[Sum]


class Gap(Answer):
    run_id: str
    seq: int
    errors: list[Finding]


class ExplanationLevel(Answer):
    depth: int
    explanations: list[Explanation]
    gaps: list[Gap]


class NumberExplanation(Explanation):
    levels: list[ExplanationLevel]
    is_complete: bool


class ComparedOperation(Answer):
    a: int
    b: int
    name: str


class DiffRows(Answer):
    a: int
    b: int
    added: int
    removed: int
    changed: int
    same: int


class DiffTotal(Answer):
    column: str
    before: str
    after: str
    difference: str


class RowPair(Answer):
    a: int
    b: int


class DiffChange(Answer):
    key: dict[str, Any]
    before: dict[str, Any] | None
    after: dict[str, Any] | None
    rows: RowPair | None = None


class OnlyIn(Answer):
    a: list[str]
    b: list[str]


class Retyped(Answer):
    column: str
    a: str
    b: str


class Notice(Answer):
    code: str
    message: str
    file: str | None
    line: int | None
    column: int | None
    hint: str | None


class Diff(Answer):
    a: str
    b: str
    output: str
    operation: ComparedOperation
    key: list[str]
    key_origin: Literal["given", "group_by", "natural_key", "row_id"]
    rows: DiffRows
    totals: list[DiffTotal]
    changes: list[DiffChange]
    repeated_keys: RowPair | None = None
    only_in: OnlyIn | None = None
    retyped: list[Retyped] = []
    notices: list[Notice]


class LineageInput(Answer):
    dataset: str
    column: str
    kind: Literal["direct", "indirect"]
    how: str
    operations: list[int]


class LineageColumn(Answer):
    project: str
    output: int
    column: str
    inputs: list[LineageInput]


class Lineage(Answer):
    columns: list[LineageColumn]


class CauseRows(Answer):
    added: int
    removed: int
    changed: int


class RowEffect(Answer):
    key: dict[str, Any] | None
    before: dict[str, Any] | None
    after: dict[str, Any] | None
    effect: str | None


class CauseName(Answer):
    kind: str
    name: str
    label: str


class Cause(CauseName):
    share: str
    rows: CauseRows | None = None
    largest: list[RowEffect] = []
    together: list[CauseName] = []
    reason: str | None = None


class CauseShare(Answer):
    kind: str
    name: str
    share: str


class GroupBridge(Answer):
    key: dict[str, Any] | None
    before: str
    after: str
    causes: list[CauseShare]


class Bridge(Answer):
    """Numbers are exact text; `before` and the shares are `after`."""

    a: str
    b: str
    output: str
    operation: ComparedOperation
    measure: str
    before: str
    after: str
    difference: str
    residual: str
    order: list[str]
    causes: list[Cause]
    by: list[GroupBridge] | None = None
    notices: list[Notice]
