"""Acts that may need approval: what to do and the state to do it on, both bound by a digest."""

import datetime
import hashlib
import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import rfc8785

from daybook.definitions.changes import DefinitionChange
from daybook.definitions.reachable import stored_keys
from daybook.errors import DaybookError
from daybook.model.calendar import Period
from daybook.model.policy import RuleName
from daybook.model.project import Project
from daybook.model.serialization import decode_definition, encode_definition
from daybook.resolve.calendars.periods import calendar_for
from daybook.store.records import Request, RequestedAct, RunRecord, Slice
from daybook.store.store import Transaction

# The rule of the policy for each act; changes of people and policies must satisfy all rules of the policy in force.
RULES: Mapping[RequestedAct, RuleName] = {
    "activate": "activate",
    "deactivate": "activate",
    "apply": "activate",
    "take-over": "activate",
    "lock": "lock",
    "reopen": "reopen",
    "drop": "drop",
    "seal": "seal",
}


@dataclass(frozen=True, slots=True)
class ShownChange:
    """One thing that an act changes; `difference` as `diff -u` shows it, or empty."""

    title: str
    difference: str = ""


@dataclass(frozen=True, slots=True)
class Act:
    """What to do (`payload`), the state it is done on (`basis`), and the changes as approvers see them."""

    name: RequestedAct
    subject: str
    payload: Mapping[str, Any]
    basis: Mapping[str, Any]
    changes: tuple[ShownChange, ...] = ()

    @property
    def digest(self) -> str:
        bound = {"act": self.name, "basis": self.basis, "payload": self.payload, "subject": self.subject}
        return hashlib.sha256(rfc8785.dumps(bound)).hexdigest()


def change_act(
    transaction: Transaction,
    name: RequestedAct,
    subject: str,
    *,
    workspace: str,
    held: Iterable[DefinitionChange] = (),
    activate: Iterable[str] = (),
    deactivate: Iterable[str] = (),
    dataset_version: int | None = None,
    changes: tuple[ShownChange, ...] = (),
) -> Act:
    """Applies definitions that active projects compute with, and activates or deactivates projects."""
    payload = {
        "activate": sorted(activate),
        "dataset_version": dataset_version,
        "deactivate": sorted(deactivate),
        "definitions": [
            {"body": _body(change), "id": change.id, "kind": change.kind}
            for change in sorted(held, key=lambda change: (change.kind, change.id))
        ],
        "workspace": workspace,
    }
    return Act(name, subject, payload, _change_basis(transaction, payload), changes)


def _body(change: DefinitionChange) -> str | None:
    if change.definition is None:
        return None
    return encode_definition(change.kind, change.definition.model).body


def _change_basis(transaction: Transaction, payload: Mapping[str, Any]) -> dict[str, Any]:
    """The definitions that are replaced, and the projects with all that they read, by their digests."""
    heads = transaction.definitions.heads()
    stored = transaction.stored_definitions()
    basis: dict[str, Any] = {}
    for item in payload["definitions"]:
        head = heads.get((item["kind"], item["id"]))
        basis[f"{item['kind']} {item['id']}"] = [head.text_digest, head.status] if head is not None else None
    for project_id in (*payload["activate"], *payload["deactivate"]):
        state = transaction.projects.get(project_id)
        text = transaction.definitions.get("project", project_id).body
        project: Project = decode_definition("project", text)
        reads = {
            f"{kind} {identifier}": [head.structure_digest, head.status]
            for kind, identifier in stored_keys(stored, [project])
            if (head := heads.get((kind, identifier))) is not None
        }
        basis[f"project {project_id}"] = {
            "active_version": state.active_version,
            "reads": reads,
            "status": state.status,
            "text": hashlib.sha256(text.encode()).hexdigest(),
        }
    return basis


def period_act(
    transaction: Transaction,
    name: RequestedAct,
    period: Period,
    *,
    reason: str | None = None,
    details: Mapping[str, Any] | None = None,
) -> Act:
    """Locking, reopening or sealing a period with the completed run of every project and period inside it."""
    payload = {
        "calendar": period.calendar_id,
        "end": period.end_date.isoformat(),
        "identifier": period.identifier,
        "level": period.level,
        "reason": reason,
        "start": period.start_date.isoformat(),
        **(details or {}),
    }
    runs = {f"{run.project_id}@{run.period}": run.id for run in _runs_inside(transaction, period)}
    basis = {"changes": len(transaction.periods.history(period)), "runs": runs}
    changes = tuple(ShownChange(f"{node}: run {run_id}") for node, run_id in sorted(runs.items()))
    stale = tuple(ShownChange(f"though it is out of date: {node}") for node in payload.get("accept_stale", ()))
    return Act(name, period.identifier, payload, basis, (ShownChange(_PERIOD_SENTENCES[name]), *changes, *stale))


_PERIOD_SENTENCES: Mapping[RequestedAct, str] = {
    "lock": "no run can change the period any more; it keeps the results of",
    "reopen": "runs can change the period again; they may replace the results of",
    "seal": "a certificate binds the results of",
}


def period_of_payload(payload: Mapping[str, Any]) -> Period:
    start, end = (datetime.date.fromisoformat(payload[key]) for key in ("start", "end"))
    return Period(payload["identifier"], payload["level"], start, end, payload["calendar"])


def _runs_inside(transaction: Transaction, period: Period) -> Iterable[RunRecord]:
    stored = transaction.stored_definitions()
    for run in transaction.runs.last_completed():
        try:
            own = calendar_for(run.calendar_id, stored).find(run.period)
        except DaybookError:
            # The calendar was removed, so the days of its periods are unknown.
            own = None
        if own is None:
            is_inside = run.calendar_id == period.calendar_id and run.period == period.identifier
        else:
            is_inside = period.start_date <= own.start_date and own.end_date <= period.end_date
        if is_inside:
            yield run


def drop_act(table: str, stored: Slice) -> Act:
    payload = {"name": table, "period": stored.period, "table": stored.destination}
    basis = {"project": stored.project_id, "run": stored.run_id}
    rows = "" if stored.rows is None else f"{stored.rows:,} rows of "
    title = f"removes {rows}{stored.period} from {table}, written by run {stored.run_id}"
    return Act("drop", f"{table}@{stored.period}", payload, basis, (ShownChange(title),))


def take_over_act(transaction: Transaction, owner: str) -> Act:
    taken = sorted(transaction.identity.ids().taken)
    title = f"what workspace {owner} wrote into tables of these projects belongs to this workspace"
    return Act("take-over", owner, {"owner": owner}, {"taken": taken}, (ShownChange(title),))


def people_act(
    transaction: Transaction,
    what: str,
    name: str,
    *,
    roles: Collection[str] = (),
    account: int | None = None,
    token_id: str | None = None,
    token_hash: str | None = None,
) -> Act:
    """Adding or removing a person, other roles, another token."""
    sorted_roles = sorted(set(roles))
    payload = {
        "account": account,
        "name": name,
        "roles": sorted_roles,
        "token_hash": token_hash,
        "token_id": token_id,
        "what": what,
    }
    person = transaction.people.find(name)
    basis = None
    if person is not None:
        basis = {
            "account": person.account,
            "removed": person.removed_at is not None,
            "roles": list(person.roles),
            "token_id": person.token_id,
        }
    before = f" (before: {', '.join(person.roles) or 'none'})" if person is not None and what == "roles" else ""
    with_roles = f" with the roles {', '.join(sorted_roles) or 'none'}{before}" if what in ("add", "roles") else ""
    title = {"add": "adds", "remove": "removes", "roles": "changes", "renew": "gives a new token to"}[what]
    return Act("people", name, payload, {"person": basis}, (ShownChange(f"{title} {name}{with_roles}"),))


def policy_act(transaction: Transaction, body: str, changes: tuple[ShownChange, ...]) -> Act:
    adopted = transaction.policies.adopted()
    basis = {"in_force": adopted.digest if adopted is not None else None}
    return Act("policy", "approvals", {"policy": json.loads(body)}, basis, changes)


def act_of_request(transaction: Transaction, request: Request) -> Act:
    """The requested act on the present state of the store; its digest differs where that state has changed."""
    payload, name = request.payload, request.act
    match name:
        case "activate" | "deactivate" | "apply":
            basis: Mapping[str, Any] = _change_basis(transaction, payload)
        case "lock" | "reopen" | "seal":
            basis = period_act(transaction, name, period_of_payload(payload)).basis
        case "drop":
            slices = transaction.slices.all()
            key = payload["table"], payload["period"]
            stored = next((item for item in slices if (item.destination, item.period) == key), None)
            basis = drop_act(payload["name"], stored).basis if stored is not None else {}
        case "take-over":
            basis = take_over_act(transaction, payload["owner"]).basis
        case "people":
            basis = people_act(transaction, payload["what"], payload["name"]).basis
        case "policy":
            basis = policy_act(transaction, json.dumps(payload["policy"]), ()).basis
    return Act(name, request.subject, payload, basis)
