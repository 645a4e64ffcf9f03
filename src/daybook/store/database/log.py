"""The log of acts: one line for each, in the transaction of the act, chained by SHA-256.

A line is canonical JSON (RFC 8785) and holds the digest of the line before it. `append` keeps acts until the
transaction ends; then the row of the head is locked and the lines are written. The chain therefore cannot fork, and the
lock, which every writer needs, is taken last and held briefly.
"""

import datetime
import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import rfc8785
from sqlalchemy import BigInteger, Connection, LargeBinary, Row, Select, cast, func, insert, select, update

from daybook.errors import DaybookError
from daybook.store.database.tables import LOG_HEAD, LOG_LINE
from daybook.store.records import ActName, Actor, LogHead, LogLine, LogProblem

# The digest before the first line.
NO_LINE = "0" * 64
_KEYS = frozenset({"act", "at", "by", "details", "number", "previous", "proof", "refused", "subject"})
_READ_LINES = 1000


@dataclass(frozen=True, slots=True)
class _Act:
    name: ActName
    subject: str
    details: Mapping[str, Any]
    refused: str | None


def line_digest(line: str) -> str:
    return hashlib.sha256(line.encode("utf-8", "surrogateescape")).hexdigest()


def write_line(
    head: LogHead,
    at: datetime.datetime,
    actor: Actor,
    act: ActName,
    subject: str,
    details: Mapping[str, Any],
    refused: str | None = None,
) -> tuple[str, LogHead]:
    """The line that continues a log, and the head that it makes."""
    line = rfc8785.dumps(
        {
            "act": act,
            "at": at.astimezone(datetime.UTC).isoformat(timespec="milliseconds"),
            "by": actor.name,
            "details": dict(details),
            "number": head.number + 1,
            "previous": head.digest,
            "proof": actor.proof,
            "refused": refused,
            "subject": subject,
        }
    ).decode()
    return line, LogHead(head.number + 1, line_digest(line))


class Log:
    def __init__(self, connection: Connection, actor: Callable[[], Actor]) -> None:
        self._connection = connection
        self._actor = actor
        self._acts: list[_Act] = []

    def append(
        self, act: ActName, subject: str, details: Mapping[str, Any] | None = None, *, refused: str | None = None
    ) -> None:
        """Log an act of this transaction; `details` hold texts, whole numbers, booleans, lists and objects of these."""
        self._acts.append(_Act(act, subject, details or {}, refused))

    def head(self) -> LogHead:
        """The last written line, without the acts of this transaction; the beginning where the head is gone."""
        return _to_head(self._connection.execute(select(LOG_HEAD)).first()) or LogHead(0, NO_LINE)

    def mark(self) -> int:
        """The position that `forget_since` returns to."""
        return len(self._acts)

    def forget_since(self, mark: int) -> None:
        """Drop the acts of a part of the transaction that was undone."""
        del self._acts[mark:]

    def write(self, now: Callable[[], datetime.datetime]) -> None:
        """Write the acts of the transaction, at its end."""
        if not self._acts:
            return
        head = _to_head(self._connection.execute(select(LOG_HEAD).with_for_update()).first())
        if head is None:
            raise DaybookError("LOG_003")
        at, actor = now(), self._actor()
        for act in self._acts:
            line, head = write_line(head, at, actor, act.name, act.subject, act.details, act.refused)
            self._connection.execute(insert(LOG_LINE).values(number=head.number, line=line))
        self._connection.execute(update(LOG_HEAD).values(number=head.number, digest=head.digest))
        self._acts.clear()

    def latest(self, limit: int, before: int | None = None) -> tuple[LogLine, ...]:
        """Newest first; `before` is the number of the line after the first one."""
        query = self._stored_lines().order_by(LOG_LINE.c.number.desc()).limit(limit)
        if before is not None:
            query = query.where(LOG_LINE.c.number < before)
        return tuple(_to_line(row.number, _to_text(row.line)) for row in self._connection.execute(query))

    def count(self) -> int:
        return int(self._connection.execute(select(func.count()).select_from(LOG_LINE)).scalar_one())

    def lines(self) -> Iterator[tuple[int, str]]:
        """Every line with its number, as it is stored."""
        query = self._stored_lines().order_by(LOG_LINE.c.number).execution_options(yield_per=_READ_LINES)
        for row in self._connection.execute(query):
            yield row.number, _to_text(row.line)

    def _stored_lines(self) -> Select[int, Any]:
        """SQLite stores values of any type in any column, and gives text that is not UTF-8 to nobody but as bytes."""
        if self._connection.dialect.name != "sqlite":
            return select(LOG_LINE)
        number, line = cast(LOG_LINE.c.number, BigInteger), cast(LOG_LINE.c.line, LargeBinary)
        return select(number.label("number"), line.label("line"))


def find_log_problems(lines: Iterable[tuple[int, str]], head: LogHead, known_head: str | None) -> Iterator[LogProblem]:
    """Lines that were changed, inserted, removed or moved; missing last lines need a `known_head` from elsewhere."""
    before = LogHead(0, NO_LINE)
    is_known = known_head in (None, NO_LINE)
    for number, line in lines:
        if number != before.number + 1:
            missing = f"{before.number + 1}" if number == before.number + 2 else f"{before.number + 1} to {number - 1}"
            yield LogProblem(before.number + 1, f"missing: {missing} was removed")
        problem, previous = _line_problem(number, line)
        if problem is not None:
            yield LogProblem(number, problem)
        elif number == before.number + 1 and previous != before.digest:
            what = f"line {before.number} or this one was changed" if before.number else "this line was changed"
            yield LogProblem(
                number, f"it does not continue line {before.number}: {what}, or one was inserted or removed"
            )
        before = LogHead(number, line_digest(line))
        is_known = is_known or before.digest == known_head
    if before != head:
        problem = "the head has another digest: the last line was changed"
        if before.number != head.number:
            problem = f"the last line is {before.number}, the head says {head.number}: lines were cut off or added"
        yield LogProblem(max(before.number, head.number), problem)
    if not is_known:
        problem = f"no line has the digest {known_head}: lines were cut off, or the log was written again"
        yield LogProblem(before.number, problem)


def _line_problem(number: int, line: str) -> tuple[str | None, str | None]:
    """The problem of a line by itself, and its digest of the line before."""
    try:
        content = json.loads(line)
        is_canonical = rfc8785.dumps(content).decode() == line
    except (ValueError, RecursionError, rfc8785.CanonicalizationError):
        return "it is not canonical JSON: it was changed", None
    if not isinstance(content, dict) or content.keys() != _KEYS or not is_canonical:
        return "it is not a line of the log as Daybook writes it: it was changed", None
    if content["number"] != number:
        return f"it was written as line {content['number']}: lines were moved, inserted or removed", content["previous"]
    return None, content["previous"]


def _to_text(stored: str | bytes) -> str:
    """A line; what is not UTF-8 in it becomes something that no line has."""
    return stored.decode("utf-8", "surrogateescape") if isinstance(stored, bytes) else stored


def _to_head(row: Row[Any] | None) -> LogHead | None:
    if row is None or not isinstance(row.number, int) or not isinstance(row.digest, str):
        return None
    return LogHead(row.number, row.digest)


def _to_line(number: int, line: str) -> LogLine:
    try:
        content = json.loads(line)
        at = datetime.datetime.fromisoformat(content["at"])
        return LogLine(
            number,
            at,
            content["by"],
            content["proof"],
            content["act"],
            content["subject"],
            content["details"],
            content["refused"],
            line_digest(line),
        )
    except (ValueError, TypeError, KeyError, RecursionError):
        raise DaybookError("LOG_001", number=number) from None
