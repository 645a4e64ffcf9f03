"""People with personal tokens, the policy of approvals, and requests: what people ask for, approve and reject."""

import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from difflib import unified_diff
from typing import Any

import rfc8785

from daybook.errors import DaybookError
from daybook.model.json_fields import UnlessNone
from daybook.model.policy import ApprovalPolicy
from daybook.runs.approvals import decisions
from daybook.runs.approvals.acts import ShownChange, people_act, policy_act
from daybook.runs.approvals.requests import (
    ApprovalRequest,
    describe_request,
    request_if_needed,
    request_made_error,
)
from daybook.store.database.people import NewToken, new_token
from daybook.store.records import Person, Request
from daybook.store.store import MetadataStore, Transaction
from daybook.workspace.open_workspace import OpenedWorkspace


@dataclass(frozen=True, slots=True)
class PersonChange:
    """A change of a person; `token` is shown only here, `request` is set where approval is needed first."""

    name: str
    change: str
    token: UnlessNone[str | None] = None
    request: UnlessNone[int | None] = None


@dataclass(frozen=True, slots=True)
class PolicyState:
    """The policy in daybook.yaml and the one in force; None where there is none."""

    proposed: Mapping[str, Any] | None
    in_force: Mapping[str, Any] | None
    digest: str | None
    adopted_at: datetime | None
    adopted_by: str | None

    @property
    def is_same(self) -> bool:
        return self.proposed == self.in_force


def list_people(workspace: OpenedWorkspace) -> tuple[Person, ...]:
    """The people who can prove their identity, with their roles."""
    with workspace.open_store_or_empty() as store, store.read() as transaction:
        return transaction.people.all()


def add_person(
    workspace: OpenedWorkspace, name: str, *, roles: Iterable[str] = (), account: int | None = None
) -> PersonChange:
    """Add a person, who acts with a personal token, which only the result shows, or with an account of this machine."""
    with workspace.open_store() as store:
        if account is not None and store.is_shared:
            raise DaybookError("APPROVAL_017", name=name)
        with store.read() as transaction:
            transaction.people.check_new(name, account)
        token = new_token() if account is None else None
        return _change_person(store, "add", name, roles=tuple(roles), account=account, token=token)


def remove_person(workspace: OpenedWorkspace, name: str) -> PersonChange:
    """Remove a person's token, account and roles; past decisions stay."""
    with workspace.open_store() as store:
        return _change_person(store, "remove", name)


def set_roles(workspace: OpenedWorkspace, name: str, *, roles: Iterable[str]) -> PersonChange:
    """Replace the roles of a person."""
    with workspace.open_store() as store:
        return _change_person(store, "roles", name, roles=tuple(roles))


def renew_token(workspace: OpenedWorkspace, name: str) -> PersonChange:
    """Give a person a new token, which makes the old one invalid; renewing one's own needs no approval."""
    with workspace.open_store() as store:
        return _change_person(store, "renew", name, token=new_token())


def _change_person(
    store: MetadataStore,
    what: str,
    name: str,
    *,
    roles: tuple[str, ...] = (),
    account: int | None = None,
    token: NewToken | None = None,
) -> PersonChange:
    with store.logged_refusal("people", f"{what} {name}"), store.write() as transaction:
        if what != "add":
            transaction.people.get(name)
        act = people_act(
            transaction,
            what,
            name,
            roles=roles,
            account=account,
            token_id=token.id if token else None,
            token_hash=token.hash if token else None,
        )
        is_own_token = what == "renew" and transaction.actor.proof is not None and transaction.actor.name == name
        request = None if is_own_token else request_if_needed(transaction, "people", lambda: act)
        _require_approvers(transaction, transaction.policies.in_force(), _people_after(transaction, what, name, roles))
        if request is None:
            decisions.change_people(transaction, act.payload)
    return PersonChange(name, what, token.text if token else None, request.number if request else None)


def _people_after(transaction: Transaction, what: str, name: str, roles: tuple[str, ...]) -> tuple[Person, ...]:
    people = transaction.people.all()
    match what:
        case "remove":
            return tuple(person for person in people if person.name != name)
        case "roles":
            return tuple(replace(person, roles=roles) if person.name == name else person for person in people)
        case _:
            # Adding people cannot make an approval impossible.
            return people


def _require_approvers(transaction: Transaction, policy: ApprovalPolicy, people: tuple[Person, ...]) -> None:
    """Raises APPROVAL_011 where no person could make a request that the others can approve."""
    for name, rule in policy.rules():
        able = {person.name for person in people if set(person.roles) & set(rule.by)}
        if not any(len(able - {requester.name}) >= rule.count for requester in people):
            roles = " or ".join(rule.by)
            raise DaybookError("APPROVAL_011", rule=name, count=rule.count, roles=roles, able=len(able))


def _as_data(policy: ApprovalPolicy) -> dict[str, Any]:
    data: dict[str, Any] = policy.model_dump(mode="json", exclude_none=True)
    return data


def show_policy(workspace: OpenedWorkspace) -> PolicyState:
    """What `approvals:` in daybook.yaml proposes, and what is in force."""
    with workspace.open_store_or_empty() as store, store.read() as transaction:
        return _policy_state(workspace, transaction)


def _policy_state(workspace: OpenedWorkspace, transaction: Transaction) -> PolicyState:
    proposed, adopted = workspace.settings.approvals, transaction.policies.adopted()
    return PolicyState(
        _as_data(proposed) if proposed is not None else None,
        _as_data(transaction.policies.in_force()) if adopted is not None else None,
        adopted.digest if adopted is not None else None,
        adopted.adopted_at if adopted is not None else None,
        adopted.adopted_by if adopted is not None else None,
    )


def adopt_policy(workspace: OpenedWorkspace) -> PolicyState:
    """Put the policy of daybook.yaml in force; needs the approvals of every rule of the present policy."""
    proposed = workspace.settings.approvals
    if proposed is None:
        raise DaybookError("APPROVAL_012")
    body = rfc8785.dumps(_as_data(proposed))
    request_error: DaybookError | None = None
    with workspace.open_store() as store, store.logged_refusal("policy", "adopt"), store.write() as transaction:
        adopted = transaction.policies.adopted()
        if adopted is not None and adopted.digest == hashlib.sha256(body).hexdigest():
            return _policy_state(workspace, transaction)
        _require_approvers(transaction, proposed, transaction.people.all())
        before, after = _lines(transaction.policies.in_force()), _lines(proposed)
        difference = "\n".join(list(unified_diff(before, after, lineterm=""))[2:])
        changes = (ShownChange("puts another policy in force", difference),)
        request = request_if_needed(transaction, "policy", lambda: policy_act(transaction, body.decode(), changes))
        if request is not None:
            request_error = request_made_error(transaction, request)
        else:
            decisions.adopt_policy(transaction, _as_data(proposed), by=transaction.actor.name)
        state = _policy_state(workspace, transaction)
    if request_error is not None:
        raise request_error
    return state


def _lines(policy: ApprovalPolicy) -> list[str]:
    return [f"{name}: {rule.count} of {', '.join(rule.by)}" for name, rule in policy.rules()]


def list_requests(workspace: OpenedWorkspace, *, all_requests: bool = False) -> tuple[ApprovalRequest, ...]:
    """The requests that wait for approval or for their requester, newest first; or all of them."""
    with workspace.open_store_or_empty() as store, store.read() as transaction:
        requests = transaction.requests.listed(None if all_requests else {"open", "released"})
        return tuple(describe_request(transaction, request) for request in requests)


def show_request(workspace: OpenedWorkspace, number: int) -> ApprovalRequest:
    """A request with what it changes, what it needs and what was decided."""
    with workspace.open_store_or_empty() as store, store.read() as transaction:
        return describe_request(transaction, transaction.requests.get(number))


def approve_request(workspace: OpenedWorkspace, number: int, *, reason: str | None = None) -> ApprovalRequest:
    """Approve the request of another person; the last approval performs the act, or releases it to its requester."""
    return _decided(workspace, lambda store: decisions.approve(store, number, reason=reason))


def reject_request(workspace: OpenedWorkspace, number: int, *, reason: str) -> ApprovalRequest:
    """Reject the request of another person."""
    return _decided(workspace, lambda store: decisions.reject(store, number, reason=reason))


def withdraw_request(workspace: OpenedWorkspace, number: int, *, reason: str | None = None) -> ApprovalRequest:
    """Take back one's own request."""
    return _decided(workspace, lambda store: decisions.withdraw(store, number, reason=reason))


def _decided(workspace: OpenedWorkspace, decide: Callable[[MetadataStore], Request]) -> ApprovalRequest:
    with workspace.open_store() as store:
        request = decide(store)
        with store.read() as transaction:
            return describe_request(transaction, request)
