"""`daybook show run`: all that is known of a run."""

from typing import TYPE_CHECKING, Any

from daybook.cli.places import near_in
from daybook.cli.run_report import read_from, seconds, show_effects, written
from daybook.cli.terminal import say, say_json

if TYPE_CHECKING:
    import datetime

    from daybook.store.records import OperationResult, RecordedCommit, RunRecord
    from daybook.store.store import Store


def show_run(store: "Store", run_id: str, *, as_json: bool) -> None:
    with store.read() as transaction:
        record = transaction.runs.get(run_id)
        operations = transaction.outcomes.operations(run_id)
        commits = transaction.outcomes.commits(run_id)
        snapshot = transaction.runs.snapshot(run_id)
    if as_json:
        say_json(_as_data(record, operations, commits, snapshot))
    else:
        _show(record, operations, commits, snapshot)


def _as_data(
    record: "RunRecord", operations: "tuple[OperationResult, ...]", commits: "tuple[RecordedCommit, ...]", snapshot: str
) -> dict[str, Any]:
    """`error` as it was kept; `errors` and operations in the form that `run` gives them."""
    import json
    from dataclasses import asdict

    from daybook.cli.run_data import of_record
    from daybook.errors import kept_findings

    taken = json.loads(snapshot)
    names = {operation["seq"]: operation["name"] for operation in taken["project"]["operations"]}
    return {
        **of_record(record),
        "errors": kept_findings(record.error) if record.error else [],
        "operations": [{**asdict(result), "name": names.get(result.seq, result.type)} for result in operations],
        "commits": [{**asdict(item.commit), "committed_at": item.committed_at.isoformat()} for item in commits],
        "snapshot": taken,
    }


def _show(
    record: "RunRecord", operations: "tuple[OperationResult, ...]", commits: "tuple[RecordedCommit, ...]", snapshot: str
) -> None:
    from daybook.errors import kept_findings, render_data
    from daybook.runs.snapshot import snapshot_from_json
    from daybook.store.records import milliseconds

    taken = snapshot_from_json(snapshot)
    draft = " as a draft" if record.is_draft else ""
    took = f" in {seconds(milliseconds(record.duration))}" if record.duration else ""
    say(f"run {record.id}: {record.status}{draft}{took}")
    say(f"  project   {record.project_id} version {record.project_version}")
    say(f"  period    {record.period}" + (f", as of {record.as_of}" if record.as_of else ""))
    say(f"  created   {_moment(record.created_at)} by {record.user or 'somebody'} on {record.process.host}")
    if record.finished_at:
        say(f"  finished  {_moment(record.finished_at)}")
    if record.attempt > 1:
        say(f"  attempts  {record.attempt}")
    for source in read_from(taken.sources):
        say(f"  reads     {source}")
    if operations:
        say("")
        show_effects(operations, {operation.seq: operation.name for operation in taken.project.operations})
    if commits:
        say("")
    for commit in (item.commit for item in commits):
        known = commit.details
        line = written(commit.destination, commit.rows, known.get("dataset_id"), known.get("dataset_version"))
        say(f"{line} ({commit.mode})")
    for finding in kept_findings(record.error) if record.error else ():
        say("")
        say(near_in(render_data(finding)))


def _moment(moment: "datetime.datetime") -> str:
    return f"{moment:%Y-%m-%d %H:%M:%S} UTC"
