"""Commits to Delta tables on an object store whose answers are lost, refused or late: once, or not at all."""

from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal

import pytest

from daybook.errors import DaybookError
from daybook.io.formats.delta.table import open_table, read_rows
from daybook.io.formats.delta.writer import DeltaWriter
from tests.object_proxy import Action, Fault, ObjectProxy
from tests.object_store import Bucket
from tests.spark.objects.by_hand import delta_target, rows, stage_delta

FOREVER = 10_000
LOG = "/_delta_log/0000"


def commit(bucket: Bucket, run_id: str, amount: str) -> None:
    target = delta_target(bucket, run_id)
    DeltaWriter().commit(stage_delta(target, rows(amount)), target)


def amounts(bucket: Bucket) -> list[Decimal]:
    found: list[Decimal] = read_rows(f"{bucket.uri}/lake/t", storage=bucket.storage).column("amount").to_pylist()
    return found


def version(bucket: Bucket) -> int:
    table = open_table(f"{bucket.uri}/lake/t", storage=bucket.storage)
    assert table is not None
    return table.version()


@pytest.mark.parametrize("is_new", [True, False], ids=["a new table", "a slice"])
@pytest.mark.parametrize("action", ["drop the answer", "reset", "500", "503", "slow down"])
def test_a_commit_that_is_disturbed_is_made_once(
    action: Action, is_new: bool, bucket: Bucket, proxy: ObjectProxy
) -> None:
    if not is_new:
        commit(bucket, "before", "1.00")
    disturbed = bucket.through(proxy.endpoint)
    target = delta_target(disturbed, "now")
    staged = stage_delta(target, rows("2.00"))
    fault = proxy.meet(action, "PUT", LOG)
    done = DeltaWriter().commit(staged, target)
    assert fault.happened == 1
    assert done.rows == 3
    assert amounts(bucket) == [Decimal("2.00")] * 3
    assert version(bucket) == (0 if is_new else 1)
    again = DeltaWriter().commit(staged, target)
    assert again.is_repeat
    assert version(bucket) == (0 if is_new else 1)


def test_a_commit_whose_store_is_gone_has_a_code_and_its_retry_makes_it_once(
    bucket: Bucket, proxy: ObjectProxy
) -> None:
    commit(bucket, "before", "1.00")
    target = delta_target(bucket.through(proxy.endpoint), "now")
    staged = stage_delta(target, rows("2.00"))
    proxy.meet("drop the answer", "PUT", LOG)
    proxy.faults += [Fault("reset", method, "", FOREVER) for method in ("PUT", "GET", "HEAD", "POST")]
    with pytest.raises(DaybookError) as refused:
        DeltaWriter().commit(staged, target)
    assert refused.value.code in ("IO_073", "IO_026")
    assert "only-for-tests" not in str(refused.value)
    proxy.faults = []
    assert DeltaWriter().commit(staged, target).rows == 3
    assert amounts(bucket) == [Decimal("2.00")] * 3
    assert version(bucket) == 1


def test_the_second_writer_of_a_slice_is_refused(bucket: Bucket) -> None:
    commit(bucket, "before", "1.00")
    late = delta_target(bucket, "late")
    staged = stage_delta(late, rows("3.00"))
    commit(bucket, "first", "2.00")
    with pytest.raises(DaybookError) as refused:
        DeltaWriter().commit(staged, late)
    assert refused.value.code == "IO_024"
    assert amounts(bucket) == [Decimal("2.00")] * 3


def test_writers_of_different_slices_both_commit(bucket: Bucket) -> None:
    commit(bucket, "before", "1.00")
    late = delta_target(bucket, "late", run_period="2026-02")
    staged = stage_delta(late, rows("3.00"))
    commit(bucket, "first", "2.00")
    DeltaWriter().commit(staged, late)
    assert sorted(amounts(bucket)) == [Decimal("2.00")] * 3 + [Decimal("3.00")] * 3


def test_two_puts_of_one_version_make_one(bucket: Bucket, proxy: ObjectProxy) -> None:
    """The first writer waits right before its put while the second commits the same version."""
    commit(bucket, "before", "1.00")
    target = delta_target(bucket.through(proxy.endpoint), "waiting")
    staged = stage_delta(target, rows("2.00"))
    waiting = proxy.meet("wait", "PUT", LOG)
    with ThreadPoolExecutor(1) as pool:
        committed = pool.submit(DeltaWriter().commit, staged, target)
        assert waiting.reached.wait(60)
        commit(bucket, "first", "3.00")
        waiting.release.set()
        with pytest.raises(DaybookError) as refused:
            committed.result(60)
    assert refused.value.code == "IO_024"
    assert amounts(bucket) == [Decimal("3.00")] * 3
