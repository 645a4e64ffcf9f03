"""The log: a line for each act, in its transaction, and a chain that shows what was changed."""

import hashlib
import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from rfc8785 import CanonicalizationError
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError

from daybook.errors import DaybookError
from daybook.store import open_store
from daybook.store.database.log import find_log_problems
from daybook.store.records import Credential, LogHead
from daybook.store.store import MetadataStore, Transaction
from tests.forked import forked
from tests.unit.store.racing import race
from tests.unit.store.test_store_migrations import make_first_store


@pytest.fixture
def store(store_url: str, tmp_path: Path) -> Iterator[MetadataStore]:
    with open_store(store_url, root=tmp_path, migrate=True, credential=Credential("anna")) as opened:
        yield opened


def log_acts(store: MetadataStore, count: int) -> None:
    for number in range(count):
        with store.write() as transaction:
            transaction.log.append("lock", f"2026-0{number + 1}", {"reason": f"é {number}"})


def stored_lines(store: MetadataStore) -> list[tuple[int, str]]:
    with store.read() as transaction:
        return list(transaction.log.lines())


def head_of(store: MetadataStore) -> LogHead:
    with store.read() as transaction:
        return transaction.log.head()


def problems(lines: list[tuple[int, str]], head: LogHead, known: str | None = None) -> list[int]:
    return [problem.number for problem in find_log_problems(lines, head, known)]


def chain(lines: list[str]) -> tuple[list[tuple[int, str]], LogHead]:
    """Lines with their numbers and digests made again, as somebody does who knows how the log is made."""
    written, digest = [], "0" * 64
    for number, line in enumerate(lines, 1):
        content = {**json.loads(line), "number": number, "previous": digest}
        # Keys in order and no spaces: canonical for texts and whole numbers.
        again = json.dumps(content, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
        digest = hashlib.sha256(again.encode()).hexdigest()
        written.append((number, again))
    return written, LogHead(len(written), digest)


def test_every_line_holds_the_digest_of_the_line_before_it(store: MetadataStore) -> None:
    log_acts(store, 3)
    lines, digest = stored_lines(store), "0" * 64
    for number, (stored, line) in enumerate(lines, 1):
        content = json.loads(line)
        assert (stored, content["number"], content["previous"]) == (number, number, digest)
        assert line == json.dumps(content, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
        digest = hashlib.sha256(line.encode()).hexdigest()
    assert head_of(store) == LogHead(4, digest)
    assert [json.loads(line)["act"] for _, line in lines] == ["begin", "lock", "lock", "lock"]
    assert json.loads(lines[3][1])["by"] == "anna"
    assert problems(lines, head_of(store)) == []


def _lock_and_fail(store: MetadataStore) -> None:
    with store.write() as transaction:
        transaction.log.append("lock", "2026-01")
        raise RuntimeError


def _lock_inside_and_fail(transaction: Transaction) -> None:
    with transaction.savepoint():
        transaction.log.append("lock", "2026-02")
        raise RuntimeError


def _run_and_be_refused(store: MetadataStore, error: DaybookError) -> None:
    with store.logged_refusal("run", "close@2026-01"), store.write() as transaction:
        transaction.log.append("run", "close@2026-01")
        raise error


@pytest.mark.parametrize("content", ["half of a \ud800 pair", "not UTF-8: \udcff"])
def test_a_text_that_has_no_utf_8_is_refused_and_nothing_is_done(store: MetadataStore, content: str) -> None:
    before = stored_lines(store)
    for subject, details in ((content, {}), ("2026-01", {"reason": content}), ("2026-01", {content: "reason"})):
        with pytest.raises(DaybookError) as caught, store.write() as transaction:
            transaction.log.append("lock", subject, details)
        assert caught.value.code == "STORE_048"
    with pytest.raises(DaybookError) as caught, store.write() as transaction:
        transaction._connection.execute(text("SELECT :content"), {"content": content})
    assert caught.value.code == "STORE_048"
    assert stored_lines(store) == before


def test_numbers_beyond_those_of_json_never_reach_a_line(store: MetadataStore) -> None:
    """RFC 8785 writes numbers as IEEE doubles: whole ones beyond 2**53, NaN and infinities have no text."""
    before = stored_lines(store)
    for number in (2**53, -(2**53), float("nan"), float("inf")):
        with pytest.raises(CanonicalizationError), store.write() as transaction:
            transaction.log.append("lock", "2026-01", {"number": number})
    assert stored_lines(store) == before
    with store.write() as transaction:
        numbers = {
            "a": 2**53 - 1,
            "b": 1e21,
            "c": 1e-7,
            "d": -0.0,
            "e": 333333333.33333329,
            "\U0001f600": 1,
            "\ufb33": 2,
        }
        transaction.log.append("lock", "2026-01", numbers)
    # As the examples of the RFC have them; keys are sorted by UTF-16, where the emoji comes first.
    assert (
        '{"a":9007199254740991,"b":1e+21,"c":1e-7,"d":0,"e":333333333.3333333,"\U0001f600":1,"\ufb33":2}'
        in (stored_lines(store)[-1][1])
    )
    assert problems(stored_lines(store), head_of(store)) == []


def test_an_act_that_is_rolled_back_has_no_line(store: MetadataStore) -> None:
    with pytest.raises(RuntimeError):
        _lock_and_fail(store)
    with store.write() as transaction:
        with pytest.raises(RuntimeError):
            _lock_inside_and_fail(transaction)
        transaction.log.append("lock", "2026-03")
    with store.read() as transaction:
        assert [line.subject for line in transaction.log.latest(10)][:-1] == ["2026-03"]


def test_a_refusal_is_logged_in_a_transaction_of_its_own(store: MetadataStore) -> None:
    with pytest.raises(DaybookError, match="locked"):
        _run_and_be_refused(store, DaybookError("RUN_002", period="2026-01", because_of="2026-01"))
    # A mistake in what was asked is no refusal.
    with pytest.raises(DaybookError, match="nothing"):
        _run_and_be_refused(store, DaybookError("STORE_014", run_id="nothing"))
    with store.read() as transaction:
        refusal, *_ = transaction.log.latest(10)
    assert (refusal.number, refusal.act, refusal.refused) == (2, "run", "RUN_002")


@pytest.mark.parametrize("statement", ["UPDATE log_line SET line = 'x' WHERE number = 1", "DELETE FROM log_line"])
def test_lines_cannot_be_changed_by_mistake(store: MetadataStore, statement: str) -> None:
    with pytest.raises(DBAPIError, match="immutable"), store.write() as transaction:
        transaction._connection.execute(text(statement))


@pytest.mark.parametrize("number", range(1, 6))
def test_a_changed_line_is_found(store: MetadataStore, number: int) -> None:
    log_acts(store, 4)
    lines, head = stored_lines(store), head_of(store)
    lines[number - 1] = (number, lines[number - 1][1].replace('"by":"', '"by":"x'))
    # The next line shows it; the head shows a change of the last one.
    assert problems(lines, head) == [min(number + 1, 5)]


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "1", '{"by":NaN}', "[" * 100_000, '{"by": "anna"}', "null"],
    ids=["empty", "cut", "list", "number", "nan", "deep", "other", "null"],
)
def test_a_line_that_is_no_line_is_found_and_the_others_are_checked(store: MetadataStore, text: str) -> None:
    log_acts(store, 4)
    lines, head = stored_lines(store), head_of(store)
    lines[2] = (3, text)
    assert problems(lines, head) == [3, 4]


@pytest.mark.parametrize("value", ["x'ff00'", "CAST(x'fffe41' AS TEXT)", "17", "1.5"])
def test_sqlite_holds_values_that_are_no_text(tmp_path: Path, value: str) -> None:
    with open_store(f"sqlite:///{tmp_path}/store.db", root=tmp_path, migrate=True) as store:
        log_acts(store, 4)
        with store.write() as transaction:
            transaction._connection.execute(text("DROP TRIGGER log_line_refuses_update"))
            transaction._connection.execute(text(f"UPDATE log_line SET line = {value} WHERE number = 3"))
        assert problems(stored_lines(store), head_of(store)) == [3, 4]
        with pytest.raises(DaybookError) as caught, store.read() as transaction:
            transaction.log.latest(10)
    assert (caught.value.code, caught.value.parameters["number"]) == ("LOG_001", 3)


def test_nothing_is_done_without_a_head_and_the_missing_head_is_found(store: MetadataStore) -> None:
    log_acts(store, 2)
    with store.write() as transaction:
        transaction._connection.execute(text("DELETE FROM log_head"))
    assert problems(stored_lines(store), head_of(store)) == [3]
    with pytest.raises(DaybookError) as caught:
        log_acts(store, 1)
    assert caught.value.code == "LOG_003"
    assert len(stored_lines(store)) == 3


def test_the_same_content_in_another_spelling_is_a_change(store: MetadataStore) -> None:
    log_acts(store, 2)
    lines, head = stored_lines(store), head_of(store)
    lines[1] = (2, json.dumps(json.loads(lines[1][1])))
    assert problems(lines, head) == [2, 3]


def test_a_removed_line_is_found(store: MetadataStore) -> None:
    log_acts(store, 4)
    lines, head = stored_lines(store), head_of(store)
    assert problems([*lines[:2], *lines[3:]], head) == [3]
    assert problems(lines[1:], head) == [1]
    renumbered = [*lines[:2], *((number - 1, line) for number, line in lines[3:])]
    assert problems(renumbered, head) == [3, 4, 5]


def test_an_inserted_line_is_found(store: MetadataStore) -> None:
    log_acts(store, 3)
    lines, head = stored_lines(store), head_of(store)
    forged = json.dumps(
        {**json.loads(lines[1][1]), "number": 3, "previous": hashlib.sha256(lines[1][1].encode()).hexdigest()},
        ensure_ascii=False,
        sort_keys=True,
        separators=(",", ":"),
    )
    inserted = [*lines[:2], (3, forged), *((number + 1, line) for number, line in lines[2:])]
    assert problems(inserted, head) == [4, 5, 5]


def test_two_lines_that_changed_places_are_found(store: MetadataStore) -> None:
    log_acts(store, 4)
    lines, head = stored_lines(store), head_of(store)
    moved = [lines[0], (2, lines[2][1]), (3, lines[1][1]), *lines[3:]]
    assert problems(moved, head) == [2, 3, 4]


def test_a_cut_end_is_found_against_the_head(store: MetadataStore) -> None:
    log_acts(store, 4)
    lines, head = stored_lines(store), head_of(store)
    assert problems(lines[:3], head) == [5]
    shorter, shorter_head = chain([line for _, line in lines[:3]])
    assert shorter == lines[:3]
    # Whoever cuts the lines may write the head, too; only a digest that was kept elsewhere shows it.
    assert problems(shorter, shorter_head) == []
    assert problems(shorter, shorter_head, head.digest) == [3]
    assert problems(lines, head, shorter_head.digest) == []


def test_a_log_that_was_written_again_is_found_against_a_known_head_alone(store: MetadataStore) -> None:
    log_acts(store, 4)
    lines, head = stored_lines(store), head_of(store)
    again, forged_head = chain([line.replace("anna", "otto") for _, line in lines])
    assert problems(again, forged_head) == []
    assert problems(again, forged_head, head.digest) == [5]


def test_a_line_that_cannot_be_read_is_named(store: MetadataStore) -> None:
    with store.write() as transaction:
        transaction._connection.execute(text("INSERT INTO log_line VALUES (2, 'x')"))
    with pytest.raises(DaybookError) as caught, store.read() as transaction:
        transaction.log.latest(10)
    assert (caught.value.code, caught.value.parameters["number"]) == ("LOG_001", 2)


def test_the_log_of_an_existing_store_begins_with_what_it_holds(store_url: str, tmp_path: Path) -> None:
    make_first_store(store_url, tmp_path)
    with open_store(store_url, root=tmp_path, migrate=True) as store, store.read() as transaction:
        (line,) = transaction.log.latest(10)
        assert line.subject == transaction.identity.ids().own
        assert (line.act, line.details["rows"]["run"]) == ("begin", 1)
        assert list(find_log_problems(transaction.log.lines(), transaction.log.head(), line.digest)) == []


def test_threads_and_processes_never_fork_the_chain(store_url: str, tmp_path: Path) -> None:
    with open_store(store_url, root=tmp_path, migrate=True) as store:
        processes = [forked(race, store_url, tmp_path, "log_acts", f"p{number}", 10) for number in range(3)]
        assert [process.answer() for process in processes] == ["ready"] * 3
        for process in processes:
            process.tell("go")
        with ThreadPoolExecutor(2) as pool:
            list(pool.map(lambda _: log_acts(store, 5), range(2)))
        assert [process.answer() for process in processes] == [["logged"] * 10] * 3
        for process in processes:
            process.tell("go")
        assert [process.wait() for process in processes] == [0] * 3
        lines, head = stored_lines(store), head_of(store)
    assert head.number == len(lines) >= 1 + 30 + 10
    assert problems(lines, head) == []
