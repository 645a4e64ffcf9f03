"""`daybook show`: a definition as YAML that loads again, or a run with all that is known of it."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from daybook.cli import completion
from daybook.cli.places import near
from daybook.cli.terminal import remark, say, say_json

if TYPE_CHECKING:
    import datetime

    from daybook.store.store import Store


_KINDS = ("dataset", "datasource", "resolver", "calendar", "project", "run")


def show(
    context: typer.Context,
    kind: Annotated[
        str, typer.Argument(metavar="KIND", help=f"What it is: {', '.join(_KINDS)}.", autocompletion=lambda: _KINDS)
    ],
    identifier: Annotated[str, typer.Argument(help="Its id.", metavar="ID", autocompletion=completion.shown_ids)],
    version: Annotated[
        int | None, typer.Option("--version", metavar="N", help="A version; otherwise the latest.", min=1)
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Everything known as JSON.")] = False,
) -> None:
    """Show a definition or a run as the store has it.

    A definition is shown as YAML that loads again.
    """
    from daybook.cli.workspace_store import opened_or_empty, settings
    from daybook.model.suggestion import did_you_mean

    if kind not in _KINDS:
        raise typer.BadParameter(f"nothing is a {kind}; {did_you_mean(kind, _KINDS)}", param_hint="KIND")
    if kind == "run" and version is not None:
        raise typer.BadParameter("a run has no versions", param_hint="--version")
    root, found = settings(context)
    with opened_or_empty(found.store, root) as store:
        if kind == "run":
            data = _run(store, identifier)
            say_json(data) if as_json else _show_run(data)
        else:
            _show_definition(store, kind, identifier, version, as_json=as_json)


def _show_definition(store: "Store", kind: Any, identifier: str, version: int | None, *, as_json: bool) -> None:
    import json

    from daybook.model.dump import to_yaml
    from daybook.store.texts import from_text

    with store.read() as transaction:
        stored = transaction.definitions.get(kind, identifier, version)
        state = transaction.projects.find(identifier) if kind == "project" else None
        usage = transaction.projects.usage(identifier, stored.version) if kind == "project" else ()
        inputs = transaction.projects.inputs(identifier, stored.version) if kind == "project" else ()
        pin = transaction.definitions.pin(identifier, stored.version) if kind == "dataset" else None
        versions = transaction.definitions.versions(kind, identifier)
    if not as_json:
        status = state.status if state else stored.status
        active = f", active is version {state.active_version}" if state and state.active_version else ""
        say(f"# {kind} {identifier}, version {stored.version} of {versions[-1]}, {status}{active}")
        if pin is not None:
            say(f"# the data is {pin.uri} at Delta version {pin.delta_version}")
        for warning in state.warnings if state else ():
            say(f"# {warning}")
        typer.echo(to_yaml(kind, from_text(kind, stored.body)), nl=False)
        return
    data: dict[str, Any] = {
        "kind": kind,
        "id": identifier,
        "version": stored.version,
        "versions": list(versions),
        "status": state.status if state else stored.status,
        "created_at": stored.created_at.isoformat(),
        "workspace": stored.workspace,
        "definition": json.loads(stored.body),
    }
    if state is not None:
        data["active_version"] = state.active_version
        data["conflict"] = state.conflict
        data["warnings"] = list(state.warnings)
        data["datasets"] = [
            {"id": item.dataset_id, "version": item.version, "pinned": item.is_pinned} for item in inputs
        ]
        data["column_usage"] = [
            {"operation_seq": use.operation_seq, "dataset_id": use.dataset_id, "column": use.column} for use in usage
        ]
    if pin is not None:
        data["data"] = {"uri": pin.uri, "delta_version": pin.delta_version}
    say_json(data)


def _run(store: "Store", run_id: str) -> dict[str, Any]:
    import dataclasses
    import json

    with store.read() as transaction:
        record = transaction.runs.get(run_id)
        operations = transaction.outcomes.operations(run_id)
        commits = transaction.outcomes.commits(run_id)
        snapshot = json.loads(transaction.runs.snapshot(run_id))
    return {
        **dataclasses.asdict(record),
        "operations": [dataclasses.asdict(result) for result in operations],
        "commits": [
            {**dataclasses.asdict(item.commit), "committed_at": item.committed_at.isoformat()} for item in commits
        ],
        "snapshot": snapshot,
    }


def _show_run(data: dict[str, Any]) -> None:
    draft = " as a draft" if data["is_draft"] else ""
    say(f"run {data['id']}: {data['status']}{draft}")
    say(f"  project   {data['project_id']} version {data['project_version']}")
    say(f"  period    {data['period']}" + (f", as of {data['as_of']}" if data["as_of"] else ""))
    say(f"  created   {_moment(data['created_at'])} by {data['user'] or 'somebody'} on {data['process']['host']}")
    if data["finished_at"]:
        say(f"  finished  {_moment(data['finished_at'])}")
    if data["attempt"] > 1:
        say(f"  attempts  {data['attempt']}")
    names = {each["seq"]: each["name"] for each in data["snapshot"]["project"]["operations"]}
    for result in data["operations"]:
        say(f"  {result['seq'] or '':>4} {_deed(result, names)}")
    for commit in data["commits"]:
        rows = "" if commit["rows"] is None else f", {commit['rows']:,} rows"
        say(f"  wrote {near(commit['destination'])} ({commit['mode']}{rows})")
    if data["error"]:
        remark(f"  failed: [{data['error'].get('code')}] {data['error'].get('message')}")


def _deed(result: dict[str, Any], names: dict[int, str]) -> str:
    """What an operation did, by its counts; seq 0 is the reading of the input."""
    if result["type"] == "load":
        read = result["rows_added"]
        return "read the input" + ("" if read is None else f": {read:,} rows")
    counts = [
        f"{result[f'rows_{word}']:,} {word}"
        for word in ("picked", "added", "deleted", "written")
        if result[f"rows_{word}"]
    ]
    name = names.get(result["seq"], result["operation_id"])
    return f"{result['type']:<10} {name}: {', '.join(counts) or 'no rows'}"


def _moment(moment: "datetime.datetime") -> str:
    return f"{moment:%Y-%m-%d %H:%M:%S} UTC"
