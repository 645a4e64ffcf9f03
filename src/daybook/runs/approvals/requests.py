"""Requests for acts that need approval: which approvals are needed, and making a request in place of the act."""

import datetime
from collections.abc import Callable, Collection, Iterable
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from daybook.errors import DaybookError
from daybook.model.calendar import Period
from daybook.model.json_fields import named
from daybook.model.policy import ApprovalPolicy, ApprovalRule
from daybook.runs.approvals.acts import RULES, Act, ShownChange, act_of_request
from daybook.store.process import current_process
from daybook.store.records import Decision, Person, Request, RequestedAct, RequestStatus
from daybook.store.store import MetadataStore, Transaction

if TYPE_CHECKING:
    from collections.abc import Iterator

# Raised by an act that made a request and was not performed.
REQUEST_MADE = "APPROVAL_001"


@dataclass(frozen=True, slots=True)
class Need:
    """The approvals that one rule requires, and who has approved so far."""

    rule: str
    by: tuple[str, ...]
    count: int
    approved_by: tuple[str, ...]

    @property
    def is_met(self) -> bool:
        return len(self.approved_by) >= self.count

    @property
    def missing(self) -> str:
        left = self.count - len(self.approved_by)
        return f"{left}{' more' if self.approved_by else ''} of {' or '.join(self.by)}"

    @property
    def sentence(self) -> str:
        roles = " or ".join(self.by)
        return f"{self.count} of {roles}"


@dataclass(frozen=True, slots=True)
class ApprovalRequest:
    """A request as people see it; `is_current` is False where the state it was made for has changed."""

    number: int
    act: RequestedAct
    subject: str
    status: RequestStatus
    requested_by: str
    requested_at: datetime.datetime
    reason: str | None
    digest: str
    is_current: Annotated[bool, named("current")]
    needs: tuple[Need, ...]
    decisions: tuple[Decision, ...]
    changes: tuple[ShownChange, ...]
    ended_at: datetime.datetime | None
    ended_by: str | None
    ended_reason: str | None

    def is_decided_by(self, name: str | None) -> bool:
        return any(decision.person == name for decision in self.decisions)

    def may_be_decided_with(self, roles: Collection[str]) -> bool:
        """Whether a person with these roles may approve or reject; a request of no rule is decided by anybody."""
        return not self.needs or any(set(need.by) & set(roles) for need in self.needs)

    @property
    def missing(self) -> str:
        """The approvals that are missing, in words."""
        return " and ".join(need.missing for need in self.needs if not need.is_met)


def rules_of(policy: ApprovalPolicy, act: RequestedAct) -> tuple[tuple[str, ApprovalRule], ...]:
    """The rules that an act must satisfy; changes of people and of the policy itself must satisfy every one."""
    if act in ("people", "policy"):
        return tuple(policy.rules())
    name = RULES[act]
    rule = policy.rule(name)
    return ((name, rule),) if rule is not None else ()


def needs_of(policy: ApprovalPolicy, act: RequestedAct, approvers: Iterable[Person]) -> tuple[Need, ...]:
    people = tuple(approvers)
    return tuple(
        Need(name, rule.by, rule.count, tuple(person.name for person in people if set(person.roles) & set(rule.by)))
        for name, rule in rules_of(policy, act)
    )


def require_person(transaction: Transaction) -> Person:
    """The person who acts; APPROVAL_002 without a proof such as a token, since anybody can set a name."""
    actor = transaction.actor
    if actor.proof is None:
        if transaction.credential.token is not None:
            raise DaybookError("APPROVAL_020")
        raise DaybookError("APPROVAL_002", name=actor.name)
    return transaction.people.get(actor.name)


def request_if_needed(
    transaction: Transaction,
    name: RequestedAct,
    describe: Callable[[], Act],
    *,
    reason: str | None = None,
) -> Request | None:
    """The request that is made in place of an act, or that exists already; None where the act needs no approval.

    `describe` is called under the lock of requests, and only where approval is needed.
    """
    if not rules_of(transaction.policies.in_force(), name):
        return None
    transaction.requests.lock()
    person, act = require_person(transaction), describe()
    for request in transaction.requests.listed({"open"}):
        if (request.act, request.digest, request.requested_by) == (act.name, act.digest, person.name):
            return request
    changes = [{"difference": change.difference, "title": change.title} for change in act.changes]
    request = Request(
        transaction.requests.next_number(),
        act.name,
        act.subject,
        act.digest,
        act.payload,
        changes,
        reason,
        person.name,
        transaction.now(),
    )
    transaction.requests.add(request)
    details = {"act": act.name, "digest": act.digest, "reason": reason, "request": request.number}
    transaction.log.append("request", act.subject, details)
    return request


def request_made_error(transaction: Transaction, request: Request) -> DaybookError:
    """The error that reports a new request; raised after its transaction is committed."""
    needs = needs_of(transaction.policies.in_force(), request.act, ())
    return DaybookError(
        REQUEST_MADE,
        number=request.number,
        act=request.act,
        subject=request.subject,
        needs=" and ".join(need.sentence for need in needs),
    )


@contextmanager
def released_act(
    store: MetadataStore, name: RequestedAct, describe: Callable[[Transaction], Act], *, reason: str | None = None
) -> "Iterator[Callable[[Transaction], None]]":
    """Guards an act that its requester performs once it is released; without a released request, makes one and raises.

    Yields a function that marks the request as done in the transaction that records the act. Does nothing without a
    policy.
    """
    request_error: DaybookError | None = None
    number: int | None = None
    with store.logged_refusal(name, "approval"), store.write() as transaction:
        if rules_of(transaction.policies.in_force(), name):
            transaction.requests.lock()
            person, act = require_person(transaction), describe(transaction)
            number = _released(transaction, act, person)
            if number is None:
                request = request_if_needed(transaction, name, lambda: act, reason=reason)
                request_error = request_made_error(transaction, request) if request is not None else None
    if request_error is not None:
        raise request_error

    def mark_done(transaction: Transaction) -> None:
        if number is not None:
            transaction.requests.end(number, "done", by=transaction.actor.name, now=transaction.now())

    try:
        yield mark_done
    except BaseException:
        if number is not None:
            with store.write() as transaction:
                transaction.requests.unclaim(number)
        raise


def _released(transaction: Transaction, act: Act, person: Person) -> int | None:
    for request in transaction.requests.listed({"released"}):
        if (request.act, request.subject, request.requested_by) != (act.name, act.subject, person.name):
            continue
        if request.digest == act.digest:
            transaction.requests.claim(request.number, current_process(), now=transaction.now())
            return request.number
        transaction.requests.end(
            request.number, "void", by=person.name, now=transaction.now(), reason="what it was released for has changed"
        )
    return None


def describe_request(transaction: Transaction, request: Request) -> ApprovalRequest:
    """A request with the approvals that it needs and has, and whether the state it was made for is unchanged."""
    decisions = transaction.requests.decisions(request.number)
    approved_at = {decision.person: decision.decided_at for decision in decisions if decision.verdict == "approve"}
    # Somebody who was removed is another person when he is added again, and so is who gets the name of another.
    approvers = [
        person
        for person in transaction.people.all()
        if person.name in approved_at and person.added_at <= approved_at[person.name]
    ]
    is_current = True
    if request.status in ("open", "released"):
        is_current = act_of_request(transaction, request).digest == request.digest
    return ApprovalRequest(
        request.number,
        request.act,
        request.subject,
        request.status,
        request.requested_by,
        request.requested_at,
        request.reason,
        request.digest,
        is_current,
        needs_of(transaction.policies.in_force(), request.act, approvers),
        decisions,
        tuple(ShownChange(change["title"], change["difference"]) for change in request.changes),
        request.ended_at,
        request.ended_by,
        request.ended_reason,
    )


def approvals_of(transaction: Transaction, period: Period, *acts: RequestedAct) -> tuple[dict[str, Any], ...]:
    """Who requested and approved acts on a period, as a certificate keeps it."""
    return tuple(
        {
            "act": request.act,
            "digest": request.digest,
            "request": request.number,
            "requested_by": request.requested_by,
            "approved_by": [
                {"at": decision.decided_at.isoformat(), "name": decision.person}
                for decision in transaction.requests.decisions(request.number)
                if decision.verdict == "approve"
            ],
        }
        for request in transaction.requests.about(period.identifier, acts)
        if request.status in ("done", "released") and request.payload["calendar"] == period.calendar_id
    )
