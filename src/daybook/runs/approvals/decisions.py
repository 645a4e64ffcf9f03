"""Approves, rejects and withdraws requests; the last approval performs the act in the same transaction."""

import hashlib
import json
from collections.abc import Iterable, Iterator
from typing import Any

import rfc8785

from daybook.definitions.changes import text_difference
from daybook.definitions.reachable import stored_keys
from daybook.errors import DaybookError
from daybook.model.definition import Definition, DefinitionKind
from daybook.model.project import Project
from daybook.model.serialization import DefinitionModel, decode_definition, to_yaml
from daybook.model.source_map import SourceMap
from daybook.runs.approvals.acts import Act, ShownChange, act_of_request, period_of_payload
from daybook.runs.approvals.requests import describe_request, require_person
from daybook.runs.lifecycle.activation import Activation, activate_in, deactivate_in
from daybook.runs.lifecycle.apply import active_projects, apply_in
from daybook.runs.lifecycle.period_status import change_period_status
from daybook.store.database.people import NewToken
from daybook.store.database.projects import find_active_project
from daybook.store.records import Decision, Person, Request, RequestStatus
from daybook.store.store import MetadataStore, Transaction

# Performed by the requester once released, since they change more than the store.
_RELEASED_ACTS = ("drop", "seal", "take-over")


def approve(store: MetadataStore, number: int, *, reason: str | None = None) -> Request:
    """Approve a request as a person; the last approval performs the act or releases it."""
    void_error: DaybookError | None = None
    with store.logged_refusal("approve", f"request {number}"), store.write() as transaction:
        request, person = _open_request(transaction, number, "approved")
        _require_another(request, person)
        _require_role(transaction, request, person)
        if act_of_request(transaction, request).digest != request.digest:
            _end(transaction, request, "void", person, "what it would change is not what was asked for any more")
            void_error = DaybookError("APPROVAL_008", number=number, act=request.act, subject=request.subject)
        else:
            transaction.requests.decide(Decision(number, person.name, "approve", transaction.now(), reason))
            transaction.log.append("approve", request.subject, _logged(request, reason))
            # Approvals by the requester do not count.
            needs = describe_request(transaction, request).needs
            if all(need.is_met for need in needs):
                _do(transaction, request, person)
        result = transaction.requests.get(number)
    if void_error is not None:
        _log_void(store, number, void_error)
        raise void_error
    return result


def reject(store: MetadataStore, number: int, *, reason: str) -> Request:
    """Refuse a request as a person who could approve it."""
    if not reason.strip():
        raise DaybookError("STORE_032", action="Rejecting a request")
    with store.logged_refusal("reject", f"request {number}"), store.write() as transaction:
        request, person = _open_request(transaction, number, "rejected")
        _require_another(request, person)
        _require_role(transaction, request, person)
        transaction.requests.decide(Decision(number, person.name, "reject", transaction.now(), reason))
        transaction.log.append("reject", request.subject, _logged(request, reason))
        _end(transaction, request, "rejected", person, reason)
        return transaction.requests.get(number)


def withdraw(store: MetadataStore, number: int, *, reason: str | None = None) -> Request:
    """Take back one's own request, also a released one that has not begun."""
    with store.logged_refusal("withdraw", f"request {number}"), store.write() as transaction:
        transaction.requests.lock()
        person, request = require_person(transaction), transaction.requests.get(number)
        if request.status not in ("open", "released"):
            raise DaybookError("APPROVAL_006", number=number, status=request.status, action="withdrawn")
        if request.requested_by != person.name:
            raise DaybookError("APPROVAL_018", number=number, name=request.requested_by)
        transaction.log.append("withdraw", request.subject, _logged(request, reason))
        _end(transaction, request, "withdrawn", person, reason)
        return transaction.requests.get(number)


def _open_request(transaction: Transaction, number: int, action: str) -> tuple[Request, Person]:
    """The request and the person, under the lock of requests, so that concurrent decisions see each other."""
    transaction.requests.lock()
    person, request = require_person(transaction), transaction.requests.get(number)
    if request.status != "open":
        raise DaybookError("APPROVAL_006", number=number, status=request.status, action=action)
    return request, person


def _require_another(request: Request, person: Person) -> None:
    if request.requested_by == person.name:
        raise DaybookError("APPROVAL_003", number=request.number, name=person.name)


def _require_role(transaction: Transaction, request: Request, person: Person) -> None:
    described = describe_request(transaction, request)
    if not described.may_be_decided_with(person.roles):
        roles = ", ".join(sorted({role for need in described.needs for role in need.by}))
        raise DaybookError("APPROVAL_005", number=request.number, name=person.name, roles=roles)


def _logged(request: Request, reason: str | None) -> dict[str, Any]:
    return {
        "act": request.act,
        "digest": request.digest,
        "reason": reason,
        "request": request.number,
        "requested_by": request.requested_by,
    }


def _log_void(store: MetadataStore, number: int, error: DaybookError) -> None:
    with store.write() as transaction:
        transaction.log.append("approve", f"request {number}", refused=error.code)


def _end(transaction: Transaction, request: Request, status: RequestStatus, person: Person, reason: str | None) -> None:
    transaction.requests.end(request.number, status, by=person.name, now=transaction.now(), reason=reason)


def _do(transaction: Transaction, request: Request, person: Person) -> None:
    if request.act in _RELEASED_ACTS:
        _end(transaction, request, "released", person, None)
        return
    perform(transaction, request)
    _end(transaction, request, "done", person, None)


def perform(transaction: Transaction, request: Request) -> tuple[Activation, ...]:
    """Perform an act that changes the store alone."""
    payload, now = request.payload, transaction.now()
    match request.act:
        case "activate" | "deactivate" | "apply":
            return _change(transaction, request)
        case "lock" | "reopen":
            change_period_status(
                transaction,
                period_of_payload(payload),
                "locked" if request.act == "lock" else "open",
                now=now,
                user=request.requested_by,
                reason=payload["reason"],
            )
        case "people":
            change_people(transaction, payload)
        case "policy":
            adopt_policy(transaction, payload["policy"], by=request.requested_by)
        case "drop" | "seal" | "take-over":
            raise AssertionError(f"{request.act} is done by its requester")
    return ()


class _UndoneError(Exception):
    """Ends a rehearsal."""


def rehearse(transaction: Transaction, act: Act) -> tuple[Activation, ...]:
    """Perform an act and roll it back, so that its errors are raised when it is requested."""
    activations: tuple[Activation, ...] = ()
    request = Request(0, act.name, act.subject, act.digest, act.payload, (), None, "", transaction.now())
    try:
        with transaction.savepoint():
            activations = perform(transaction, request)
            raise _UndoneError
    except _UndoneError:
        return activations


def shown_activations(transaction: Transaction, project_ids: Iterable[str]) -> tuple[ShownChange, ...]:
    """How the definitions to activate differ from the active ones, and what they read that nobody has approved."""
    projects = tuple(project_ids)
    return (
        *(_shown_activation(transaction, project_id) for project_id in projects),
        *_shown_reads(transaction, projects),
    )


def _shown_reads(transaction: Transaction, project_ids: Iterable[str]) -> Iterator[ShownChange]:
    """The definitions that no active project reads yet: they were free to change until now."""
    rows, stored = transaction.definitions, transaction.stored_definitions()
    latest: list[Project] = [decode_definition("project", rows.get("project", name).body) for name in project_ids]
    active = active_projects(transaction).values()
    known = stored_keys(stored, active) if active else set()
    heads = rows.heads()
    for kind, identifier in sorted(stored_keys(stored, latest) - known):
        if (kind, identifier) not in heads:
            continue
        written: DefinitionModel | None = (
            rows.contract(identifier) if kind == "dataset" else rows.model(kind, identifier)
        )
        # What runs register has no text; the project that makes it was activated itself.
        if written is not None:
            yield ShownChange(f"begins to read {kind} {identifier}", _added_lines(kind, written))


def _shown_activation(transaction: Transaction, project_id: str) -> ShownChange:
    state = transaction.projects.get(project_id)
    active = find_active_project(transaction.definitions, transaction.projects, state)
    latest: Project = decode_definition("project", transaction.definitions.get("project", project_id).body)
    if active is None:
        return ShownChange(f"activates project {project_id} for the first time", _added_lines("project", latest))
    difference = text_difference(active.project, latest, "project")
    title = f"activates project {project_id}, whose version {active.version} is active"
    return ShownChange(title if difference else f"{title}, with newer versions of what it reads", difference)


def _added_lines(kind: DefinitionKind, model: DefinitionModel) -> str:
    return "\n".join(f"+{line}" for line in to_yaml(kind, model).splitlines())


def _change(transaction: Transaction, request: Request) -> tuple[Activation, ...]:
    payload, now = request.payload, transaction.now()
    transaction.definitions.lock()
    written = [
        Definition(item["kind"], decode_definition(item["kind"], item["body"]), SourceMap.empty())
        for item in payload["definitions"]
        if item["body"] is not None
    ]
    disabled = [(item["kind"], item["id"]) for item in payload["definitions"] if item["body"] is None]
    if written or disabled:
        apply_in(transaction, written, disabled=disabled, workspace=payload["workspace"], now=now)
    for project_id in payload["deactivate"]:
        deactivate_in(transaction, project_id, now=now)
    if not payload["activate"]:
        return ()
    sources = dict.fromkeys(payload["activate"], None)
    files = _stored_projects(transaction)
    return activate_in(transaction, sources, now=now, dataset_version=payload["dataset_version"], files=files)


def _stored_projects(transaction: Transaction) -> tuple[Definition[DefinitionModel], ...]:
    """The latest versions of all projects that may run; what they will register is planned with, as it is for files."""
    return tuple(
        Definition(
            "project",
            decode_definition("project", transaction.definitions.get("project", state.project_id).body),
            SourceMap.empty(),
        )
        for state in transaction.projects.all()
        if state.status != "inactive"
    )


def change_people(transaction: Transaction, payload: Any) -> None:
    """Add or remove a person, change roles, or give another token."""
    people, now, name = transaction.people, transaction.now(), payload["name"]
    token = None
    if payload["token_id"] is not None:
        token = NewToken("", payload["token_id"], payload["token_hash"])
    match payload["what"]:
        case "add":
            people.add(name, payload["roles"], token=token, account=payload["account"], now=now)
        case "remove":
            people.remove(name, now=now)
        case "roles":
            people.set_roles(name, payload["roles"])
        case "renew" if token is not None:
            people.renew(name, token, now=now)
        case what:
            raise AssertionError(f"{what} is no change of a person")
    details = {"account": payload["account"], "roles": payload["roles"], "token": payload["token_id"]}
    transaction.log.append("people", f"{payload['what']} {name}", details)


def adopt_policy(transaction: Transaction, policy: Any, *, by: str) -> None:
    body = rfc8785.dumps(policy)
    digest = hashlib.sha256(body).hexdigest()
    transaction.policies.adopt(body.decode(), digest, by=by, now=transaction.now())
    transaction.log.append("policy", "adopt", {"digest": digest, "policy": json.loads(body)})
