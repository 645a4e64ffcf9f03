"""Stores people with their roles, the hashes of their personal tokens, and their accounts.

A token contains the id of its row, so that checking it computes one hash. The store has a salted scrypt hash only, so
that reading the store does not reveal tokens.
"""

import base64
import datetime
import hashlib
import re
import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Row, insert, select, update

from daybook.errors import DaybookError
from daybook.errors.error import closest_match
from daybook.store.database.row_records import to_record
from daybook.store.database.tables import PERSON
from daybook.store.records import Actor, Credential, Person

_TOKEN = re.compile(r"dbp_([0-9a-f]{16})_([A-Za-z0-9_-]{43})")
_NAME = re.compile(r"[^\W_](?:[\w .@-]{0,126}[\w.])?")
# About 16 MB and 50 milliseconds.
_COST, _BLOCK, _PARALLEL, _LENGTH = 2**14, 8, 1, 32


@dataclass(frozen=True, slots=True)
class NewToken:
    """A personal token; `text` is shown once, the store keeps the rest."""

    text: str
    id: str
    hash: str


def new_token() -> NewToken:
    token_id, secret = secrets.token_hex(8), secrets.token_urlsafe(32)
    return NewToken(f"dbp_{token_id}_{secret}", token_id, _hash(secret, secrets.token_bytes(16)))


def _hash(secret: str, salt: bytes) -> str:
    key = hashlib.scrypt(secret.encode(), salt=salt, n=_COST, r=_BLOCK, p=_PARALLEL, dklen=_LENGTH)
    return f"scrypt:{_COST}:{_BLOCK}:{_PARALLEL}:{_text(salt)}:{_text(key)}"


def _text(raw: bytes) -> str:
    return base64.b64encode(raw).decode("ascii")


def _is_hash_of(secret: str, stored: str) -> bool:
    _, cost, block, parallel, salt, key = stored.split(":")
    expected = base64.b64decode(key)
    computed = hashlib.scrypt(
        secret.encode(),
        salt=base64.b64decode(salt),
        n=int(cost),
        r=int(block),
        p=int(parallel),
        dklen=len(expected),
    )
    return secrets.compare_digest(computed, expected)


class TokenChecks:
    """Tokens that matched their hash, so that one process computes each hash once."""

    def __init__(self) -> None:
        self._right: dict[bytes, str] = {}

    def is_right(self, token: str, secret: str, stored: str) -> bool:
        digest = hashlib.sha256(token.encode()).digest()
        if self._right.get(digest) == stored:
            return True
        if not _is_hash_of(secret, stored):
            return False
        self._right[digest] = stored
        return True


class People:
    def __init__(self, connection: Connection, checks: TokenChecks) -> None:
        self._connection = connection
        self._checks = checks

    def find(self, name: str) -> Person | None:
        row = self._connection.execute(select(PERSON).where(PERSON.c.name == name)).first()
        return _to_person(row) if row is not None else None

    def get(self, name: str) -> Person:
        person = self.find(name)
        if person is None or person.removed_at is not None:
            nearest = closest_match(name, (other.name for other in self.all()))
            raise DaybookError("APPROVAL_014", name=name, hint=f"did you mean {nearest}?" if nearest else None)
        return person

    def all(self) -> tuple[Person, ...]:
        """The people that were not removed, by name."""
        query = select(PERSON).where(PERSON.c.removed_at.is_(None)).order_by(PERSON.c.name)
        return tuple(_to_person(row) for row in self._connection.execute(query))

    def check_new(self, name: str, account: int | None) -> None:
        """Refuse a name that cannot be or is taken, and an account that belongs to somebody."""
        if not _NAME.fullmatch(name):
            raise DaybookError("APPROVAL_016", name=name)
        if (person := self.find(name)) is not None and person.removed_at is None:
            raise DaybookError("APPROVAL_013", name=name)
        owner = next((person for person in self.all() if account is not None and person.account == account), None)
        if owner is not None:
            raise DaybookError("APPROVAL_015", account=account, name=owner.name)

    def add(
        self, name: str, roles: Iterable[str], *, token: NewToken | None, account: int | None, now: datetime.datetime
    ) -> None:
        self.check_new(name, account)
        values = {
            "roles": sorted(set(roles)),
            "account": account,
            "token_id": token.id if token else None,
            "token_hash": token.hash if token else None,
            "token_at": now if token else None,
            "added_at": now,
            "removed_at": None,
        }
        if self.find(name) is None:
            self._connection.execute(insert(PERSON).values(name=name, **values))
        else:
            self._connection.execute(update(PERSON).where(PERSON.c.name == name).values(**values))

    def set_roles(self, name: str, roles: Iterable[str]) -> None:
        self._change(name, roles=sorted(set(roles)))

    def renew(self, name: str, token: NewToken, *, now: datetime.datetime) -> None:
        """Give a person another token; the former one becomes invalid."""
        self._change(name, token_id=token.id, token_hash=token.hash, token_at=now)

    def remove(self, name: str, *, now: datetime.datetime) -> None:
        self._change(name, token_id=None, token_hash=None, token_at=None, account=None, removed_at=now)

    def identify(self, credential: Credential) -> Actor:
        """The person of a token, a login on the page or an account; without one of these, only a name."""
        person, proof = self._proven(credential)
        return Actor(credential.user) if person is None else Actor(person.name, proof)

    def of_token(self, token: str) -> Person | None:
        """The person of a valid token."""
        parts = _TOKEN.fullmatch(token)
        if parts is None:
            return None
        row = self._connection.execute(select(PERSON).where(PERSON.c.token_id == parts[1])).first()
        is_right = row is not None and self._checks.is_right(token, parts[2], row.token_hash)
        return _to_person(row) if row is not None and is_right else None

    def _proven(self, credential: Credential) -> tuple[Person | None, Any]:
        if credential.token is not None:
            return self.of_token(credential.token), "token"
        if credential.login is not None:
            return self._with(PERSON.c.token_id == credential.login), "token"
        if credential.account is not None:
            return self._with(PERSON.c.account == credential.account), "account"
        return None, None

    def _with(self, condition: Any) -> Person | None:
        row = self._connection.execute(select(PERSON).where(condition, PERSON.c.removed_at.is_(None))).first()
        return _to_person(row) if row is not None else None

    def _change(self, name: str, **values: Any) -> None:
        self.get(name)
        self._connection.execute(update(PERSON).where(PERSON.c.name == name).values(**values))


def _to_person(row: Row[Any]) -> Person:
    return to_record(Person, PERSON, row, roles=tuple(row.roles))
