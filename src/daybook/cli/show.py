"""`daybook show`: a definition as YAML that loads again, or a run with all that is known of it."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from daybook.cli import completion
from daybook.cli.parameters import json_option
from daybook.cli.show_run import show_run
from daybook.cli.terminal import say, say_json

if TYPE_CHECKING:
    from daybook.store.records import ProjectState
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
    as_json: Annotated[bool, json_option("Everything known as JSON.")] = False,
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
            show_run(store, identifier, as_json=as_json)
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
        status = _status(state, stored.version) if state else stored.status
        say(f"# {kind} {identifier}, version {stored.version} of {versions[-1]}, {status}")
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


def _status(state: "ProjectState", shown: int) -> str:
    """The project's status, and the version that is active where another one is shown."""
    if state.active_version in (None, shown):
        return state.status
    active = f"active is version {state.active_version}"
    return active if state.status == "active" else f"{state.status}, {active}"
