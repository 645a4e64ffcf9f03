"""Runs, leases and fencing, on both back ends."""

import datetime
import json
from collections.abc import Callable
from dataclasses import replace

import pytest
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError

from daybook.errors import DaybookError
from daybook.model.definition import TableVersion
from daybook.store.records import Lease, OperationResult, OutputCommit, RunFilter, RunStatus, SliceTable
from daybook.store.store import MetadataStore, Transaction
from tests.unit.store.samples import NOW, OTHER, PROCESS, everybody_is_dead, later, new_run, nobody_is_dead

COMMIT = OutputCommit(
    20, "op-20", "lake/net", "replace_period", table_version=TableVersion("delta", "4"), rows=10, fingerprint="f00d"
)


def start(store: MetadataStore, run_id: str, at: datetime.datetime = NOW, **more: object) -> Lease:
    with store.write() as transaction:
        return transaction.runs.start(
            **new_run(run_id, **more),  # type: ignore[arg-type]
            process=PROCESS,
            now=at,
            is_dead=nobody_is_dead,
        )


def finish(store: MetadataStore, lease: Lease, status: str = "failed", at: datetime.datetime = NOW) -> None:
    with store.write() as transaction:
        transaction.runs.finish(lease, status, now=at)  # type: ignore[arg-type]


def commit(store: MetadataStore, lease: Lease) -> None:
    with store.write() as transaction:
        transaction.outcomes.record_commit(lease, COMMIT, now=NOW, period=lease.period)


def test_a_second_run_of_project_and_period_is_refused(store: MetadataStore) -> None:
    start(store, "r1")
    with pytest.raises(DaybookError) as caught:
        start(store, "r2")
    assert caught.value.code == "STORE_012"
    assert (caught.value.parameters["run_id"], caught.value.parameters["pid"]) == ("r1", PROCESS.pid)
    with store.read() as transaction:
        assert transaction.runs.find("r2") is None


def test_other_projects_and_periods_are_free(store: MetadataStore) -> None:
    start(store, "r1")
    start(store, "r2", period="2026-02")
    start(store, "r3", project_id="other")


def test_the_constraint_holds_without_our_code(store: MetadataStore) -> None:
    start(store, "r1")
    start(store, "r2", period="2026-02")
    with pytest.raises(DBAPIError), store.write() as transaction:
        transaction._connection.execute(text("UPDATE run SET period = '2026-01' WHERE id = 'r2'"))


def test_a_finished_run_makes_room(store: MetadataStore) -> None:
    finish(store, start(store, "r1"), "completed")
    assert start(store, "r2").token == 2


def test_a_lease_lasts_thirty_seconds(store: MetadataStore) -> None:
    start(store, "r1")
    with pytest.raises(DaybookError):
        start(store, "r2", later(29.9))
    start(store, "r2", later(30))
    with store.read() as transaction:
        dead = transaction.runs.get("r1")
        assert (dead.status, dead.finished_at) == ("failed", later(30))
        assert dead.error is not None
        assert dead.error["code"] == "STORE_013"


def test_a_heartbeat_renews_the_lease(store: MetadataStore) -> None:
    lease = start(store, "r1")
    with store.write() as transaction:
        assert transaction.runs.heartbeat(lease, now=later(20)).lease.expires_at == later(50)
    with pytest.raises(DaybookError):
        start(store, "r2", later(45))


def test_a_dead_process_is_taken_over_at_once(store: MetadataStore) -> None:
    start(store, "r1")
    with store.write() as transaction:
        transaction.runs.start(**new_run("r2"), process=OTHER, now=later(1), is_dead=everybody_is_dead)
        assert transaction.runs.get("r1").status == "failed"
        assert transaction.runs.get("r2").status == "queued"


def test_who_was_taken_over_can_do_nothing_more(store: MetadataStore) -> None:
    zombie = start(store, "r1")
    start(store, "r2", later(31))
    attempts: list[Callable[[Transaction], object]] = [
        lambda transaction: transaction.runs.heartbeat(zombie, now=later(32)),
        lambda transaction: transaction.runs.mark_running(zombie, now=later(32)),
        lambda transaction: transaction.runs.finish(zombie, "completed", now=later(32)),
        lambda transaction: transaction.outcomes.record_commit(zombie, COMMIT, now=later(32)),
        lambda transaction: transaction.outcomes.record_operations(zombie, OperationResult(10, "op-10", "update")),
        lambda transaction: transaction.outcomes.complete_operation(zombie, 10),
    ]
    for attempt in attempts:
        with pytest.raises(DaybookError) as caught, store.write() as transaction:
            attempt(transaction)
        assert caught.value.code == "STORE_013"
    with store.read() as transaction:
        assert transaction.outcomes.commits("r1") == ()


def test_a_run_taken_up_again_by_another_process_fences_the_first(store: MetadataStore) -> None:
    zombie = start(store, "r1")
    with store.write() as transaction:
        taken = transaction.runs.resume("r1", process=OTHER, now=later(1), is_dead=everybody_is_dead)
    assert taken.token > zombie.token
    with pytest.raises(DaybookError) as caught, store.write() as transaction:
        transaction.outcomes.record_commit(zombie, COMMIT, now=later(2))
    assert caught.value.code == "STORE_013"
    commit(store, taken)
    with store.read() as transaction:
        run = transaction.runs.get("r1")
        assert (run.attempt, run.process, run.token) == (2, OTHER, taken.token)


def test_a_live_run_is_not_resumed(store: MetadataStore) -> None:
    start(store, "r1")
    with pytest.raises(DaybookError) as caught, store.write() as transaction:
        transaction.runs.resume("r1", process=OTHER, now=later(1), is_dead=nobody_is_dead)
    assert caught.value.code == "STORE_012"


def test_a_completed_run_is_not_resumed(store: MetadataStore) -> None:
    finish(store, start(store, "r1"), "completed")
    with pytest.raises(DaybookError) as caught, store.write() as transaction:
        transaction.runs.resume("r1", process=OTHER, now=later(1), is_dead=nobody_is_dead)
    assert (caught.value.code, caught.value.parameters["status"]) == ("STORE_015", "completed")


def test_retry_is_refused_after_a_later_commit(store: MetadataStore) -> None:
    finish(store, start(store, "r1"))
    second = start(store, "r2")
    commit(store, second)
    finish(store, second)
    with pytest.raises(DaybookError) as caught, store.write() as transaction:
        transaction.runs.resume("r1", process=PROCESS, now=later(1), is_dead=nobody_is_dead)
    assert (caught.value.code, caught.value.parameters["later_run_id"]) == ("STORE_018", "r2")


def test_a_later_run_that_committed_nothing_does_not_stop_a_retry(store: MetadataStore) -> None:
    first = start(store, "r1")
    commit(store, first)
    finish(store, first)
    finish(store, start(store, "r2"))
    with store.write() as transaction:
        transaction.runs.resume("r1", process=PROCESS, now=later(1), is_dead=nobody_is_dead)


def test_sandbox_commits_do_not_stop_a_retry(store: MetadataStore) -> None:
    finish(store, start(store, "r1"))
    draft = start(store, "r2", is_sandboxed=True, is_draft=True)
    commit(store, draft)
    finish(store, draft)
    with store.write() as transaction:
        transaction.runs.resume("r1", process=PROCESS, now=later(1), is_dead=nobody_is_dead)


def test_a_commit_is_recorded_once(store: MetadataStore) -> None:
    lease = start(store, "r1")
    commit(store, lease)
    commit(store, lease)
    with store.read() as transaction:
        (recorded,) = transaction.outcomes.commits("r1")
        assert recorded == replace(COMMIT, committed_at=NOW)


def test_results_are_kept_and_replaced_by_a_retry(store: MetadataStore) -> None:
    lease = start(store, "r1")
    results = [
        OperationResult(10, "op-10", "update", rows_picked=3),
        OperationResult(20, "op-20", "output", rows_written=7, duration_ms=12, details={"columns": ["a"]}),
        OperationResult(10, "op-10", "update", rows_picked=4),
    ]
    with store.write() as transaction:
        for result in results:
            transaction.outcomes.record_operations(lease, result)
    with store.read() as transaction:
        assert transaction.outcomes.operations("r1") == (results[2], results[1])


def test_the_last_completed_operation_only_moves_forward(store: MetadataStore) -> None:
    lease = start(store, "r1")
    with store.write() as transaction:
        transaction.outcomes.complete_operation(lease, 20)
        transaction.outcomes.complete_operation(lease, 10)
        assert transaction.runs.get("r1").last_completed_operation == 20


def test_the_snapshot_comes_back_byte_for_byte_and_never_changes(store: MetadataStore) -> None:
    body = '{"b": 1,  "a": "ä\\u00e4 €"}'
    with store.write() as transaction:
        run = new_run("r1")
        transaction.runs.start(**{**run, "snapshot": body}, process=PROCESS, now=NOW, is_dead=nobody_is_dead)
    with store.read() as transaction:
        assert transaction.runs.snapshot("r1") == body
    with pytest.raises(DBAPIError, match="immutable"), store.write() as transaction:
        transaction._connection.execute(text("UPDATE run_snapshot SET body = '{}'"))


def test_statuses_and_times(store: MetadataStore) -> None:
    lease = start(store, "r1")
    with store.write() as transaction:
        assert transaction.runs.get("r1").status == "queued"
        transaction.runs.mark_running(lease, now=later(1))
        assert transaction.runs.get("r1").started_at == later(1)
    error = {"code": "IO_001", "message": "gone"}
    with store.write() as transaction:
        transaction.runs.finish(lease, "failed", now=later(2), error=error)
        run = transaction.runs.get("r1")
        assert (run.status, run.finished_at, run.error) == ("failed", later(2), error)
        assert json.loads(json.dumps(run.error)) == error


def test_cancelling_asks_the_live_run(store: MetadataStore) -> None:
    lease = start(store, "r1")
    with store.write() as transaction:
        assert not transaction.runs.heartbeat(lease, now=NOW).is_cancel_requested
        asked = transaction.runs.request_cancel("r1", now=later(1), is_dead=nobody_is_dead)
        assert asked.status == "queued"
        assert transaction.runs.heartbeat(lease, now=later(2)).is_cancel_requested


def test_cancelling_a_dead_run_ends_it(store: MetadataStore) -> None:
    start(store, "r1")
    with store.write() as transaction:
        assert transaction.runs.request_cancel("r1", now=later(1), is_dead=everybody_is_dead).status == "cancelled"


def test_a_finished_run_is_not_cancelled(store: MetadataStore) -> None:
    finish(store, start(store, "r1"), "completed")
    with pytest.raises(DaybookError) as caught, store.write() as transaction:
        transaction.runs.request_cancel("r1", now=NOW)
    assert (caught.value.code, caught.value.parameters["action"]) == ("STORE_015", "cancelled")


def test_abandoned_runs_are_found_and_given_up(store: MetadataStore) -> None:
    start(store, "r1")
    start(store, "r2", later(20), period="2026-02")
    with store.write() as transaction:
        found = transaction.runs.abandoned(now=later(31), is_dead=nobody_is_dead)
        assert [run.id for run in found] == ["r1"]
        assert transaction.runs.give_up("r1", now=later(31), is_dead=nobody_is_dead)
        assert not transaction.runs.give_up("r2", now=later(31), is_dead=nobody_is_dead)
        assert transaction.runs.get("r1").status == "failed"


def test_unknown_runs_are_named(store: MetadataStore) -> None:
    with store.read() as transaction, pytest.raises(DaybookError) as caught:
        transaction.runs.get("r0")
    assert caught.value.code == "STORE_014"


class TestListing:
    def fill(self, store: MetadataStore) -> None:
        for number in range(7):
            lease = start(
                store, f"r{number}", later(number // 2), project_id=f"p{number % 2}", period=f"2026-0{number + 1}"
            )
            finish(store, lease, "completed" if number % 3 else "failed", later(number))

    def test_pages_are_newest_first_without_gaps(self, store: MetadataStore) -> None:
        self.fill(store)
        seen: list[str] = []
        mark = None
        with store.read() as transaction:
            while True:
                page = transaction.runs.page(limit=3, after=mark)
                seen += [run.id for run in page.runs]
                mark = page.next_page
                if mark is None:
                    break
        # Runs 0 and 1 start together, then 2 and 3, 4 and 5, 6 alone; equal times go by id.
        assert seen == ["r6", "r5", "r4", "r3", "r2", "r1", "r0"]

    @pytest.mark.parametrize(
        ("wanted", "ids"),
        [
            (RunFilter(project_id="p1"), ["r5", "r3", "r1"]),
            (RunFilter(status="failed"), ["r6", "r3", "r0"]),
            (RunFilter(period="2026-03"), ["r2"]),
            (RunFilter(project_id="p0", status="failed"), ["r6", "r0"]),
            (RunFilter(project_id="nobody"), []),
        ],
    )
    def test_filters(self, store: MetadataStore, wanted: RunFilter, ids: list[str]) -> None:
        self.fill(store)
        with store.read() as transaction:
            assert [run.id for run in transaction.runs.page(wanted).runs] == ids


@pytest.mark.parametrize("mark", ["", "x", "2026-01-01~r1", "2026-01-01T00:00:00+00:00"])
def test_a_mark_that_no_page_gave(store: MetadataStore, mark: str) -> None:
    with store.read() as transaction, pytest.raises(DaybookError) as caught:
        transaction.runs.page(after=mark)
    assert caught.value.code == "STORE_030"


def test_slices_have_one_owner(store: MetadataStore) -> None:
    first = start(store, "r1")
    commit(store, first)
    finish(store, first, "completed")
    again = start(store, "r2")
    commit(store, again)
    with store.read() as transaction:
        owner = transaction.slices.owner(SliceTable("lake/net", "lake/net"), "2026-01")
        assert owner is not None
        assert (owner.project_id, owner.operation_id, owner.run_id, owner.rows) == ("close", "op-20", "r2", 10)
    stranger = start(store, "r3", project_id="other")
    with pytest.raises(DaybookError) as caught:
        commit(store, stranger)
    assert caught.value.code == "STORE_016"
    with store.read() as transaction:
        assert transaction.outcomes.commits("r3") == ()


class TestShownRuns:
    """Runs as a list shows them."""

    @pytest.fixture
    def killed(self, store: MetadataStore) -> MetadataStore:
        """A failed run, one that works, and one whose process was killed before Spark had started."""
        finish(store, start(store, "failed", later(1), period="2026-01"))
        start(store, "alive", later(2), period="2026-02")
        with store.write() as transaction:
            run = new_run("killed", period="2026-03")
            transaction.runs.start(**run, process=OTHER, now=later(3), is_dead=nobody_is_dead)
        return store

    def listed(self, store: MetadataStore, status: RunStatus | None = None, limit: int = 50) -> list[str]:
        found: list[str] = []
        after: str | None = None
        while True:
            with store.read() as transaction:
                wanted = RunFilter(status=status)
                page = transaction.runs.page(wanted, limit=limit, after=after, is_dead=lambda process: process == OTHER)
            found += [f"{run.id} {run.status}" for run in page.runs]
            if (after := page.next_page) is None:
                return found

    @pytest.mark.parametrize("limit", [1, 2, 50])
    def test_a_killed_run_has_failed(self, killed: MetadataStore, limit: int) -> None:
        assert self.listed(killed, limit=limit) == ["killed failed", "alive queued", "failed failed"]
        assert self.listed(killed, "failed", limit) == ["killed failed", "failed failed"]
        assert self.listed(killed, "queued", limit) == ["alive queued"]
        assert self.listed(killed, "running", limit) == []

    def test_it_says_why(self, killed: MetadataStore) -> None:
        with killed.read() as transaction:
            run = transaction.runs.shown("killed", is_dead=everybody_is_dead)
            assert (run.status, run.error and run.error["code"]) == ("failed", "STORE_013")
            assert transaction.runs.get("killed").status == "queued"

    def test_a_retried_run_has_the_seconds_of_its_last_attempt(self, store: MetadataStore) -> None:
        lease = start(store, "r1", NOW)
        with store.write() as transaction:
            transaction.runs.mark_running(lease, now=later(2))
        finish(store, lease, at=later(5))
        with store.write() as transaction:
            again = transaction.runs.resume("r1", process=PROCESS, now=later(100), is_dead=nobody_is_dead)
            assert transaction.runs.get("r1").duration is None
            transaction.runs.mark_running(again, now=later(103))
        finish(store, again, "completed", later(110))
        with store.read() as transaction:
            assert transaction.runs.get("r1").duration == datetime.timedelta(seconds=10)


def test_a_run_is_named_by_its_project_and_period(store: MetadataStore) -> None:
    for number, status in enumerate(("completed", "completed", "failed"), 1):
        finish(store, start(store, f"r{number}", later(number)), status, later(number))
    with store.read() as transaction:
        assert transaction.runs.id_of("close@2026-01") == "r2"
        assert transaction.runs.id_of("r3") == "r3"
        for name, hint in (
            ("close@2026-02", "it has completed runs for 2026-01"),
            ("clos@2026-01", "did you mean close?"),
        ):
            with pytest.raises(DaybookError) as caught:
                transaction.runs.id_of(name)
            assert (caught.value.code, caught.value.hint) == ("RUN_061", hint)
